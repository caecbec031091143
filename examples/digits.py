"""Learn a latent tree from images of digits, draw its groups of pixels, and train the network it becomes.

Run it with ``make demo`` or ``python examples/digits.py``. It uses public names of tsenet only. The tree is learned
from a plain table of pixels: nothing says where in the image a column lies. That its groups are connected patches is
therefore a finding, not an assumption.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import tsenet
from tsenet.baselines import DenseClassifier, random_wiring
from tsenet.explain.plots import connected_share, pixel_groups, plot_pixel_groups
from tsenet.progress import RichProgress

SHAPE = (8, 8)
SEEDS = (0, 1, 2)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the example; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--out", type=Path, default=Path("demo"), help="folder for the picture and the page"
    )
    parser.add_argument("--structure-only", action="store_true", help="train no networks")
    chosen = parser.parse_args(arguments)
    console = Console(highlight=False)
    try:
        run(console, chosen.out, with_networks=not chosen.structure_only)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (tsenet.TSENetError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def run(console: Console, out: Path, *, with_networks: bool) -> None:
    """Learn the tree, show and draw it, then compare networks."""
    X, y = load_digits(return_X_y=True)
    test = np.arange(len(X)) % 5 == 4  # every fifth image is held out
    console.print(f"[bold]scikit-learn's digits[/bold]: {(~test).sum():,} images of 64 pixels\n")
    with RichProgress() as progress:
        progress.start("compiling", None)  # seconds the first time, later read from a cache
        tsenet.warmup()
        tree = tsenet.learn_tree(X[~test], max_top=10, random_state=0, progress=progress)
    sizes = " – ".join(map(str, tree.layer_sizes))
    console.print(f"Learned [bold]{sizes}[/bold]: pixels, then the latents of each level.\n")
    show_groups(console, tree)
    console.print(
        f"Log-likelihood of a held-out image: [bold]{tree.log_likelihood(X[test]).mean():.2f}[/bold] with the tree, "
        f"{independent_likelihood(tree, X, test):.2f} with independent pixels.\n"
    )
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "digits-groups.png"
    draw(tree, X[~test].mean(axis=0).reshape(SHAPE), picture)
    console.print(f"Picture of the groups: [bold]{picture}[/bold]\n", soft_wrap=True)
    if with_networks:
        compare_networks(console, X, y, test, out)


def show_groups(console: Console, tree: tsenet.LatentTree) -> None:
    """Print each level's groups as letters, and how many of their pixels are connected."""
    rng = np.random.default_rng(0)
    for level in range(1, tree.n_levels + 1):
        groups = pixel_groups(tree, SHAPE, level)
        shuffled = groups.copy()
        shuffled[groups >= 0] = rng.permutation(groups[groups >= 0])
        console.print(
            f"[bold]Level {level}[/bold]: {groups.max() + 1} groups; {connected_share(groups):.0%} of the pixels are "
            f"connected with their group, {connected_share(shuffled):.0%} if pixels are shuffled"
        )
        for row in groups.tolist():
            console.print(
                "  " + " ".join(LETTERS[g % len(LETTERS)] if g >= 0 else "·" for g in row)
            )
    console.print("[dim]One letter is one group; a dot is a pixel that never varies.[/dim]\n")


def independent_likelihood(
    tree: tsenet.LatentTree, X: NDArray[Any], test: NDArray[np.bool_]
) -> float:
    """Mean ln P of the held-out images if all pixels were independent."""
    train, held_out = (tree.binary(X[rows]) for rows in (~test, test))
    rate = (train.counts() + 0.5) / (train.n_rows + 1.0)
    on = held_out.counts() / held_out.n_rows
    return float(on @ np.log(rate) + (1.0 - on) @ np.log1p(-rate))


def draw(tree: tsenet.LatentTree, mean_image: NDArray[Any], path: Path) -> None:
    """Write a picture of the mean image and of the groups of the first two levels."""
    from matplotlib.figure import Figure

    levels = range(1, min(2, tree.n_levels) + 1)
    figure = Figure(figsize=(3.4 * (len(levels) + 1), 4.0), layout="constrained")
    first, *panels = figure.subplots(1, len(levels) + 1)
    first.imshow(mean_image, cmap="Greys")
    first.set(xticks=[], yticks=[], title="Mean image")
    plot_pixel_groups(tree, SHAPE, levels, panels)
    figure.supxlabel(
        "Pixels of one group share a colour, lines join its parts, hatched pixels never vary. "
        "Pixel positions were not used.",
        fontsize=9,
    )
    figure.savefig(path, format="png", dpi=160)


def compare_networks(
    console: Console, X: NDArray[Any], y: NDArray[Any], test: NDArray[np.bool_], out: Path
) -> None:
    """Train five networks with several seeds, print a table, and write the first as a page to explore."""
    # Level 2 of the picture is too narrow for ten classes: this tree ends below it.
    tree = tsenet.learn_tree(X[~test], max_top=30, random_state=0)
    wiring = tsenet.expand(tree, X[~test])
    # In the Backbone every decision goes through the latents: no other unit reads the pixels.
    backbone = partial(tsenet.TSENetClassifier, skip_units=0, linear_skip=False, n_jobs=1)
    dense = partial(DenseClassifier, dropout=0.2, n_jobs=1)
    networks: dict[str, Callable[[int], Any]] = {
        "TSE-Net, skip paths": lambda seed: tsenet.TSENetClassifier(
            wiring=wiring, skip_units=100, random_state=seed, n_jobs=1
        ),
        "Backbone, learned links": lambda seed: backbone(wiring=wiring, random_state=seed),
        "Backbone, random links": lambda seed: backbone(
            wiring=random_wiring(wiring, random_state=seed), random_state=seed
        ),
        "Dense, of the same size": lambda seed: dense(hidden=(226,), random_state=seed),
        "Dense 512-512": lambda seed: dense(hidden=(512, 512), random_state=seed),
    }
    lines = Table(box=None, pad_edge=False, header_style="bold")
    lines.add_column("Network")
    for heading in ("Accuracy", "Parameters", "Training"):
        lines.add_column(heading, justify="right")
    first: Any = None
    with RichProgress() as progress:
        progress.start("networks", len(networks) * len(SEEDS))
        for name, make in networks.items():
            scores, started = [], time.perf_counter()
            for seed in SEEDS:
                model = make(seed).fit(X[~test], y[~test])
                first = first or model
                scores.append(model.score(X[test], y[test]))
                progress.advance(note=name)
            seconds = (time.perf_counter() - started) / len(SEEDS)
            share = f"{np.mean(scores):.1%} ± {np.std(scores):.1%}"
            lines.add_row(name, share, f"{model.n_parameters_:,}", f"{seconds:.2f} s")
    console.print(lines)
    console.print(
        f"[dim]Accuracy on held-out images, mean and deviation of {len(SEEDS)} seeds. In the Backbone no unit but the "
        "latents reads pixels. Random links are as many, drawn anew for each seed.[/dim]\n"
    )
    page = out / "digits.html"
    first.report(page, X[~test], y[~test])
    console.print(
        f"What each unit of the first network means: open [bold]{page}[/bold]", soft_wrap=True
    )


if __name__ == "__main__":
    sys.exit(main())
