"""Table 4 of the paper: how similar the words of each top unit are, by word vectors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduce import figures, paper, render, table3
from reproduce.cells import Cell, Found, Measured, results_of
from reproduce.experiment import Experiment, Request
from reproduce.runner import CountsRunner, Runner
from reproduce.runs import Result, Settings
from reproduce.stats import paired_seeds, spread, standing
from reproduce.summary import by_dataset
from reproduce.word_vectors import interpretability_score, load_vectors, top_words
from tsenet.errors import DataError

if TYPE_CHECKING:
    from reproduce.run_context import RunContext

__all__ = ["INTERPRETABILITY", "paper_score", "top_columns", "vector_files"]

NAME = "interpretability"
#: Networks of table 3, with the settings that it chose.
_METHODS = ("tsenet-paper", "random-paper", "fnn", "pruned-paper")
#: Networks that nothing is chosen for, and a topic model with as many topics as TSE-Net (paper) has top units.
_OWN: tuple[tuple[str, str, str, Settings], ...] = (
    ("tsenet", "TSE-Net (default)", "tsenet", {}),
    ("random", "TSE-Net (default), random wiring", "random", {}),
    ("tsenet-plain", "TSE-Net (default), plain start", "tsenet", {"init": "random"}),
    ("nmf", "NMF topics", "nmf", {}),
)
_ROWS = 4096  # rows whose activations are computed at a time
_VECTORS = re.compile(r".+\.(bin|txt|vec)(\.gz)?")


def make(runner: Runner, request: Request, progress: Any = None) -> render.ExperimentReport:
    """Train the networks of table 3 again, describe their units, and score the words."""
    files = vector_files() if runner.execute else []
    measured = _measure(runner, request, files, progress)
    paragraphs, rows, panels = [_INTRODUCTION], [], {}
    values: dict[str, str] = {}
    for name, own in by_dataset(measured).items():
        for file in _scored_by(own):
            scores = {one.cell.name: _scores(one.results, file) for one in own}
            table = []
            for one in own:
                page, row = _rows(one, scores, file)
                table.append(page)
                rows.append(row)
                kind = "googlenews" if "googlenews" in file.lower() else "glove"
                key = f"{kind}:{name}/{one.cell.name}"
                values |= {
                    key: str(page[1]),
                    f"{key}:difference": str(page[3]),
                    f"{key}:p": f"= {page[4]}" if str(page[4])[:1].isdigit() else str(page[4]),
                }
                if row[-2] != "":
                    values[f"{key}:is"] = standing(row[-3], row[-2])
            title = f"{name}, {file}"
            paragraphs += [f"## {title}", render.markdown_table(_HEAD, table)]
            panels[title] = [_dot(one, scores[one.cell.name], file) for one in own]
    paragraphs += _not_run(measured, request)
    paragraphs += [
        "## Where the figures come from",
        render.provenance(measured, request.command, runner.skipped),
    ]
    return render.ExperimentReport(
        name=NAME + ("-quick" if runner.quick else ""),
        title="Table 4: interpretability" + (" (quick look: small data)" if runner.quick else ""),
        paragraphs=tuple(paragraphs),
        csv={"": (_CSV_HEAD, rows)},
        figures={"": figures.dots(panels, "mean cosine")} if panels else {},
        values=values,
        results=results_of(measured),
    )


def _measure(runner: Runner, request: Request, files: list[Path], progress: Any) -> list[Measured]:
    """The networks of table 3 that are chosen there, then the others; a data set without the former has none."""
    own = {name for name, *_ in _OWN}
    methods = request.methods or (*_METHODS, *own)
    chosen_there = tuple(name for name in methods if name not in own)
    if "nmf" in methods:
        chosen_there = tuple(dict.fromkeys((*chosen_there, table3.REFERENCE)))
    wanted = Request(
        request.datasets, chosen_there, command=request.command, small_grid=request.small_grid
    )
    chosen = table3.measure(runner, wanted, progress)
    cells = []
    for dataset in request.datasets:
        before = [one for one in chosen if one.cell.dataset == dataset and one.results]
        cells += [_cell(one, files) for one in before if one.cell.name in chosen_there]
        cells += _own_cells(dataset, files, methods)
    return [one for one in runner.measure_all(cells, progress) if one.results]


def _not_run(measured: Sequence[Measured], request: Request) -> list[str]:
    """What was asked for and is not done."""
    done = {(one.cell.dataset, one.cell.name) for one in measured}
    methods = request.methods or (*_METHODS, *(name for name, *_ in _OWN))
    missing = {
        dataset: [name for name in methods if (dataset, name) not in done]
        for dataset in request.datasets
    }
    told = [
        dataset if len(names) == len(methods) else f"{dataset}: {', '.join(names)}"
        for dataset, names in missing.items()
        if names
    ]
    return [f"Not run: {'; '.join(told)}."] if told else []


def _own_cells(dataset: str, files: list[Path], methods: Sequence[str]) -> list[Cell]:
    def as_many_topics(found: Found, seed: int) -> Settings:
        return {"n_components": found[table3.REFERENCE].results[seed].extra["n_units"]}

    probe = partial(_probe, files)
    return [
        Cell(NAME, dataset, name, title, method, as_many_topics, needs=(table3.REFERENCE,), probe=probe)
        if name == "nmf"
        else Cell(NAME, dataset, name, title, method, settings, probe=probe)
        for name, title, method, settings in _OWN
        if name in methods
    ]  # fmt: skip


_INTRODUCTION = (
    "A unit's ten words are those that correlate most with its activation over the training rows. Its score is the "
    "mean cosine of the vectors of all pairs of them; a network's score is the mean over its top layer: the top "
    "level of the skeleton for TSE-Net, the last hidden layer of dense networks, the topics of NMF (as many as TSE-Net "
    "(paper) has top units). The paper's scores are by word2vec's vectors of Google News. Mean ± standard deviation "
    "over seeds. "
    "*Difference* is the method minus TSE-Net (paper), its p-value by the paired t-test over seeds. The networks have "
    "the settings that table 3 chose."
)
_HEAD = ("method", "score", "paper", "difference", "p", "units", "words with a vector")
_CSV_HEAD = (
    "dataset", "vectors", "method", "seeds", "mean", "sd", "paper", "difference", "p", "units",
)  # fmt: skip


def vector_files() -> list[Path]:
    """The files of word vectors in the folder ``word_vectors`` of ``TSENET_DATA``.

    Raises
    ------
    DataError
        If there are none.
    """
    given = os.environ.get("TSENET_DATA")
    folder = None if given is None else Path(given) / "word_vectors"
    found = [] if folder is None or not folder.is_dir() else sorted(folder.iterdir())
    files = [path for path in found if _VECTORS.fullmatch(path.name)]
    if not files:
        raise DataError(
            "there are no word vectors: put files of word2vec (.bin) or GloVe (.txt) into the folder word_vectors of "
            "the folder that TSENET_DATA names"
        )
    return files


def top_columns(model: Any) -> slice:
    """Which columns of a network's ``transform`` are its top layer."""
    if hasattr(model, "wiring_"):
        sizes = model.net_.layer_sizes[1:]  # the feature layer comes after them
        return slice(sum(sizes[:-1]), sum(sizes))
    if not hasattr(model, "net_"):
        return slice(None)  # a topic model
    names = model.get_feature_names_out()
    last = names[-1].partition(".")[0]
    first = next(k for k, name in enumerate(names) if name.partition(".")[0] == last)
    return slice(first, len(names))


def _cell(one: Measured, files: list[Path]) -> Cell:
    """The same network as in table 3, with its settings, whose units are looked at."""
    before = one.cell
    return Cell(
        NAME,
        before.dataset,
        before.name,
        before.title,
        before.method,
        lambda found, seed: one.settings(seed),
        keep=before.keep,
        probe=partial(_probe, files),
    )


def _probe(files: list[Path], model: Any, context: RunContext) -> Mapping[str, Any]:
    """The scores of a network's top units, by each file of vectors."""
    dataset = context.dataset
    X, columns = dataset.train.X, top_columns(model)
    starts = range(0, X.shape[0], _ROWS)
    activations = [model.transform(X[start : start + _ROWS])[:, columns] for start in starts]
    words = top_words(np.concatenate(activations), X, dataset.feature_names)
    scores, known = {}, {}
    for file in files:
        vectors = load_vectors(file, dataset.feature_names)
        # a network pruned to little may have no unit left that moves
        value = interpretability_score(words, vectors)
        scores[file.name] = value if np.isfinite(value) else None
        known[file.name] = len(vectors) / dataset.n_features
    return {"interpretability": scores, "known_words": known, "n_units": len(words)}


def _scored_by(own: Sequence[Measured]) -> list[str]:
    """Names of the files of vectors by which the networks of a data set were scored."""
    found = [set(r.extra.get("interpretability", {})) for one in own for r in one.results]
    return sorted(set[str]().union(*found))


def _scores(results: Sequence[Result], file: str) -> list[float]:
    found = [result.extra.get("interpretability", {}).get(file) for result in results]
    return [score for score in found if score is not None]


def paper_score(one: Measured, file: str) -> float | None:
    """The paper's score, which is by the vectors of Google News: no other vectors' can be compared with it."""
    known = paper.INTERPRETABILITY.get(one.cell.dataset, {})
    name = one.cell.name
    if "googlenews" not in file.lower() or not (name == "fnn" or name.endswith("-paper")):
        return None
    return known.get(name.removesuffix("-paper"))


def _dot(one: Measured, scores: Sequence[float], file: str) -> figures.Dot:
    found = spread(scores)
    mean, sd = (float("nan"), None) if found is None else found[:2]
    kind = table3.kind_of_wiring(one.cell.name)
    return figures.Dot(one.cell.title, mean, sd, paper_score(one, file), kind)


def _rows(
    one: Measured, scores: Mapping[str, list[float]], file: str
) -> tuple[render.Row, render.Row]:
    """A method's line for the page and for programs."""
    name, extra = one.cell.name, one.results[0].extra
    own, reference = scores[name], scores.get(table3.REFERENCE, [])
    found = spread(own)
    against = None
    if name != table3.REFERENCE and own and len(own) == len(reference):
        against = paired_seeds(own, reference)
    beside = paper_score(one, file)
    page = [
        one.cell.title,
        render.shown(found, "auc"),
        "–" if beside is None else f"{beside:.4f}",
        "–" if against is None else render.difference(against.difference, "auc"),
        "–" if against is None else render.p_value(against.p),
        extra["n_units"],
        f"{100 * extra['known_words'][file]:.1f} %",
    ]
    values = [
        one.cell.dataset,
        file,
        name,
        len(own),
        *((None, None) if found is None else found[:2]),
        beside,
        *((None, None) if against is None else against[:2]),
        extra["n_units"],
    ]
    return page, ["" if value is None else value for value in values]


#: Sogou's words are pinyin, which the vectors do not know; the paper leaves it out too.
INTERPRETABILITY = Experiment(
    NAME,
    "Table 4: interpretability",
    tuple(name for name in paper.TEXT_DATASETS if name != "sogou_news"),
    make,
    runner=CountsRunner,
)
