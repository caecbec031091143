"""How the structure is learned: variants, coherence of the topics, and a report that never saw a test row."""

from __future__ import annotations

import csv
import inspect
import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from reproduce import structure
from reproduce.dataset_context import QuickSize
from reproduce.experiment import Request
from reproduce.render import ExperimentReport, write
from reproduce.runner import Runner
from reproduce.runs import Result
from reproduce.scoring import pack
from reproduce.stats import paired_rows, paired_seeds
from reproduce.structure import versus
from reproduce.structure_variants import VARIANTS, cells, topic_coherence
from tests.reproduce.tiny import tiny_task, tiny_text
from tsenet import TSENetClassifier, expand, learn_tree
from tsenet.datasets import Dataset, Part
from tsenet.errors import DataError
from tsenet.explain import topic_tree

SIZE = QuickSize(n_train=200, n_validation=60, n_test=80)
SOME = ("default", "no-global-em", "paper-groups", "bare-tree")
TREE: dict[str, Any] = {"max_top": 2, "random_state": 0, "n_jobs": 1}


def report_on(folder: Path, dataset: Dataset, **more: Any) -> tuple[ExperimentReport, Runner]:
    seeds, n_labels = more.pop("seeds", 2), more.pop("n_labels", (40,))
    runner = Runner(folder, seeds=seeds, quick=SIZE, n_jobs=1, datasets={dataset.name: dataset})
    wanted = Request((dataset.name,), more.pop("methods", SOME), n_labels, "python -m reproduce")
    report = structure.make(runner, wanted)
    write(report, folder)
    return report, runner


def some_noise() -> Dataset:
    """Documents with three words that belong to no class: a tree has to put them somewhere."""
    data, rng = tiny_text(), np.random.default_rng(1)
    parts: dict[str, Any] = {
        name: Part(hstack([part.X[:, :21], random_words(rng, len(part))], format="csr"), part.y)
        for name, part in data.parts.items()
    }
    return replace(data, **parts)


def random_words(rng: np.random.Generator, n_rows: int) -> csr_array:
    return csr_array((rng.random((n_rows, 3)) < 0.3).astype(np.float32))


def lines_of(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    with (folder / "structure-quick.csv").open(encoding="utf-8", newline="") as file:
        return {(line["variant"], line["n_labels"]): line for line in csv.DictReader(file)}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ExperimentReport, Runner]:
    folder = tmp_path_factory.mktemp("structure")
    return folder, *report_on(folder, some_noise())


# ---- variants


def test_each_variant_changes_one_thing_that_exists() -> None:
    estimator = inspect.signature(TSENetClassifier).parameters
    tree = inspect.signature(learn_tree).parameters
    first, *others = VARIANTS
    assert first.name == "default"
    assert first.change == {}
    for variant in others:
        ((name, value),) = variant.change.items()
        default = (estimator if name in estimator else tree)[name].default
        assert value != default, variant.name
    for part in ("name", "title"):
        assert len({getattr(variant, part) for variant in VARIANTS}) == len(VARIANTS)
    rules = {variant.change.get("link_rule", "balanced") for variant in VARIANTS}
    assert rules == {"balanced", "top-k", "random", "tree"}


@pytest.mark.parametrize("quick_look", [False, True])
def test_two_networks_on_each_structure(quick_look: bool) -> None:
    found = cells("ag_news", 400, quick_look)
    assert not any(cell.final for cell in found)  # none may look at the test rows
    for variant, backbone, whole in zip(VARIANTS, found[::2], found[1::2], strict=True):
        assert isinstance(whole.settings, dict)
        assert backbone.settings == {**whole.settings, "skip_units": 0, "linear_skip": False}
        assert variant.change.items() <= whole.settings.items()
        assert whole.name == variant.name
        assert whole.needs == (backbone.name,)  # who asks for a variant gets both


# ---- coherence


def nested(n_rows: int = 3_000) -> csr_array:
    """Eight groups of four words; the groups come in two kinds that are on together more often."""
    rng = np.random.default_rng(0)
    kind = rng.random((n_rows, 2)) < 0.5
    topic = rng.random((n_rows, 8)) < np.where(kind.repeat(4, axis=1), 0.7, 0.15)
    return csr_array((rng.random((n_rows, 32)) < np.where(topic.repeat(4, axis=1), 0.6, 0.1)) * 1.0)


def npmi_by_hand(groups: list[list[int]], on: NDArray[np.bool_]) -> float:
    """Mean over topics of the mean over pairs, from the definition."""
    means = []
    for group in groups:
        pairs = []
        for i, j in combinations(group, 2):
            both = (on[:, i] & on[:, j]).mean() + 1e-12
            pairs.append(np.log(both / (on[:, i].mean() * on[:, j].mean())) / -np.log(both))
        if pairs:
            means.append(np.mean(pairs))
    return float(np.mean(means))


def test_coherence_is_that_of_the_groups() -> None:
    X = nested()
    tree = learn_tree(X, **TREE)
    on = X.toarray() > 0
    groups = [list(group) for group in tree.groups(1)]
    assert tree.n_levels > 1  # topics of the first level lie below others
    assert max(map(len, groups)) <= 10
    assert topic_coherence(tree, X, 0.0) == pytest.approx(npmi_by_hand(groups, on))


def test_words_that_tell_little_can_be_left_out() -> None:
    X = nested()
    tree = learn_tree(X, **TREE)
    on = X.toarray() > 0
    place = {name: j for j, name in enumerate(tree.names)}

    def level_1(topics: Any) -> Any:
        for topic in topics:
            yield from [topic] if topic.level == 1 else level_1(topic.children)

    topics = level_1(topic_tree(tree, min_share=0.9))
    clear = [[place[word.word] for word in topic.words] for topic in topics]
    score = topic_coherence(tree, X, 0.9)
    assert score == pytest.approx(npmi_by_hand(clear, on))
    assert score != topic_coherence(tree, X, 0.0)


def test_coherence_of_a_dense_table_is_that_of_its_binary_columns() -> None:
    X = tiny_task("numbers").train.X
    tree = learn_tree(X, **TREE)
    on = np.median(X, axis=0) < X
    groups = [
        [j for j in group if tree.cpt[j, 1, 1] > tree.cpt[j, 0, 1]] for group in tree.groups(1)
    ]
    assert topic_coherence(tree, X, 0.0) == pytest.approx(npmi_by_hand(groups, on), abs=0.02)


def test_without_pairs_there_is_no_coherence() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((50, 3), np.float32)
    X[:, 1] = rng.random(50) < 0.5  # one word varies
    assert topic_coherence(learn_tree(X, **TREE), X, 0.0) is None


# ---- differences


def result(right: list[bool]) -> Result:
    bits = np.array(right)
    extra = {"on_validation": {"right": pack(bits), "n_rows": bits.size}}
    return Result(float(bits.mean()), None, 1, 1.0, 1.0, {}, extra)


def test_differences_are_paired_over_rows_and_seeds() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 3, 40)) < np.array([0.8, 0.6])[:, None, None]
    ours, theirs = ([result(row.tolist()) for row in rows] for rows in (a, b))
    assert versus(ours, theirs) == paired_rows(a, b)
    diverged = Result(None, None, 0, 1.0, 1.0, {}, {"error": "it diverged"})
    assert versus([diverged, *ours[1:]], theirs) == paired_rows(a[1:], b[1:])
    assert versus([diverged], theirs) is None
    assert versus([], theirs) is None


def test_areas_are_paired_over_seeds() -> None:
    ours, theirs = (
        [Result(x, None, 1, 1.0, 1.0, {}, {"on_validation": {"areas": [x]}}) for x in values]
        for values in ((0.7, 0.8, 0.75), (0.6, 0.75, 0.72))
    )
    assert versus(ours, theirs) == paired_seeds([0.7, 0.8, 0.75], [0.6, 0.75, 0.72])


# ---- the report


def test_no_run_has_seen_the_test_rows(quick: tuple[Path, ExperimentReport, Runner]) -> None:
    folder, report, runner = quick
    runs = runner.store("structure").items()
    assert len(runs) == 2 * 2 * len(SOME)  # networks, seeds
    for run, found in runs:
        assert not run.final
        assert found.test is None
        assert found.validation is not None
    assert "16 runs; none has seen the test rows" in report.markdown
    assert (folder / "structure-quick-tiny-40.png").exists()
    _, again = report_on(folder, some_noise())
    assert again.n_executed == 0


def test_the_test_rows_have_no_say(
    quick: tuple[Path, ExperimentReport, Runner], tmp_path: Path
) -> None:
    data = some_noise()
    other = replace(data, test=Part(data.test.X, (data.test.y + 1) % 3))
    methods = ("default", "paper-groups")
    report_on(tmp_path, other, methods=methods)
    before, after = lines_of(quick[0]), lines_of(tmp_path)
    for name in methods:
        first, second = before[name, "40"], after[name, "40"]
        assert {k: v for k, v in first.items() if "seconds" not in k} == {
            k: v for k, v in second.items() if "seconds" not in k
        }


def test_the_lines_are_the_means_of_the_runs(quick: tuple[Path, ExperimentReport, Runner]) -> None:
    folder, report, runner = quick
    lines = lines_of(folder)
    assert [name for name, _ in lines] == [v.name for v in VARIANTS if v.name in SOME]
    runs = runner.store("structure").items()
    for variant in (v for v in VARIANTS if v.name in SOME):
        line = lines[variant.name, "40"]
        assert json.loads(line["change"]) == variant.change
        assert variant.title in report.markdown
        assert (line["tsenet_p"] == "") == (variant.name == "default")
        training = 0.0
        for network, skip in (("backbone", 0), ("tsenet", None)):
            own = [
                found
                for run, found in runs
                if run.settings.get("skip_units") == skip
                and {k: v for k, v in run.settings.items() if k in _CHANGED} == variant.change
            ]
            assert len(own) == 2
            mean = float(np.mean([found.validation or 0.0 for found in own]))
            assert float(line[network]) == pytest.approx(mean)
            assert float(line["npmi"]) == pytest.approx(np.mean([f.extra["npmi"] for f in own]))
            shared = np.mean([found.extra["shared_cpu_seconds"] for found in own])
            assert float(line["structure_cpu_seconds"]) == pytest.approx(shared, abs=0.06)
            training += np.mean([found.cpu_seconds for found in own]) - shared
            default = float(lines["default", "40"][network])
            if variant.name != "default":
                assert float(line[f"{network}_minus_default"]) == pytest.approx(mean - default)
        assert float(line["networks_cpu_seconds"]) == pytest.approx(training, abs=0.06)


_CHANGED = {name for variant in VARIANTS for name in variant.change}


def test_structures_are_those_of_the_library(quick: tuple[Path, ExperimentReport, Runner]) -> None:
    """Each change reaches the function it is meant for, those that no estimator has too."""
    folder, _, runner = quick
    X = runner.context("tiny").dataset.train.X
    changes: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "default": ({}, {}),
        "no-global-em": ({"refine_steps": 0}, {}),
        "paper-groups": ({"correlation_test": False}, {}),
        "bare-tree": ({}, {"link_rule": "tree"}),
    }
    for name, (of_tree, of_links) in changes.items():
        tree = learn_tree(X, max_top=500, random_state=1, n_jobs=1, **of_tree)
        wiring = expand(tree, X, random_state=1, n_jobs=1, **of_links)
        (found,) = (
            found
            for run, found in runner.store("structure").items()
            if run.seed == 1
            and "skip_units" not in run.settings
            and {k: v for k, v in run.settings.items() if k in _CHANGED} == {**of_tree, **of_links}
        )
        assert found.extra["npmi"] == topic_coherence(tree, X, 0.0), name
        assert found.extra["npmi_clear"] == topic_coherence(tree, X, 0.1), name
        assert found.extra["npmi"] <= found.extra["npmi_clear"]
        assert found.extra["links"] == wiring.n_edges
        assert found.extra["layers"] == list(wiring.layer_sizes)
    notes = [json.loads(path.read_text("utf-8")) for path in folder.glob("structures/*.json")]
    recipes = [
        (note["kind"], note["correlation_test"], note.get("refine_steps"), note.get("link_rule"))
        for note in notes
        if note["seed"] == 1
    ]
    assert sorted(recipes, key=str) == [
        ("LatentTree", False, None, None),
        ("LatentTree", True, 0, None),
        ("LatentTree", True, None, None),
        ("Wiring", False, None, None),
        ("Wiring", True, 0, None),
        ("Wiring", True, None, "tree"),
        ("Wiring", True, None, None),
    ]


def test_a_dense_table_with_all_labels_and_few(tmp_path: Path) -> None:
    data = tiny_task("tox21/NR-AR")
    report, runner = report_on(
        tmp_path, data, seeds=1, methods=("top-k", "default"), n_labels=(60, 5_000, None)
    )
    lines = lines_of(tmp_path)
    assert set(lines) == {(v, n) for v in ("default", "top-k") for n in ("60", "all")}
    assert "tox21/NR-AR with 5000 labels" in runner.skipped
    assert "## tox21/NR-AR, all labels" in report.markdown
    assert set(report.figures) == {"-tox21-NR-AR-60", "-tox21-NR-AR-all"}
    titles = [axes.get_title() for axes in report.figures["-tox21-NR-AR-60"].axes]
    assert titles[-1] == "TSE-Net: validation area under the curve"
    for line in lines.values():
        assert -1 <= float(line["npmi"]) <= 1
        assert 0.3 < float(line["backbone"]) <= 1


def test_the_backbone_alone(tmp_path: Path) -> None:
    report, runner = report_on(tmp_path, tiny_text(), seeds=1, methods=("default-backbone",))
    assert runner.n_executed == 1
    (line,) = lines_of(tmp_path).values()
    assert line["tsenet"] == ""
    assert len(report.figures["-tiny-40"].axes) == 3


def test_there_is_no_other_variant(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no method best: there are default-backbone, default"):
        report_on(tmp_path, tiny_text(), methods=("best",))
