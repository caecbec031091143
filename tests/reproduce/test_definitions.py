"""The experiments themselves: their cells, and their reports on small data."""

from __future__ import annotations

import csv
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reproduce import few_labels, paper, small_networks, table3
from reproduce.cells import Cell, Measured
from reproduce.dataset_context import QuickSize
from reproduce.definitions import EXPERIMENTS
from reproduce.experiment import Request, expand_names, select
from reproduce.figure_mnist import image_shape
from reproduce.interpretability import paper_score, top_columns, vector_files
from reproduce.methods import METHODS, PAPER_SHAPES
from reproduce.render import ExperimentReport, write
from reproduce.runner import Runner
from reproduce.runs import Result, Run
from reproduce.task_table import task_table
from tests.reproduce.tiny import tiny_task, tiny_text
from tsenet.baselines import paper_grid
from tsenet.datasets import Dataset, load, names
from tsenet.errors import DataError

SIZE = QuickSize(n_train=120, n_validation=60, n_test=80)


def report_on(
    name: str, folder: Path, dataset: Dataset, seeds: int = 2, **more: Any
) -> tuple[ExperimentReport, Runner]:
    runner = Runner(folder, seeds=seeds, quick=SIZE, n_jobs=1, datasets={dataset.name: dataset})
    request = Request((dataset.name,), command=f"python -m reproduce {name}", **more)
    report = EXPERIMENTS[name].make(runner, request, None)
    write(report, folder)
    return report, runner


def lines_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# ---- what there is to run


def test_all_17_tasks_of_the_paper_are_there() -> None:
    datasets = EXPERIMENTS["table3"].datasets
    assert len(datasets) == len(set(datasets)) == 17
    assert set(datasets) <= set(names())
    assert sum(name.startswith("tox21/") for name in datasets) == 12


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_default_data_sets_exist(name: str) -> None:
    assert EXPERIMENTS[name].name == name
    assert set(EXPERIMENTS[name].datasets) <= set(EXPERIMENTS[name].known or names())


@pytest.mark.parametrize("quick", [False, True])
def test_cells_are_well_formed(quick: bool) -> None:
    groups = [
        table3.cells("ag_news", quick),
        small_networks.cells("ag_news", None, quick),
        small_networks.cells("ag_news", 400, quick),
        few_labels.cells("ag_news", 100, quick),
    ]
    for cells in groups:
        seen: set[str] = set()
        for cell in cells:
            assert cell.method in METHODS
            assert set(cell.needs) <= seen, cell.name
            seen.add(cell.name)


def test_the_grid_is_the_papers() -> None:
    grid = paper_grid(14)
    assert len(PAPER_SHAPES) == len(grid)
    shapes = dict(zip(PAPER_SHAPES, grid, strict=True))
    assert shapes["rectangle 2048×3"] == (2048, 2048, 2048)
    assert shapes["conic 1024×2"] == (1024, 119)
    assert shapes["conic 512×4"][0] == 512
    assert len(shapes["conic 512×4"]) == 4
    dense = table3.cells("ag_news")[0]
    assert [settings["shape"] for settings in dense.rounds[0]] == list(PAPER_SHAPES)


def test_every_network_is_tuned_alike() -> None:
    cells = {cell.name: cell for cell in table3.cells("ag_news")}
    for name in ("fnn", "equal-size-paper", "equal-size", "fnn-100"):
        assert cells[name].rounds[-1] == table3.TRAINING
    for name in ("tsenet-paper", "backbone-paper", "set-paper", "rigl-backbone-paper"):
        assert cells[name].rounds == (table3.RATES,)  # the paper states the dropout
    for name in ("tsenet", "backbone"):
        assert cells[name].rounds == ()  # the defaults are the defaults
    assert min(rate["learning_rate"] for rate in table3.TRAINING) < 1e-3


def test_a_small_grid_chooses_less() -> None:
    whole = {cell.name: cell for cell in table3.cells("ag_news")}
    small = {cell.name: cell for cell in table3.cells("ag_news", small_grid=True)}
    among_all = small.pop("fnn-21")  # beside it, among all shapes, on one text set and one table
    assert among_all.rounds[0] == whole["fnn"].rounds[0]
    assert list(whole) == list(small)
    assert small["fnn"].n_candidates == 9 < whole["fnn"].n_candidates
    for name, cell in small.items():
        assert cell.n_candidates <= whole[name].n_candidates
        for few, many in zip(cell.rounds, whole[name].rounds, strict=True):
            assert all(candidate in many for candidate in few)


def test_every_recipe_has_its_controls() -> None:
    """Learned and random wirings of both recipes, and other networks of the size of each."""
    for text in (True, False):
        cells = {cell.name: cell for cell in table3.cells("ag_news", text=text)}
        for twin, learned in table3.TWINS.items():
            assert cells[twin].needs == (learned,)
            assert cells[twin].method == ("random-paper" if "paper" in learned else "random")
        for end in ("-paper", "-backbone-paper", "", "-backbone"):
            assert {f"pruned{end}", f"equal-size{end}"} <= set(cells)
        for end in ("-paper", "-backbone-paper"):
            assert {f"set{end}", f"rigl{end}"} <= set(cells)
        assert ("forest" in cells) == ("boosting" in cells) == (not text)
        assert "logistic" in cells


def test_the_rivals_that_learn_from_rows_without_labels_are_there() -> None:
    wanted = {"start", "self-training", "em-bayes", "linear-svc", "complement-nb"}
    plain = {"backbone-plain", "backbone-plain-random"}
    assert wanted | plain <= {cell.name for cell in few_labels.cells("ag_news", 100)}
    names = {cell.name for cell in small_networks.cells("ag_news")}
    assert {"set", "rigl", "pruned-logistic"} <= names


def test_selecting_takes_what_is_needed_too() -> None:
    cells = table3.cells("digits")
    assert [cell.name for cell in select(cells, ["pruned"])] == ["fnn", "tsenet", "pruned"]
    assert select(cells, None) == cells
    with pytest.raises(DataError, match="no method svm: there are fnn"):
        select(cells, ["svm"])


def test_names_of_data_sets_are_expanded() -> None:
    known = names()
    assert expand_names(["digits, ag_news", "digits"], known) == ("digits", "ag_news")
    assert len(expand_names(["tox21/*"], known)) == 12
    with pytest.raises(DataError, match="'nothing'"):
        expand_names(["nothing"], known)


# ---- table 3


#: Some of every kind; with those they need they are half of the rows.
ROWS = ("random-paper", "backbone-paper-random", "backbone-random", "random", "pruned-paper", "set-paper",
        "rigl-paper", "equal-size", "logistic")  # fmt: skip


@pytest.fixture(scope="module")
def quick_table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExperimentReport, Runner]:
    folder = tmp_path_factory.mktemp("table3")
    report, runner = report_on("table3", folder, tiny_text(), methods=ROWS)
    return folder, report, runner


def test_table3_has_every_method(quick_table: tuple[Path, ExperimentReport, Runner]) -> None:
    folder, report, _ = quick_table
    lines = {line["method"]: line for line in lines_of(folder, "table3-quick")}
    assert set(lines) == {cell.name for cell in select(table3.cells("tiny"), ROWS)}
    for line in lines.values():
        assert 0.2 < float(line["mean"]) <= 1.0
        assert line["seeds"] == "2"
    (short,) = (line for line in report.lead[0].splitlines() if line.startswith("| tiny "))
    assert (
        short.count("%") == len(report.lead[0].splitlines()[0].split("|")) - 3
    )  # each has a score
    (beside,) = (line for line in report.lead[2].splitlines() if line.startswith("| tiny "))
    assert beside.count("(") == report.lead[2].splitlines()[0].count("|") - 2  # each has a p-value
    gain = float(report.values["tiny/default-fnn:difference"].replace("−", "-"))
    wanted = 100 * (float(lines["tsenet"]["mean"]) - float(lines["fnn"]["mean"]))
    assert gain == pytest.approx(wanted, abs=0.0051)
    assert lines["tsenet-paper"]["p"] == ""
    assert 0.0 <= float(lines["fnn"]["p"]) <= 1.0
    page = report.markdown
    for title in (
        "TSE-Net (paper)",
        "Backbone (default)",
        "Pruned FNN",
        "random wiring",
        "Chosen on validation",
    ):
        assert title in page
    assert "`python -m reproduce table3`" in page
    assert (folder / "table3-quick.png").exists()
    again, second = report_on("table3", folder, tiny_text(), methods=ROWS)
    assert second.n_executed == 0
    assert again.markdown == page


def test_controls_are_of_the_same_size(quick_table: tuple[Path, ExperimentReport, Runner]) -> None:
    folder, _, _ = quick_table
    size = {x["method"]: float(x["n_parameters"]) for x in lines_of(folder, "table3-quick")}
    for twin, learned in table3.TWINS.items():
        assert size[twin] == size[learned]
    assert size["backbone-paper"] < size["tsenet-paper"]
    least = 512 + 3 + 2  # biases of the dense network, and a weight of each layer
    for method in ("pruned-paper", "set-paper", "rigl-paper"):
        assert size[method] == min(max(least, size["tsenet-paper"]), size["fnn"])
    assert size["equal-size"] <= max(size["tsenet"], 31)  # one unit at least


def test_random_wirings_have_the_settings_of_the_learned_one(
    quick_table: tuple[Path, ExperimentReport, Runner],
) -> None:
    _, _, runner = quick_table
    finals = [run for run, _ in runner.store("table3").items() if run.final]
    pairs = (("tsenet", "random"), ("tsenet-paper", "random-paper"))
    for is_backbone, methods in itertools.product((True, False), pairs):
        learned, control = (
            [
                r.settings
                for r in finals
                if r.method == m and (r.settings.get("skip_units") == 0) == is_backbone
            ]
            for m in methods
        )
        assert learned == control != []


def with_results(cell: Cell, *tests: float) -> Measured:
    finals = tuple(
        (Run("table3", cell.dataset, cell.method, {}, seed), Result(t, t, 100, 2.0, 1.0))
        for seed, t in enumerate(tests)
    )
    return Measured(cell, {}, (), finals)


def test_the_mean_of_the_tox21_tasks() -> None:
    rng = np.random.default_rng(0)
    areas = rng.random((12, 2))
    measured = [
        with_results(Cell("table3", name, "tsenet", "TSE-Net", "tsenet"), *areas[k])
        for k, name in enumerate(table3.TASKS)
    ]
    (mean,) = table3.mean_of_tasks(measured)
    assert mean.cell.dataset == "tox21 (mean)"
    assert table3.paper_name(mean.cell.dataset) in paper.TABLE3
    assert [result.test for result in mean.results] == pytest.approx(areas.mean(axis=0))
    assert mean.results[0].extra["areas"] == areas[:, 0].tolist()
    assert mean.results[0].cpu_seconds == 24.0
    first = replace(
        measured[0],
        finals=tuple((run, replace(result, recipe=-1)) for run, result in measured[0].finals),
    )
    (mixed,) = table3.mean_of_tasks([first, *measured[1:]])
    assert [result.recipe for result in mixed.results] == [-1, -1]  # the oldest of them
    (some,) = table3.mean_of_tasks(measured[:3])
    assert some.cell.dataset == "tox21, 3 tasks (mean)"
    assert table3.mean_of_tasks(measured[:1]) == []
    assert table3.mean_of_tasks([*measured[:2], replace(measured[2], finals=())]) == []


def test_the_tasks_in_which_a_method_is_ahead_are_counted() -> None:
    ours = {"tox21/NR-AR": (0.7, 0.9), "tox21/NR-ER": (0.6, 0.62), "tox21/SR-p53": (0.5, 0.7)}
    theirs = {"tox21/NR-AR": (0.8, 0.7), "tox21/NR-ER": (0.6, 0.7)}
    measured = [
        with_results(Cell("table3", task, name, name.upper(), name), *areas)
        for name, own in (("tsenet-paper", ours), ("fnn", theirs))
        for task, areas in own.items()
    ]
    paragraphs, values = task_table(measured, table3.TASKS, "tsenet-paper")
    p = stats.ttest_rel([0.75, 0.65], [0.8, 0.61]).pvalue
    assert values == {
        "tasks/fnn:wins": "1 of 2",
        "tasks/fnn:difference": "−0.0050",
        "tasks/fnn:p": f"= {p:.3f}",
        "tasks/fnn:is": "level with",
    }
    rows = {line.split(" | ")[0].strip("| "): line for line in paragraphs[-1].splitlines()}
    for area in ("0.8000 ± 0.1414", "0.7500 ± 0.0707"):
        assert area in rows["NR-AR"]
    assert "not run" in rows["SR-p53"]
    assert "1 of 2" in rows["TSE-Net (paper) ahead"]
    ends = {"TSE-Net (paper) ahead", "minus TSE-Net (paper)"}
    assert set(rows) == {"task", "-" * 21, "NR-AR", "NR-ER", "SR-p53", *ends}
    assert task_table(measured, ["tox21/SR-HSE"], "tsenet-paper") == ([], {})


def test_the_papers_figures_stand_beside_ours(tmp_path: Path) -> None:
    runner = Runner(
        tmp_path, seeds=1, quick=SIZE, n_jobs=1, datasets={"ag_news": tiny_text("ag_news")}
    )
    report = table3.make(runner, Request(("ag_news",), ("tsenet-paper", "fnn")))
    (line,) = (x for x in report.markdown.splitlines() if x.startswith("| TSE-Net (paper) "))
    assert "91.39 % ± 0.03" in line
    assert "6.3 %" in line
    not_done = Runner(
        tmp_path, seeds=1, quick=SIZE, execute=False, datasets={"ag_news": tiny_text("ag_news")}
    )
    whole = table3.make(not_done, Request(("ag_news", "20newsgroups")))
    rows = {line.split(" | ")[0].strip("| "): line for line in whole.markdown.splitlines()}
    assert "not run" in rows["Backbone (paper)"]
    assert "91.33 % ± 0.03" in rows["Backbone (paper)"]
    assert "not run" not in rows["TSE-Net (paper)"]
    assert "Not run: 20newsgroups." in whole.markdown


def test_two_tasks_of_tox21_are_averaged(tmp_path: Path) -> None:
    tasks = {name: tiny_task(name, seed) for seed, name in enumerate(table3.TASKS[:2])}
    runner = Runner(tmp_path, seeds=1, quick=SIZE, n_jobs=1, datasets=tasks)
    report = table3.make(runner, Request(tuple(tasks), ("fnn-100", "logistic")))
    assert "## tox21, 2 tasks (mean)" in report.markdown
    assert "## Tox21, task by task" in report.markdown
    head, rows = report.csv[""]
    means = {(row[0], row[1]): row[head.index("mean")] for row in rows}
    own = [means[name, "logistic"] for name in tasks]
    assert means["tox21, 2 tasks (mean)", "logistic"] == pytest.approx(np.mean(own))


# ---- the others


def test_few_labels(tmp_path: Path) -> None:
    report, runner = report_on(
        "few-labels",
        tmp_path,
        tiny_text(),
        methods=("tsenet", "logistic", "svd"),
        n_labels=(20, 1_000, None),
    )
    lines = lines_of(tmp_path, "few-labels-quick")
    assert {(line["method"], line["n_labels"]) for line in lines} == {
        (method, count) for method in ("tsenet", "logistic", "svd") for count in ("20", "all")
    }
    assert "tiny with 1000 labels" in runner.skipped
    assert "1000 labels cannot be drawn" in report.markdown
    (axes,) = report.figures[""].axes
    assert axes.lines[0].get_xdata().tolist() == [20, 120]  # type: ignore[union-attr]  # an array
    for line in lines:
        assert (line["p"] == "") == (line["method"] == "tsenet")


def test_small_networks(tmp_path: Path) -> None:
    methods = ("tsenet-pruned", "fnn", "logistic")
    report, _ = report_on(
        "small-networks", tmp_path, tiny_text(), seeds=1, methods=methods, n_labels=(60, None)
    )
    lines = lines_of(tmp_path, "small-networks-quick")
    assert {line["method"] for line in lines} == set(methods)
    assert {line["n_labels"] for line in lines} == {"60", "all"}
    assert len(report.figures[""].axes) == 2
    assert "## tiny, 60 labels" in report.markdown
    for method, least in (("fnn", 3), ("logistic", 1)):
        own = [x for x in lines if x["method"] == method and x["n_labels"] == "all"]
        assert len(own) == least
    budgets = [20_000, 100_000, 500_000]
    sizes = [float(x["n_parameters"]) for x in lines if x["method"] == "fnn"]
    for size, budget in zip(sizes, [*budgets, *budgets], strict=True):
        assert 0.99 * budget < size <= budget
    at = {(x["method"], x["n_labels"]): x for x in reversed(lines)}  # the smallest of each
    found = float(at["fnn", "all"]["mean"]) - float(at["tsenet-pruned", "all"]["mean"])
    assert float(at["fnn", "all"]["difference"]) == pytest.approx(found)
    assert at["logistic", "all"]["difference"] == ""  # made to no size
    key = "small:tiny/fnn@20000"
    assert report.values[key] == f"{100 * float(at['fnn', 'all']['mean']):.2f} %"
    assert report.values[f"{key}:difference"].replace("−", "-") == f"{100 * found:+.2f}"


def test_figure_of_parameters_comes_from_table3(
    quick_table: tuple[Path, ExperimentReport, Runner],
) -> None:
    folder, _, _ = quick_table
    report, runner = report_on("figure-parameters", folder, tiny_text())
    assert runner.n_executed == 0
    table = {line["method"]: line for line in lines_of(folder, "table3-quick")}
    _, rows = report.csv[""]
    sizes = {row[1]: row[2] for row in rows}
    assert sizes["TSE-Net (paper)"] == float(table["tsenet-paper"]["n_parameters"])
    (axes,) = report.figures[""].axes
    heights = sorted(bar.get_height() for bar in axes.patches)  # type: ignore[attr-defined]  # bars
    assert heights == pytest.approx(sorted(size / 1e6 for size in sizes.values()))


def test_figure_of_pixels(tmp_path: Path) -> None:
    digits = load("digits")
    report, runner = report_on("figure-mnist", tmp_path, digits)
    _, rows = report.csv[""]
    assert runner.n_executed == 2
    assert {row[1] for row in rows} == {0, 1}
    first = [row for row in rows if row[2] == 1]
    assert all(row[4] > row[5] for row in first)  # neighbours are found together
    assert len(report.figures["-digits"].axes) == max(row[2] for row in rows)
    _, again = report_on("figure-mnist", tmp_path, digits)
    assert again.n_executed == 0
    assert (tmp_path / "figure-mnist-quick-digits.png").exists()


def test_only_square_images_have_pixels() -> None:
    assert image_shape(784) == (28, 28)
    with pytest.raises(DataError, match="square"):
        image_shape(30)


def test_interpretability(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    quick_table: tuple[Path, ExperimentReport, Runner],
) -> None:
    """Vectors in which the words of a class are alike: all networks find words that go together."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "data" / "word_vectors"
    folder.mkdir(parents=True)
    axes = np.eye(3).repeat(8, axis=0) + 0.05 * rng.normal(size=(24, 3))
    lines = [f"word{k} " + " ".join(f"{x:.4f}" for x in axes[k]) for k in range(24)]
    (folder / "googlenews-toy.txt").write_text("\n".join(lines) + "\n")
    (folder / "wordsim.tsv").write_text("no vectors\n")
    monkeypatch.setenv("TSENET_DATA", str(tmp_path / "data"))
    assert [path.name for path in vector_files()] == ["googlenews-toy.txt"]
    results, _, _ = quick_table
    report, runner = report_on("interpretability", results, tiny_text())
    assert runner.n_executed == 16  # what table 3 chose is not chosen again
    found = {line["method"]: line for line in lines_of(results, "interpretability-quick")}
    assert set(found) == {
        *("tsenet-paper", "random-paper", "fnn", "pruned-paper"),
        *("tsenet", "random", "tsenet-plain", "nmf"),
    }
    assert found["nmf"]["units"] == found["tsenet-paper"]["units"]  # as many topics
    for name, line in found.items():
        assert 0.2 < float(line["mean"] or "nan") <= 1.0 or name == "pruned-paper"
        assert line["vectors"] == "googlenews-toy.txt"
    assert "## tiny, googlenews-toy.txt" in report.markdown
    assert "100.0 %" in report.markdown
    assert "Not run" not in report.markdown
    assert len(report.figures[""].axes) == 1
    stored = runner.store("interpretability").items()
    assert len(stored) == 16
    for (
        run,
        result,
    ) in stored:  # a network pruned to as few weights as this may have no unit that moves
        score = result.extra["interpretability"]["googlenews-toy.txt"]
        assert (score is None) == (result.extra["n_units"] == 0)
        assert run.method == "pruned" or score > 0.2


def test_the_papers_interpretability_is_by_the_vectors_of_google_news() -> None:
    cell = Cell("interpretability", "ag_news", "tsenet-paper", "TSE-Net", "tsenet-paper")
    one = with_results(cell, 0.5)
    assert paper_score(replace(one, cell=replace(cell, name="tsenet")), "googlenews.bin") is None
    assert paper_score(one, "GoogleNews-vectors-negative300.bin.gz") == 0.0531
    assert paper_score(one, "glove.6B.50d.txt") is None


def test_without_vectors_it_says_where_they_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TSENET_DATA", str(tmp_path))
    with pytest.raises(DataError, match="word_vectors"):
        vector_files()
    monkeypatch.delenv("TSENET_DATA")
    with pytest.raises(DataError, match="word_vectors"):
        vector_files()


def test_the_top_layer_of_a_network(quick_table: tuple[Path, ExperimentReport, Runner]) -> None:
    from tsenet import TSENetClassifier
    from tsenet.baselines import DenseClassifier

    data = tiny_text()
    dense = DenseClassifier(hidden=(6, 5), max_epochs=1).fit(data.train.X, data.train.y)
    assert top_columns(dense) == slice(6, 11)
    sparse = TSENetClassifier(max_top=2, max_epochs=1, units_per_latent=1, random_state=0)
    sparse.fit(data.train.X, data.train.y)
    chosen = sparse.get_feature_names_out()[top_columns(sparse)]
    assert chosen.tolist() == list(sparse.wiring_.names[-1])
    two = TSENetClassifier(max_top=2, max_epochs=1, units_per_latent=2, random_state=0)
    two.fit(data.train.X, data.train.y)
    chosen = two.get_feature_names_out()[top_columns(two)]
    assert chosen.tolist() == [f"{name}/{j}" for name in two.wiring_.names[-1] for j in (1, 2)]
