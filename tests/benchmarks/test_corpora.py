"""The made-up corpora have the statistics they claim, and the benchmarks' own tools work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.corpora import ROWS_AT_ONCE, zipf_corpus
from benchmarks.measure import in_own_process
from tsenet.data.binary import BinaryRows

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def corpus() -> BinaryRows:
    return zipf_corpus(2000, ROWS_AT_ONCE + 500, row_length=20, seed=1)


def test_rows_hold_distinct_words_in_order(corpus: BinaryRows) -> None:
    corpus.validate()
    assert corpus.shape == (ROWS_AT_ONCE + 500, 2000)
    assert np.array_equal(np.diff(corpus.indptr), np.full(corpus.n_rows, 20))


def test_a_job_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    data, out = tmp_path / "rows.npz", tmp_path / "tree.tsenet"
    sp.save_npz(data, sp.csr_matrix(zipf_corpus(60, 400, 8).to_csr()))
    report = in_own_process(
        "benchmarks.skeleton:learn", data=data, out=out, refine_steps=1, random_state=0, n_jobs=1
    )
    assert report["layers"][0] == 60
    assert report["cpu"] >= sum(report["stages"].values())
    assert out.is_file()


def test_a_fit_runs_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from benchmarks import fit

    X = sp.csr_array((np.random.default_rng(0).random((90, 20)) < 0.3).astype(np.float32))
    y = X[:, [0]].toarray().ravel().astype(int)
    monkeypatch.setattr(fit, "_rows", lambda name: (X, y, X, y))
    path = tmp_path / "rows.joblib"
    assert fit.prepare("digits", path) == (90, 2)
    report = in_own_process("benchmarks.fit:measure", path=path, method="lr")
    assert report["cpu"] > 0
    assert report["accuracy"] > 0.9
