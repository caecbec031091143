"""The scikit-learn face: every check of scikit-learn's, and what its users do with a transformer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import tsenet
from tests.builders import one_latent_rows
from tsenet import LatentTreeTransformer
from tsenet.errors import DataError


@pytest.fixture(scope="module")
def rows() -> NDArray[np.float64]:
    """400 rows of three groups of four columns."""
    return one_latent_rows(np.random.default_rng(0), 400, (4, 4, 4)).astype(np.float64)


@pytest.fixture(scope="module")
def frame(rows: NDArray[np.float64]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[f"word{j}" for j in range(rows.shape[1])])


@pytest.fixture(scope="module")
def fitted(frame: pd.DataFrame) -> LatentTreeTransformer:
    return LatentTreeTransformer(random_state=0, refine_steps=5).fit(frame)


def test_transform_is_the_trees_posterior(
    fitted: LatentTreeTransformer, frame: pd.DataFrame
) -> None:
    expected = tsenet.learn_tree(frame, random_state=0, refine_steps=5)
    assert fitted.tree_ == expected
    assert np.array_equal(fitted.transform(frame), expected.posterior(frame))
    assert fitted.transform(frame).shape == (400, expected.n_latents)


def test_score_is_the_mean_of_score_samples(
    fitted: LatentTreeTransformer, frame: pd.DataFrame
) -> None:
    each = fitted.score_samples(frame)
    assert each.shape == (400,)
    assert np.array_equal(each, fitted.tree_.log_likelihood(frame))
    assert fitted.score(frame) == each.mean()
    assert fitted.score(frame[:7]) == each[:7].mean()


def test_set_output_gives_pandas(fitted: LatentTreeTransformer, frame: pd.DataFrame) -> None:
    shifted = frame.set_axis(frame.index + 1000)
    result = clone(fitted).set_output(transform="pandas").fit(frame).transform(shifted)
    assert isinstance(result, pd.DataFrame)
    assert result.columns.tolist() == list(fitted.tree_.latent_names)
    assert result.index.tolist() == shifted.index.tolist()
    assert np.array_equal(result.to_numpy(), fitted.transform(frame))


def test_parameters_are_those_of_learn_tree() -> None:
    ours = LatentTreeTransformer().get_params()
    assert {**ours, "client": None, "piece_size": None} == tsenet.learn_tree.__kwdefaults__


def test_pipeline_learns_and_posteriors_tell_the_group(rows: NDArray[np.float64]) -> None:
    target = rows[:, :4].sum(axis=1) >= 2  # the latent of the first group, nearly
    model = make_pipeline(LatentTreeTransformer(random_state=0), LogisticRegression())
    model.fit(rows[:300], target[:300])
    assert model.score(rows[300:], target[300:]) > 0.9
    assert model[:-1].get_feature_names_out().tolist() == list(model[0].tree_.latent_names)


def test_saved_and_loaded_is_the_same(
    fitted: LatentTreeTransformer, frame: pd.DataFrame, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "transformer.tsenet")
    again = tsenet.load(tmp_path / "transformer.tsenet", "LatentTreeTransformer")
    assert isinstance(again, LatentTreeTransformer)
    assert again.get_params() == fitted.get_params()
    assert again.n_features_in_ == 12
    assert again.feature_names_in_.tolist() == frame.columns.tolist()
    assert np.array_equal(again.transform(frame), fitted.transform(frame))
    assert np.array_equal(again.score_samples(frame), fitted.score_samples(frame))


def test_saved_without_names_and_with_a_generator(
    rows: NDArray[np.float64], tmp_path: Path
) -> None:
    made = LatentTreeTransformer(random_state=np.random.default_rng(0), refine_steps=0).fit(rows)
    made.save(tmp_path / "transformer.tsenet")
    again = tsenet.load(tmp_path / "transformer.tsenet")
    assert again.random_state is None  # a generator is no value that a file could hold
    assert not hasattr(again, "feature_names_in_")
    assert np.array_equal(again.transform(rows), made.transform(rows))


def test_unfitted_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        LatentTreeTransformer().save(tmp_path / "transformer.tsenet")
    assert list(tmp_path.iterdir()) == []


def test_missing_values_are_off_and_infinity_is_refused_by_name(frame: pd.DataFrame) -> None:
    missing = frame.astype(float).mask(frame == 0)
    made = LatentTreeTransformer(refine_steps=0, random_state=0).fit(frame)
    assert np.array_equal(made.transform(missing), made.transform(frame))
    broken = frame.astype(float).replace({"word0": {1.0: np.inf}})
    with pytest.raises(DataError, match=r"column 'word0' \(index 0\) has \d+ infinite"):
        LatentTreeTransformer().fit(broken)
