"""Means, paired differences and intervals against scipy; tables and marked numbers of the pages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reproduce import CHANGED, RECIPE
from reproduce.analysis import TABLES, Estimate, Results, compare, holm
from reproduce.experiments import EXPERIMENTS
from reproduce.pages import fill, pages, stale_pages
from reproduce.pictures import OF_THE_PAPER, PICTURES, write_pictures
from reproduce.runs import RUNS, is_current, last_change, pack


def run(seed: int, score: float = 0.0, **more: Any) -> dict[str, Any]:
    fields = {"data": "ag_news", "rival": "tsenet", "labels": 100, "part": "test"}
    return {
        **fields,
        "measure": "score",
        "metric": "accuracy",
        "seed": seed,
        "score": score,
        "recipe": RECIPE,
        "parameters": 1000,
        "cpu": 2.0,
        **more,
    }


def of_rows(rows: np.ndarray, **more: Any) -> list[dict[str, Any]]:
    return [run(s, float(r.mean()), right=pack(r), **more) for s, r in enumerate(rows)]


def test_one_seed_is_the_paired_t_test_over_rows() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 1, 200)) < 0.7
    found = compare(of_rows(first), of_rows(second))
    assert found is not None
    expected = stats.ttest_rel(first[0].astype(float), second[0].astype(float))
    low, high = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_scores_without_rows_are_paired_over_seeds() -> None:
    first, second = (
        [run(s, v) for s, v in enumerate([0.9, 0.8, 0.85])],
        [run(s, 0.7) for s in range(3)],
    )
    found = compare(first, second)
    assert found is not None
    low, high = stats.ttest_1samp([0.2, 0.1, 0.15], 0).confidence_interval(0.95)
    assert found.value == pytest.approx(0.15)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert compare(first[:1], second[1:]) is None  # no common seed


def test_several_areas_are_compared_over_tasks() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 2, 12))
    first = [run(s, areas=row.tolist(), metric="auc") for s, row in enumerate(a)]
    second = [run(s, areas=row.tolist(), metric="auc") for s, row in enumerate(b)]
    found = compare(first, second)
    assert found is not None
    assert found.p == pytest.approx(stats.ttest_rel(a.mean(axis=0), b.mean(axis=0)).pvalue)


def test_intervals_over_rows_and_seeds_cover_the_truth() -> None:
    """Both rows and seeds differ by chance; about 95 % of the intervals hold the true difference, 0.1."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(200):
        rows = rng.normal(0, 0.15, 300)
        leads = 0.1 + rng.normal(0, 0.02, 4)
        chance = np.clip(0.5 + rows, 0, 1)
        first = rng.random((4, 300)) < np.clip(chance + leads[:, None], 0, 1)
        second = rng.random((4, 300)) < chance
        found = compare(of_rows(first), of_rows(second))
        assert found is not None
        covered += found.low <= 0.1 <= found.high
    assert covered >= 185


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.001, 0.02, "ahead"),
        (-0.02, -0.001, "behind"),
        (-0.004, 0.004, "level"),
        (-0.004, 0.01, "cannot tell"),
    ],
)
def test_verdicts(low: float, high: float, verdict: str) -> None:
    assert Estimate((low + high) / 2, low, high, 0.5).verdict == verdict


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_of_earlier_recipes_the_latest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the default outdates its own runs; those of a rival stay, whatever their number."""
    monkeypatch.setitem(CHANGED, "texts", 5)
    monkeypatch.setitem(CHANGED, "default", 6)
    scores = [(0, 0.5, 5), (1, 0.6, 5), (0, 0.9, 6)]
    runs = [
        run(seed, score, rival=rival, recipe=recipe)
        for rival in ("tsenet", "logistic")
        for seed, score, recipe in scores
    ]
    results = Results.of(runs)

    def stored(rival: str) -> list[float]:
        return [one["score"] for one in results.runs("few-labels", "ag_news", 100, rival)]

    assert stored("tsenet") == [0.9]
    assert stored("logistic") == [0.9, 0.6]
    assert [is_current(one) for one in runs] == [False, False, True, True, True, True]


@pytest.mark.parametrize(
    ("data", "rival", "changes"),
    [
        ("ag_news", "tsenet-random:density=0.05", {"texts", "default"}),
        ("tox21/NR-AR", "backbone-paper-random", {"tables", "paper"}),
        ("mnist@1000", "tree", {"tables", "paper"}),
        ("subj", "tsenet-informed", {"texts", "informed"}),
        ("dna", "tsenet-random", {"tables", "default-tables"}),
        ("dna", "boosting", {"tables", "rivals"}),
        ("subj", "teacher", {"texts", "default"}),
        ("dna", "pruned:2048x3:rounds=1@tsenet-paper", {"tables", "rivals", "paper"}),
        ("dna", "set@20000", {"tables", "rivals"}),
    ],
)
def test_what_a_cell_depends_on(
    data: str, rival: str, changes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in CHANGED:
        with monkeypatch.context() as patch:
            patch.setitem(CHANGED, name, 100)
            assert (last_change(data, rival) == 100) == (name in changes)


def test_numbers_of_a_text() -> None:
    runs = [
        *(run(s, v) for s, v in enumerate([0.8, 0.9])),
        *(run(s, v, rival="logistic", parameters=4000) for s, v in enumerate([0.7, 0.7])),
    ]
    results = Results.of(runs)
    key = "few-labels/ag_news/100/"
    assert results.value(f"{key}tsenet") == "85.00"
    assert results.value(f"{key}logistic-vs-tsenet") == "−15.00"
    assert results.value(f"{key}tsenet-vs-logistic verdict") == "cannot tell"
    assert results.value(f"{key}tsenet parameters") == "1,000"
    assert results.value(f"{key}tsenet share-of-logistic") == "25.0 %"
    text = f"It has <!--={key}tsenet-->77<!--/--> %, logistic <!--={key}logistic--><!--/-->."
    filled = fill(text, results)
    assert ">85.00<" in filled
    assert ">70.00<" in filled
    with pytest.raises(KeyError, match="no stored run"):
        fill("<!--=few-labels/subj/100/tsenet-->1<!--/-->", results)


def test_numbers_of_several_data_sets_are_their_range() -> None:
    rng = np.random.default_rng(0)
    results = Results.of(
        each
        for data, share in (("ag_news", 0.5), ("subj", 0.9))
        for rival, right in (("tsenet", 0.9), ("logistic", share))
        for each in of_rows(
            rng.random((2, 4_000)) < right,
            data=data,
            rival=rival,
            parameters=100 if rival == "tsenet" else 1_000,
        )
    )
    key = "few-labels/*/100/tsenet"
    low, high = results.value(f"{key}-vs-logistic").split(" to ")
    assert low == results.value("few-labels/subj/100/tsenet-vs-logistic")
    assert high == results.value("few-labels/ag_news/100/tsenet-vs-logistic")
    assert results.value(f"{key}-vs-logistic verdict") == "ahead on 1, cannot tell on 1"
    assert results.value(f"{key} share-of-logistic") == "10.0 %"
    with pytest.raises(KeyError, match="no stored run"):
        results.value("few-labels/*/100/svd")


def test_a_table_compares_with_the_reference() -> None:
    runs = [
        *(run(s, v) for s, v in enumerate([0.8, 0.9])),
        *(run(s, v, rival="logistic") for s, v in enumerate([0.7, 0.75])),
    ]
    text = fill("<!-- table: few-labels 100 -->old<!-- end -->", Results.of(runs))
    assert "old" not in text
    row = next(line for line in text.splitlines() if "Logistic" in line)
    low, high = stats.ttest_1samp([-0.1, -0.15], 0).confidence_interval(0.95)
    assert f"72.50 ({100 * low:+.2f} to {100 * high:+.2f})".replace("-", "−") in row


def test_rows_of_a_table_have_the_same_seeds_and_an_earlier_recipe_is_marked() -> None:
    runs = [
        *(run(s, 0.8 if s < 3 else 0.2) for s in range(10)),
        *(run(s, 0.7, rival="svd", recipe=CHANGED["texts"] - 1) for s in range(3)),
    ]
    text = fill("<!-- table: few-labels 100 --><!-- end -->", Results.of(runs))
    assert "80.00 |" in text
    assert "70.00† (−10.00 to −10.00)" in text


def test_a_table_of_changes_has_their_mean_over_data_sets() -> None:
    wanted = {"subj": [0.70, 0.72], "dbpedia": [0.80, 0.80]}  # − 4 and − 1 points
    names = {name.partition("@")[0]: name for name in EXPERIMENTS["mechanisms"].data}
    runs = [
        run(seed, score + lead, data=names[data], rival=rival, part="validation")
        for data, scores in wanted.items()
        for rival, lead in (
            ("tsenet", 0.04 if data == "subj" else 0.01),
            ("tsenet:linear_skip=False", 0),
        )
        for seed, score in enumerate(scores)
    ]
    text = TABLES["changes"](Results.of(runs), "mechanisms", "100")
    low, high = stats.ttest_1samp([-4.0, -1.0], 0).confidence_interval(0.95)
    row = next(line for line in text.splitlines() if "linear_skip False" in line)
    assert "−1.00" in row
    assert "−4.00" in row
    assert f"−2.50 ({low:.2f} to {high:+.2f})".replace("-", "−") in row
    assert "78.00" in next(line for line in text.splitlines() if line.startswith("| TSE-Net  "))


def test_headline_comparisons_count_together() -> None:
    runs = [
        *(run(s, v) for s, v in enumerate([0.80, 0.80, 0.80])),
        *(run(s, v, rival="teacher") for s, v in enumerate([0.77, 0.78, 0.79])),
        *(run(s, v, rival="logistic") for s, v in enumerate([0.700, 0.701, 0.702])),
    ]
    p = stats.ttest_1samp([-0.03, -0.02, -0.01], 0).pvalue
    assert p > 0.05
    rows = fill("<!-- table: headline 100 --><!-- end -->", Results.of(runs)).splitlines()
    assert next(row for row in rows if "teacher" in row).count("*") == 0
    assert next(row for row in rows if "Logistic" in row).count("*") == 1


def test_the_documentation_shows_the_stored_runs() -> None:
    """Every marked table and number; `python -m reproduce pages` fills them."""
    assert list(stale_pages(Results.stored())) == []


def test_pages_that_show_the_same_cells_show_the_same_numbers() -> None:
    """Each overview has the draws of labels that all its rivals have: other rivals may leave it fewer draws."""
    scores: dict[tuple[str, str], set[str]] = {}
    for page in pages():
        for block in re.findall(
            r"<!-- table: overview 100.*?<!-- end -->", page.read_text(), re.DOTALL
        ):
            head, _, *body = [
                [cell.strip() for cell in line.split("|")[1:-1]]
                for line in block.splitlines()
                if line.startswith("|")
            ]
            for name, *cells in body:
                for title, cell in zip(head[1:], cells, strict=True):
                    scores.setdefault((name, title), set()).add(cell)
    assert {key: cells for key, cells in scores.items() if len(cells) > 1} == {}


def test_every_picture_is_drawn_from_the_stored_runs(tmp_path: Path) -> None:
    """`make results` draws them; a page shows no other."""
    drawn = write_pictures(Results.stored(), tmp_path)
    assert all(path.stat().st_size > 5000 for path in drawn)
    assert {path.stem for path in RUNS.parent.glob("*.png")} == set(PICTURES)
    pages = "".join(page.read_text("utf-8") for page in RUNS.parent.glob("*.md"))
    assert {name for name in PICTURES if f"({name}.png)" not in pages} == set()


def test_the_papers_pictures_of_few_rows_show_what_was_measured(tmp_path: Path) -> None:
    few = {"data": "paper-ag_news@1500", "labels": None, "right": pack(np.ones(9, bool))}
    path = tmp_path / "runs.jsonl"
    rivals = ("tsenet-paper", "fnn:512x1:weighting=counts")
    stored = [
        run(0, rival=rivals[1], **few, part="validation"),
        *(run(0, rival=rival, **few) for rival in rivals),
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in stored), "utf-8")
    results = Results.stored(path)
    drawn = write_pictures(results, tmp_path, OF_THE_PAPER)
    assert [file.name for file in drawn] == ["paper.png", "parameters.png"]
    (panel,) = PICTURES["parameters"](results).axes
    assert panel.get_title() == "Text"
    assert [bar.get_height() for bar in panel.patches] == [0.001, 0.001]


def test_transfer_is_the_mean_of_all_tasks_or_nothing(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["transfer"]
    tasks = [name for name in experiment.data if name.startswith("tox21/")]

    def table_of(names: Sequence[str]) -> str:
        stored = [
            run(0, k / 10, rival=experiment.reference, data=name, labels=1_000, metric="auc")
            for k, name in enumerate(names)
        ]
        path = tmp_path / "runs.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in stored), "utf-8")
        return TABLES["transfer"](Results.stored(path))

    assert "0.5500" in table_of(tasks)  # the mean of 0, .1, …, 1.1
    assert "not measured" in table_of(tasks[:-1])


def test_tox21_compares_networks_over_its_tasks(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["tox21"]
    lead = np.array([0.1] * 9 + [-0.1] * 3)
    base = np.linspace(0.5, 0.7, 12)
    stored = []
    for seed in (0, 1):
        for k, data in enumerate(experiment.data):
            one = {"data": data, "labels": None, "metric": "auc", "without_repeated": 0.5}
            stored.append(run(seed, base[k] + seed / 50, rival=experiment.dense, **one))
            stored.append(run(seed, base[k] + lead[k], rival="tsenet-paper", **one))
    # a seed that one task lacks does not count
    stored.append(run(2, 0.9, rival="tsenet-paper", **one))
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in stored), "utf-8")
    results = Results.stored(path)
    text = TABLES["tox21"](results)
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("|")}
    assert "0.6500 ± 0.0000" in rows["mean"]
    assert f"0.6100 ± {0.02 / 2**0.5:.4f}" in rows["mean"]  # .60 and .62
    assert "0.8150 ± 0.0038" in rows["the paper's mean"]
    assert [cell.strip() for cell in rows["seeds"].split("|")[2:4]] == ["2", "2"]
    low, high = stats.ttest_1samp(lead - 0.01, 0).confidence_interval(0.95)
    wanted = f"+0.0400 ({low:+.4f} to {high:+.4f}), better on 9 of 12 tasks".replace("-", "−")
    assert wanted in text
    key = "tox21/*/all/tsenet-paper"
    assert results.value(key) == "0.6500"
    assert results.value(f"{key}-vs-{experiment.dense}") == "+0.0400"
    assert results.value(f"{key}-vs-{experiment.dense} better") == "9 of 12"
    assert results.value(f"{key}-vs-{experiment.dense} verdict") == "cannot tell"
    with pytest.raises(KeyError, match="no stored run of all tasks"):
        results.value("tox21/*/all/backbone-paper")


def test_differences_of_table_3_stand_above_the_papers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = {"data": "paper-ag_news@12000", "labels": None}
    weak, strong = rng.random((2, 3, 400)) < np.array([[[0.6]], [[0.9]]])
    stored = [
        *of_rows(strong, rival="tsenet-paper", **data),
        *of_rows(weak, rival="backbone-paper", **data),
        *of_rows(strong[:1], rival="tsenet-paper-random", **data, recipe=CHANGED["paper"] - 1),
        *of_rows(strong, rival="fnn:8x1:weighting=counts", **data),
        run(0, rival="fnn:8x1:weighting=counts", **data, part="validation"),
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in stored), "utf-8")
    text = TABLES["differences"](Results.stored(path))
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in text.splitlines()[2:]]
    lead = compare(of_rows(weak), of_rows(strong))
    assert lead is not None
    wanted = f"{100 * lead.value:+.2f} ± {100 * (lead.high - lead.value):.2f} *".replace("-", "−")
    assert rows == [
        ["TSE-Net − FNN", "+0.00 ± 0.00"],
        ["… in the paper", "−0.22"],
        ["TSE-Net − pruned FNN", "–"],
        ["… in the paper", "−0.10"],
        ["Backbone − TSE-Net", wanted],
        ["… in the paper", "−0.06"],
        ["TSE-Net: learned − random links", "+0.00 ± 0.00† (1 seed)"],
    ]


def test_pixels_are_means_over_seeds_by_level() -> None:
    shares = {"connected": [0.5, 0.4], "by_chance": [0.1, 0.2], "groups": [9, 3]}
    wide = [[[0.7, 0.2, 0.6], [0.5, 0.1, 0.9]], [[0.9, 0.4, 0.6], [0.7, 0.3, 0.9]]]
    cell = {"data": "mnist", "rival": "tree", "labels": None, "measure": "pixels"}
    results = Results.of(
        [run(seed, **cell, **shares, wide=one, metric="connected") for seed, one in enumerate(wide)]
    )
    key = "mnist/mnist/all/tree"
    assert results.value(f"{key} connected") == "50% / 40%"
    assert results.value(f"{key} wide-top") == "80% / 60%"
    assert results.value(f"{key} wide-middle") == "30% / 20%"
    first = next(line for line in TABLES["mnist"](results).splitlines() if "9, 9" in line)
    assert [cell.strip() for cell in first.split("|")[3:-1]] == ["50%", "10%", "80%", "30%", "60%"]
