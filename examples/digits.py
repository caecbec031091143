"""Learn a latent tree from images of digits, draw its groups of pixels, and train the network it becomes.

Run it with ``python examples/digits.py``. It uses public names of tsenet only. The tree is learned
from a plain table of pixels: nothing says where in the image a column lies. That its groups are connected patches is
therefore a finding, not an assumption.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy import ndimage
from sklearn.datasets import load_digits

import tsenet
from tsenet.explain.plots import plot_pixel_groups
from tsenet.progress import BarProgress

SHAPE = (8, 8)
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
    """Learn the tree, show and draw it, then train its network."""
    X, y = load_digits(return_X_y=True)
    test = np.arange(len(X)) % 5 == 4  # every fifth image is held out
    console.print(f"[bold]scikit-learn's digits[/bold]: {(~test).sum():,} images of 64 pixels\n")
    with BarProgress() as progress:
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
        train_network(console, X, y, test, out)


def show_groups(console: Console, tree: tsenet.LatentTree) -> None:
    """Print each level's groups as letters, and how many of their pixels are connected."""
    rng = np.random.default_rng(0)
    for level in range(1, tree.n_levels + 1):
        groups = tree.ancestors(level).reshape(SHAPE)
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


def connected_share(groups: NDArray[np.int64]) -> float:
    """Share of the pixels that lie in the largest connected part of their group; −1 is in no group."""
    inside = largest = 0
    for group in np.unique(groups[groups >= 0]):
        sizes = np.bincount(ndimage.label(groups == group)[0].ravel())[1:]
        inside += int(sizes.sum())
        largest += int(sizes.max())
    return largest / inside if inside else 1.0


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
        "Pixels of one group share a colour, hatched pixels never vary. "
        "Pixel positions were not used.",
        fontsize=9,
    )
    figure.savefig(path, format="png", dpi=160)


def train_network(
    console: Console, X: NDArray[Any], y: NDArray[Any], test: NDArray[np.bool_], out: Path
) -> None:
    """Train the network of the digits, and write it as a page to explore."""
    # Level 2 of the picture is too narrow for ten classes: this network ends below it.
    model = tsenet.TSENetClassifier(max_top=30, random_state=0).fit(X[~test], y[~test])
    console.print(
        f"The network over these groups: [bold]{model.score(X[test], y[test]):.1%}[/bold] of held-out images right, "
        f"{model.n_parameters_:,} parameters.\n"
    )
    page = out / "digits.html"
    model.report(page, X[~test], y[~test])
    console.print(f"What each of its units means: open [bold]{page}[/bold]\n", soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
