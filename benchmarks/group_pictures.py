"""The two pictures of docs/results/groups.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.report import PAGES

if TYPE_CHECKING:
    from benchmarks.groups import Comparison, Grouping

IMAGES = PAGES.parent / "images"
# Okabe and Ito's orange and blue: told apart by every kind of colour vision, and in grey.
LOOK = {False: ("#E69F00", "without the test"), True: ("#0072B2", "with the test")}
STEPS = (("found", "islands as found"), ("final", "groups in the tree"))
LARGEST = 40


def draw(results: list[Comparison]) -> None:
    """Histograms of group sizes and of mean NPMI, a panel for each corpus and step."""
    IMAGES.mkdir(exist_ok=True)
    _picture(results, "group-sizes.png", _sizes, "words in the group", "share of words")
    _picture(results, "group-npmi.png", _coherence, "mean NPMI of the group", "share of words")


def _picture(results: list[Comparison], file: str, panel: Any, x_label: str, y_label: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    titles = list(dict.fromkeys(result.title for result in results))
    axes = figure.subplots(2, len(titles), sharex=True, sharey="row")
    for column, title in enumerate(titles):
        for row, (step, words) in enumerate(STEPS):
            axis = axes[row, column]
            for result in results:
                if result.title == title:
                    colour, label = LOOK[result.tested]
                    panel(axis, getattr(result, step), result.tested, colour, label)
            axis.set_title(f"{title}: {words}", fontsize=11)
            axis.spines[["top", "right"]].set_visible(False)
            axis.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    for axis in axes[-1]:
        axis.set_xlabel(x_label)
    for axis in axes[:, 0]:
        axis.set_ylabel(y_label)
    axes[0, 0].legend(frameon=False)
    figure.savefig(IMAGES / file, dpi=110, metadata={"Software": None})


def _sizes(axis: Any, grouping: Grouping, tested: bool, colour: str, label: str) -> None:
    """Share of all words that sit in groups of each size; the last bar holds all larger ones."""
    sizes = np.minimum(grouping.sizes, LARGEST)
    share = np.bincount(sizes, weights=grouping.sizes, minlength=LARGEST + 1) / grouping.n_words
    shift = 0.21 if tested else -0.21
    axis.bar(np.arange(share.size) + shift, share, 0.42, color=colour, label=label)
    axis.set_xlim(0.4, LARGEST + 0.8)
    axis.set_xticks(
        [2, 5, 10, 15, 20, 30, LARGEST], ["2", "5", "10", "15", "20", "30", f"{LARGEST}+"]
    )


def _coherence(axis: Any, grouping: Grouping, tested: bool, colour: str, label: str) -> None:
    """Share of all words that sit in groups of each mean NPMI."""
    real = grouping.sizes > 1
    weights = grouping.sizes[real] / grouping.n_words
    edges = np.linspace(-1, 1, 41)
    axis.hist(grouping.npmi[real], edges, weights=weights, color=colour, alpha=0.35)
    style = "-" if tested else "--"
    axis.hist(
        grouping.npmi[real], edges, weights=weights, histtype="step", color=colour, lw=1.8, ls=style, label=label
    )  # fmt: skip
    axis.axvline(0, color="0.6", lw=0.8)
