"""Files of topic models."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import tsenet
from tsenet import Table, TopicModel
from tsenet.errors import DataError, ModelFileError


def test_a_loaded_model_reads_texts(model: TopicModel, texts: list[str], tmp_path: Path) -> None:
    model.rename({model.topics_["id"][0]: "Mine"}).reduce(2)
    model.save(tmp_path / "m.tsenet")
    loaded = tsenet.load(tmp_path / "m.tsenet")
    assert loaded.topics_.equals(model.topics_)
    assert (loaded.transform(texts) != model.transform(texts)).nnz == 0
    loaded.save(tmp_path / "again.tsenet")
    assert (tmp_path / "again.tsenet").read_bytes() == (tmp_path / "m.tsenet").read_bytes()
    name = loaded.topics_["id"][0]
    with pytest.raises(DataError, match="holds no documents"):
        loaded.documents_of(name)
    assert len(loaded.documents_of(name, texts, n_documents=4)) == 4


def test_forged_files_are_refused(fitted: TopicModel, tmp_path: Path) -> None:
    from tsenet.store import save_parts

    meta, arrays = fitted.to_parts()
    forged = [
        *((meta, {**arrays, f"facts.{name}": np.array([2.0])}) for name in ("share", "words")),
        (meta, {**arrays, "facts.share": arrays["facts.share"] + 2.0}),
        (meta, {**arrays, "facts.words": arrays["facts.words"] + 99}),
        (meta, {**arrays, "topics.columns": arrays["topics.columns"] + 99}),
        (meta, {**arrays, "topics.starts": arrays["topics.starts"][::-1].copy()}),
        (meta, {**arrays, "topics.parent": arrays["topics.parent"] * 0}),
        (meta, {**arrays, "topics.weight": arrays["topics.weight"] * np.nan}),
        ({**meta, "seeded": ["Z9.9"]}, arrays),
        *(
            ({**meta, "params": {**meta["params"], name: "much"}}, arrays)
            for name in ("min_coherence", "min_size", "top_words", "n_topics")
        ),
    ]
    for wrong_meta, wrong_arrays in forged:
        save_parts(tmp_path / "m.tsenet", "TopicModel", wrong_meta, wrong_arrays)
        with pytest.raises(ModelFileError):
            tsenet.load(tmp_path / "m.tsenet")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(2, 60), n_words=st.integers(1, 20))
def test_any_fitted_model_can_be_saved_and_loaded(seed: int, n_rows: int, n_words: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_words)) < rng.random(n_words)
    X[:, rng.random(n_words) < 0.1] = True  # a word of every document
    if n_words > 2:
        X[:, 1] = X[:, 0]  # always meet
        X[:, 2] = ~X[:, 0]  # never meet
    X = X[rng.integers(n_rows, size=n_rows + rng.integers(40))]  # repeated documents
    table = Table.of(sp.csr_array(X.astype(int)), names=[f"w{k}" for k in range(n_words)])
    model = TopicModel().fit(table)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.tsenet")
        model.save(path)
        loaded = tsenet.load(path)
    assert loaded.topics_.equals(model.topics_)
    assert (loaded.transform(table) != model.transform(table)).nnz == 0
