"""The paper's figure of MNIST: which pixels the first levels of the skeleton put together."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduce import render
from reproduce.experiment import Experiment, Request
from reproduce.runner import Runner
from reproduce.runs import Result, Run, versions
from reproduce.stats import spread
from tsenet.errors import DataError

if TYPE_CHECKING:
    from reproduce.dataset_context import DatasetContext
    from tsenet import LatentTree

__all__ = ["FIGURE_MNIST"]

NAME = "figure-mnist"
_LEVELS = 3  # as many as the paper shows
_SETTINGS = {"max_top": 10}


def make(runner: Runner, request: Request, progress: Any = None) -> render.ExperimentReport:
    """Learn trees of images and draw their partitions of the pixels."""
    paragraphs, rows, pictures, all_results = [_INTRODUCTION], [], {}, []
    for name in request.datasets:
        runs = [
            Run(NAME, name, "tree", _SETTINGS, seed, quick=runner.quick is not None)
            for seed in runner.seeds
        ]
        results = runner.results(runs, _measure, progress)
        if not results:
            continue
        all_results += results
        levels = [
            [
                level,
                n_groups,
                result.extra["connected"][level - 1],
                result.extra["shuffled"][level - 1],
                seed,
            ]
            for seed, result in enumerate(results)
            for level, n_groups in enumerate(result.extra["groups"], 1)
        ]
        rows += [[name, seed, level, n, share, chance] for level, n, share, chance, seed in levels]
        page = []
        for level in sorted({line[0] for line in levels}):
            own = [line for line in levels if line[0] == level]
            counts = ", ".join(str(line[1]) for line in own)
            shares = (render.shown(spread([line[k] for line in own]), "accuracy") for k in (2, 3))
            page.append([level, counts, *shares])
        paragraphs += [f"## {name}", render.markdown_table(_HEAD, page)]
        # without the data set the picture stays as it is
        pictures[f"-{name}"] = _picture(runner.context(name)) if runner.execute else None
    paragraphs.append("## Where the figures come from")
    paragraphs.append(
        render.origin(all_results, [f"{len(all_results)} trees."], request.command, runner.skipped)
    )
    return render.ExperimentReport(
        name=NAME + ("-quick" if runner.quick else ""),
        title="Groups of pixels",
        paragraphs=tuple(paragraphs),
        csv={"": (_CSV_HEAD, rows)},
        figures=pictures,
        results=tuple(all_results),
    )


_INTRODUCTION = (
    "A skeleton is learned from images; it is not told where a pixel lies. Each level parts the pixels that vary into "
    "groups. *Connected* is the share of the pixels that lie in the largest connected part of their group; *by chance* "
    "is the same with the pixels shuffled."
)
_HEAD = ("level", "groups", "connected", "by chance")
_CSV_HEAD = ("dataset", "seed", "level", "groups", "connected", "connected_by_chance")


def image_shape(n_pixels: int) -> tuple[int, int]:
    """Rows and columns of a square image."""
    side = math.isqrt(n_pixels)
    if side * side != n_pixels:
        raise DataError(f"{n_pixels} features are not the pixels of a square image")
    return side, side


def _measure(run: Run, shared: DatasetContext) -> Result:
    from tsenet.explain.plots import connected_share, pixel_groups

    began = time.perf_counter()
    tree, cost = shared.tree(run.seed, **run.settings)
    shape = image_shape(tree.n_observed)
    rng = np.random.default_rng(run.seed)
    groups, connected, shuffled = [], [], []
    for level in _shown_levels(tree):
        image = pixel_groups(tree, shape, level)
        mixed = image.copy()
        mixed[image >= 0] = rng.permutation(image[image >= 0])
        groups.append(int(np.unique(image[image >= 0]).size))
        connected.append(connected_share(image))
        shuffled.append(connected_share(mixed))
    extra = {"groups": groups, "connected": connected, "shuffled": shuffled}
    return Result(None, None, 0, cost, time.perf_counter() - began, versions(), extra)


def _shown_levels(tree: LatentTree) -> range:
    return range(1, min(_LEVELS, tree.n_levels) + 1)


def _picture(shared: DatasetContext) -> Any:
    from matplotlib.figure import Figure

    from tsenet.explain.plots import plot_pixel_groups

    tree, _ = shared.tree(0, **_SETTINGS)
    levels = _shown_levels(tree)
    figure = Figure(figsize=(3.2 * len(levels), 3.6), layout="constrained")
    axes = figure.subplots(1, len(levels), squeeze=False)[0]
    plot_pixel_groups(tree, image_shape(tree.n_observed), levels, axes)
    return figure


FIGURE_MNIST = Experiment(NAME, "Groups of pixels", ("mnist",), make)
