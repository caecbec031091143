"""The made-up corpora have the statistics they claim, and the benchmarks' own measures are right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.coherence import Meetings
from benchmarks.corpora import ROWS_AT_ONCE, zipf_corpus
from benchmarks.measure import StageClock, in_own_process
from benchmarks.planted import mistakes
from benchmarks.planted_trees import SIZES, draw_rows, planted_tree
from benchmarks.report import Figure, figures, table, without_targets
from tsenet.data.rows import BinaryRows

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def corpus() -> BinaryRows:
    return zipf_corpus(2000, ROWS_AT_ONCE + 500, row_length=20, seed=1)


def test_rows_hold_distinct_words_in_order(corpus: BinaryRows) -> None:
    corpus.validate()
    assert corpus.shape == (ROWS_AT_ONCE + 500, 2000)
    assert np.array_equal(np.diff(corpus.indptr), np.full(corpus.n_rows, 20))


def test_frequencies_follow_zipf(corpus: BinaryRows) -> None:
    """Slope −1 on logarithmic axes, away from the few words that saturate."""
    word = np.arange(50, 2000)
    slope, _ = np.polyfit(np.log(word + 1), np.log(corpus.counts()[word]), 1)
    assert -1.1 < slope < -0.85


def test_words_of_a_topic_meet_more_often_than_by_chance(corpus: BinaryRows) -> None:
    """Most pairs are of different topics; a fiftieth or so of all pairs stand out."""
    on = corpus.to_csr()[:, 200:400].astype(np.int64)
    both = (on.T @ on).toarray()
    expected = np.outer(on.sum(axis=0), on.sum(axis=0)) / corpus.n_rows
    lift = (both / expected)[np.triu_indices(200, 1)]
    assert np.quantile(lift, 0.5) < 1.2
    assert np.quantile(lift, 0.99) > 2.0


def test_same_seed_same_corpus_and_another_seed_another() -> None:
    first, again, other = (zipf_corpus(300, 100, 10, seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_rows_stay_short_when_there_are_not_enough_words() -> None:
    corpus = zipf_corpus(6, 50, row_length=8)
    corpus.validate()
    assert np.diff(corpus.indptr).max() <= 6


def test_fresh_planted_tree_is_of_the_given_kind() -> None:
    rng = np.random.default_rng(0)
    tree = planted_tree(rng)
    rows = draw_rows(tree, 2000, rng)
    assert tree.layer_sizes == SIZES
    assert min(group.size for group in tree.groups(1)) >= 4
    assert 0.05 < rows.nnz / (2000 * 1000) < 0.064
    np.testing.assert_allclose(rows.counts() / 2000, tree.marginals()[:1000], atol=0.035)


@pytest.mark.parametrize(
    ("found", "mistake"),
    [
        ([5, 5, 5, 1, 1, 1, 2, 2, 2], {}),
        ([0, 0, 1, 1, 1, 1, 2, 2, 2], {"misplaced words": 1}),
        ([0, 0, 0, 0, 0, 0, 2, 2, 2], {"merged": 1}),
        ([0, 0, 3, 1, 1, 1, 2, 2, 2], {"split": 1}),
        ([0, 0, 3, 1, 1, 4, 2, 2, 1], {"split": 2, "misplaced words": 1}),
    ],
)
def test_mistakes_are_told_apart(found: list[int], mistake: dict[str, int]) -> None:
    truth = np.repeat([0, 1, 2], 3)
    none = {"split": 0, "merged": 0, "misplaced words": 0}
    assert mistakes(truth, np.array(found)) == none | mistake


def test_coherence_of_known_rows() -> None:
    rows = BinaryRows.of_dense(np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]]))
    meetings = Meetings(rows)
    assert meetings.together([0, 1, 2]).tolist() == [[3, 2, 0], [2, 2, 0], [0, 0, 1]]
    # Pairs (0,1), (0,2), (1,2), over the counts of the word named first.
    assert meetings.umass([0, 1, 2]) == pytest.approx(np.log(3 / 3) + np.log(1 / 3) + np.log(1 / 2))


def test_pages_show_figures_without_targets() -> None:
    printed = figures([Figure("speed", 3.0, 2.0, at_least=True), Figure("shown", 1.0)], "Java")
    assert "≥ 2.00" in printed
    kept = without_targets(f"Some text | here.\n\n{printed}\n\nmore | text | target | met")
    assert "≥" not in kept
    assert "| speed |" in kept
    assert kept.startswith("Some text | here.\n")
    assert kept.endswith("\n\nmore | text | target | met")
    assert len({line.count("|") for line in kept.split("\n") if line.startswith("|")}) == 1


def test_figures_say_whether_the_target_is_met() -> None:
    assert Figure("speed", 3.0, 2.0, at_least=True).met
    assert not Figure("seconds", 3.0, 2.0).met
    assert Figure("shown", 3.0).met is None
    text = table(["what", "n"], [["a", "1"], ["bb", "−20"]])
    assert text.splitlines() == [
        "| what |   n |",
        "| ---- | --: |",
        "| a    |   1 |",
        "| bb   | −20 |",
    ]


def test_clock_adds_up_stages_by_name() -> None:
    clock = StageClock()
    for stage in ("pairs", "islands", "pairs"):
        clock.start(stage)
    clock.finish()
    assert list(clock.cpu) == list(clock.wall) == ["pairs", "islands"]


def test_job_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    from benchmarks.jobs import save_rows

    rows = zipf_corpus(60, 400, 8)
    out = tmp_path / "tree.tsenet"
    data = save_rows(rows, tmp_path / "rows.npz")
    report = in_own_process("learn", data=data, out=out, refine_steps=1, random_state=0, n_jobs=1)
    assert report["layers"][0] == 60
    assert set(report["stages"]) >= {"pairs", "islands", "refine"}
    assert report["cpu"] >= sum(report["stages"].values())
    assert report["peak"] >= report["peak_before"] > 10e6
    assert out.is_file()


def test_list_names_every_benchmark() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", "list"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    names = [line.split()[0] for line in run.stdout.splitlines()]
    assert {"planted", "zipf", "scale", "threads", "newsgroups"} <= set(names)


def test_real_data_are_asked_for_plainly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from benchmarks.datasets import planted

    monkeypatch.delenv("TSENET_DATA", raising=False)
    with pytest.raises(SystemExit, match="TSENET_DATA is not set"):
        planted()
    monkeypatch.setenv("TSENET_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="no folder planted"):
        planted()
