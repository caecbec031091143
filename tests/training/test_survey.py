"""The pass before training finds the same for any number of processes and any cut into shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.training.thread_peers import run_together
from tsenet.data.shard_writer import write_shards
from tsenet.data.shards import ShardFolder
from tsenet.errors import DataError
from tsenet.training.peers import Peers
from tsenet.training.survey import Asked, Moments, Survey, row_keys, survey

N_ROWS, N_WORDS = 300, 12
RNG = np.random.default_rng(4)
COUNTS = sp.csr_array(RNG.poisson(0.4, (N_ROWS, N_WORDS)).astype(np.int32))
COUNTS = sp.vstack([COUNTS[:200], COUNTS[:50], COUNTS[250:]], format="csr")  # 50 duplicates
CLASSES: list[Any] = [f"c{k}" for k in RNG.integers(3, size=N_ROWS)]
CLASSES[40:60] = [None] * 20  # two row groups of ten without any label
NUMBERS = np.where(RNG.random(N_ROWS) < 0.1, np.nan, 1e6 + RNG.normal(size=N_ROWS))
ASKED = Asked(("class",), True, None, 9, 0.2, 0.5)


def folder(path: Path, rows_per_group: int = 10) -> ShardFolder:
    return write_shards(
        path,
        COUNTS,
        names=[f"w{j}" for j in range(N_WORDS)],
        labels={"class": CLASSES, "number": NUMBERS.tolist()},
        rows_per_group=rows_per_group,
        groups_per_shard=4,
    )


def found_by(size: int, shards: ShardFolder, asked: Asked = ASKED) -> list[Survey]:
    def work(peers: Peers) -> Survey:
        share = peers.share_of(len(shards.partitions))
        return survey(shards, asked, shards.partitions[share.start : share.stop], peers)

    return run_together(size, work)


def rows_held_out(surveys: list[Survey]) -> list[Any]:
    return [
        (row.toarray()[0].tolist(), value)
        for each in surveys
        for rows, given in each.held_out
        for row, value in zip((rows[[i]] for i in range(rows.shape[0])), given.values, strict=True)
    ]


@pytest.mark.parametrize("size", [1, 3])
def test_what_is_found(tmp_path: Path, size: int) -> None:
    surveys = found_by(size, folder(tmp_path / "shards"))
    known = np.array([value is not None for value in CLASSES])
    aside = ASKED.held_out(row_keys(COUNTS)) & known
    assert 20 < aside.sum() < 90
    for each in surveys:
        np.testing.assert_array_equal(each.n_with, (COUNTS.toarray() > 0).sum(axis=0))
        of_group = (known & ~aside).reshape(-1, 10).sum(axis=1)
        np.testing.assert_array_equal(each.n_training, of_group)
        assert (each.n_training == 0).any()
        assert each.class_counts == {name: CLASSES.count(name) for name in ("c0", "c1", "c2")}
        assert each.n_held_out == aside.sum()
        sampled = COUNTS[ASKED.sampled(row_keys(COUNTS))]
        assert 90 < sampled.shape[0] < 210
        np.testing.assert_array_equal(each.sample.toarray(), sampled.toarray())
    expected = [(COUNTS[[i]].toarray()[0].tolist(), CLASSES[i]) for i in np.flatnonzero(aside)]
    assert rows_held_out(surveys) == expected


def test_another_cut_into_shards_holds_out_the_same_rows(tmp_path: Path) -> None:
    one, other = (rows_held_out(found_by(1, folder(tmp_path / str(n), n))) for n in (10, 37))
    assert one == other


def test_keys_tell_rows_apart_by_content() -> None:
    keys = row_keys(COUNTS)
    np.testing.assert_array_equal(keys[200:250], keys[:50])
    contents = {tuple(row) for row in COUNTS.toarray().tolist()}
    assert np.unique(keys).size == len(contents)
    word, count = sp.csr_array([[0, 1], [1, 0], [2, 0], [0, 0]]), [0, 1, 2, 3]
    assert np.unique(row_keys(word)[count]).size == 4


def test_the_two_draws_are_independent() -> None:
    keys = row_keys(sp.csr_array(np.arange(1, 20_001)[:, None]))
    both = ASKED.held_out(keys) & ASKED.sampled(keys)
    assert ASKED.held_out(keys).mean() == pytest.approx(0.2, abs=0.02)
    assert both.mean() == pytest.approx(0.1, abs=0.015)
    other_seed = ASKED._replace(seed=10).held_out(keys)
    assert (other_seed & ASKED.held_out(keys)).mean() == pytest.approx(0.04, abs=0.01)


def test_moments_of_values(tmp_path: Path) -> None:
    asked = ASKED._replace(targets=("number",), classification=False)
    for each in found_by(3, folder(tmp_path / "shards"), asked):
        assert each.moments is not None
        n, mean, squares = (part[0] for part in each.moments)
        assert n == np.isfinite(NUMBERS).sum()
        assert mean == pytest.approx(np.nanmean(NUMBERS), rel=1e-14)
        assert squares / n == pytest.approx(np.nanvar(NUMBERS), rel=1e-9)


def test_moments_of_no_values() -> None:
    none, some = Moments.of(np.full((3, 1), np.nan)), Moments.of(np.array([[1.0], [3.0]]))
    assert [part.tolist() for part in none + some] == [[2.0], [2.0], [2.0]]
    assert [part.tolist() for part in some + none] == [[2.0], [2.0], [2.0]]


def test_a_marker_is_no_label(tmp_path: Path) -> None:
    asked = ASKED._replace(unlabeled="c1")
    (each,) = found_by(1, folder(tmp_path / "shards"), asked)
    assert set(each.class_counts) == {"c0", "c2"}


def test_an_error_of_one_process_is_raised_by_all(tmp_path: Path) -> None:
    shards = folder(tmp_path / "shards")
    (tmp_path / "shards" / shards.partitions[-1].file).write_bytes(b"damaged")

    def work(peers: Peers) -> str:
        share = peers.share_of(len(shards.partitions))
        with pytest.raises(DataError) as caught:
            survey(shards, ASKED, shards.partitions[share.start : share.stop], peers)
        return str(caught.value)

    first, second = run_together(2, work)
    assert first == second
    assert shards.partitions[-1].file in first


def test_a_folder_without_labels_is_refused(tmp_path: Path) -> None:
    labels = {"class": ["x"] * N_ROWS}
    shards = write_shards(
        tmp_path / "shards", COUNTS, names=[f"w{j}" for j in range(N_WORDS)], labels=labels
    )
    with pytest.raises(DataError, match=r"no row of .* has a label in 'class'"):
        found_by(1, shards, ASKED._replace(unlabeled="x"))
