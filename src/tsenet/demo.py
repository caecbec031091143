"""``make demo``: learn the tree of images of digits, draw its pixel groups, train the network it becomes.

The tree never learns where a pixel lies, so groups that come out in one piece are a finding, not an assumption
(the paper's MNIST figure, §6).
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import tsenet
from tsenet._system.atomic import atomic_write
from tsenet.errors import DataError, TSENetError
from tsenet.explain.plots import (
    PALETTE,
    connected_share,
    group_colours,
    pixel_groups,
    plot_pixel_groups,
)
from tsenet.progress import RichProgress

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from tsenet.skeleton.tree import LatentTree

__all__ = ["Images", "digits", "main", "mnist", "read_idx"]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_INK = "#10181f"
_SHUFFLES = 20


@dataclass(frozen=True)
class Images:
    """Images as rows of pixels, those to learn from and those held out, and how the tree of them is learned and shown.

    Attributes
    ----------
    name, title : str
        For the file and for people.
    train, held_out : ndarray, shape (N, rows · columns)
    shape : (rows, columns)
    max_top : int
        As in :func:`tsenet.learn_tree`.
    n_drawn : int
        At most so many levels are drawn.
    labels, held_out_labels : ndarray of int64, or None
        Which digit each image shows; without them no networks are trained.
    """

    name: str
    title: str
    train: NDArray[Any]
    held_out: NDArray[Any]
    shape: tuple[int, int]
    max_top: int
    n_drawn: int
    labels: NDArray[np.int64] | None = None
    held_out_labels: NDArray[np.int64] | None = None


def digits() -> Images:
    """scikit-learn's bundled digits, 8 × 8 pixels of 17 greys; every fifth image is held out."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    held_out = np.arange(len(pixels)) % 5 == 4
    return Images(
        "digits",
        "scikit-learn's digits",
        pixels[~held_out],
        pixels[held_out],
        (8, 8),
        max_top=10,
        n_drawn=2,
        labels=labels[~held_out],
        held_out_labels=labels[held_out],
    )


def mnist(folder: Path) -> Images:
    """MNIST from its idx files: 60,000 images to learn from, 10,000 held out."""
    train = read_idx(folder / "train-images-idx3-ubyte.gz")
    held_out = read_idx(folder / "t10k-images-idx3-ubyte.gz")
    rows, columns = train.shape[1:]
    return Images(
        "mnist",
        "MNIST",
        train.reshape(len(train), -1),
        held_out.reshape(len(held_out), -1),
        (rows, columns),
        max_top=30,
        n_drawn=3,  # as in the paper's figure
    )


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read a gzipped idx file of bytes, such as MNIST's: (images, rows, columns).

    Raises
    ------
    DataError
        If the file is not there, damaged, or something else.
    """
    try:
        raw = gzip.decompress(path.read_bytes())
    except FileNotFoundError as error:
        raise DataError(f"there is no file {path}") from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path} is damaged or not gzipped: {error}") from error
    # Two zeros, 8 for bytes, 3 for the number of dimensions; then each length as a big-endian int32.
    if len(raw) < 16 or raw[:4] != b"\0\0\x08\x03":
        raise DataError(f"{path} is not an idx file of images")
    shape = np.frombuffer(raw[4:16], ">i4").tolist()
    if len(raw) != 16 + np.prod(shape):
        raise DataError(f"{path} holds {len(raw) - 16} bytes, not the {shape} its head promises")
    return np.frombuffer(raw, np.uint8, offset=16).reshape(shape)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tsenet.demo",
        description="Learn the latent tree of images of digits, draw its groups, train its network.",
    )
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the picture")
    parser.add_argument(
        "--mnist",
        action="store_true",
        help="use MNIST instead: its idx files in the folder mnist under TSENET_DATA",
    )
    parser.add_argument(
        "--structure-only", action="store_true", help="train no networks (MNIST: none in any case)"
    )
    chosen = parser.parse_args(arguments)
    try:
        images = _mnist_at_hand() if chosen.mnist else digits()
        _run(images, chosen.out, with_networks=not chosen.structure_only)
    except KeyboardInterrupt:
        print("interrupted, nothing written", file=sys.stderr)
        return 130
    except (TSENetError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _mnist_at_hand() -> Images:
    data = os.environ.get("TSENET_DATA")
    if not data:
        raise DataError("set TSENET_DATA to the folder that holds mnist/ with the idx files")
    return mnist(Path(data) / "mnist")


def _run(images: Images, out: Path, with_networks: bool) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    n_images, n_pixels = images.train.shape
    console.print(
        f"[bold]{images.title}[/bold]: {n_images:,} images of {n_pixels} pixels, seen as a plain table:\n"
        "nothing says where in the image a column lies.\n"
    )
    with RichProgress() as progress:
        progress.start("compiling", None)  # seconds the first time, then read from numba's cache
        tsenet.warmup()
        progress.finish()
        started = time.perf_counter()
        tree = tsenet.learn_tree(
            images.train, max_top=images.max_top, random_state=0, progress=progress
        )
        seconds = time.perf_counter() - started
    n_constant = int((tree.ancestors(1) < 0).sum())
    console.print(
        f"\nLearned [bold]{' – '.join(map(str, tree.layer_sizes))}[/bold] in {seconds:.1f} s:\n"
        f"pixels ({n_constant} never vary), then the latents of each level, one for each group.\n"
    )
    console.print(_levels(tree, images.shape))
    console.print(
        "[dim]In one piece: pixels in the largest part of their group connected by sides.\n"
        "Shuffled: the same groups with the pixels in random order.[/dim]\n"
    )
    _say_likelihood(tree, images, console)
    if max(tree.layer_sizes[1:]) <= len(_LETTERS):
        console.print(_maps(tree, images.shape))
        console.print("[dim]One letter, one group; a dot is a pixel that never varies.[/dim]\n")
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{images.name}-groups.png"
    _draw(tree, images, path)
    console.print(f"Picture of the groups: [bold]{path}[/bold]\n", soft_wrap=True)
    if with_networks and images.labels is not None and images.held_out_labels is not None:
        # Before torch is loaded: threads that spin while they wait take the processor from each other.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        from tsenet.demo_networks import show_networks

        show_networks(images.train, images.labels, images.held_out, images.held_out_labels, console)


def _levels(tree: LatentTree, shape: tuple[int, int]) -> RenderableType:
    """A table with a line for each level: how many groups, how large, and whether in one piece."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("Level", "Groups", "Pixels each", "In one piece", "Shuffled"):
        table.add_column(heading, justify="right")
    rng = np.random.default_rng(0)
    for level in range(1, tree.n_levels + 1):
        groups = pixel_groups(tree, shape, level)
        placed = groups >= 0
        sizes = np.bincount(groups[placed])
        by_chance = []
        for _ in range(_SHUFFLES):
            shuffled = groups.copy()
            shuffled[placed] = rng.permutation(groups[placed])
            by_chance.append(connected_share(shuffled))
        table.add_row(
            str(level),
            str(sizes.size),
            f"{sizes.min()} to {sizes.max()}",
            f"{connected_share(groups):.0%}",
            f"{np.mean(by_chance):.0%}",
        )
    return table


def _say_likelihood(tree: LatentTree, images: Images, console: Console) -> None:
    """Print ln P of a held-out image under the tree and under independent pixels."""
    rows = tree.binary(images.held_out)
    with_tree = float(tree.log_likelihood(rows).mean())
    seen = tree.binary(images.train)
    rate = (seen.counts() + 0.5) / (seen.n_rows + 1.0)
    on = rows.counts() / rows.n_rows
    independent = float(on @ np.log(rate) + (1.0 - on) @ np.log1p(-rate))
    console.print(
        f"Log-likelihood of a held-out image: [bold]{with_tree:.2f}[/bold] with the tree, "
        f"{independent:.2f} if pixels\nwere independent (nats, mean over {rows.n_rows:,}).\n"
    )


def _maps(tree: LatentTree, shape: tuple[int, int]) -> RenderableType:
    """The partition of each level, a letter per pixel, on the colours of the picture."""
    from rich.columns import Columns
    from rich.text import Text

    maps = []
    for level in range(1, tree.n_levels + 1):
        groups = pixel_groups(tree, shape, level)
        colours = group_colours(groups)
        drawn = Text(f"Level {level}\n", style="bold", no_wrap=True)
        for row in groups.tolist():
            for group in row:
                style = f"not bold {_INK} on {PALETTE[colours[group]]}" if group >= 0 else "dim"
                drawn.append(f" {_LETTERS[group] if group >= 0 else '·'} ", style)
            drawn.append("\n")
        maps.append(drawn)
    return Columns(maps, padding=(0, 3))


def _draw(tree: LatentTree, images: Images, path: Path) -> None:
    """Write the picture: the mean image, then the groups of each level."""
    from matplotlib.figure import Figure

    n_drawn = min(images.n_drawn, tree.n_levels)
    figure = Figure(figsize=(3.4 * (n_drawn + 1), 4.0))
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
    first, *panels = figure.subplots(1, n_drawn + 1)
    first.imshow(images.train.mean(axis=0).reshape(images.shape), cmap="Greys")
    first.set(xticks=[], yticks=[], title="Mean image")
    plot_pixel_groups(tree, images.shape, range(1, n_drawn + 1), panels)
    for panel in (first, *panels):
        panel.title.set(fontsize=12, color=_INK)
        panel.spines[:].set(color=_INK, linewidth=1.2)
    figure.supxlabel(
        f"{images.title}: pixels of one group share a colour, lines join its parts, "
        "hatched pixels never vary. Pixel positions were not used.",
        fontsize=9,
        color="#5a6570",
    )
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=160)


if __name__ == "__main__":
    sys.exit(main())
