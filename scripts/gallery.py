"""Draw the pictures of ``docs/gallery.md`` and the README: ``make gallery``, or some of them by name.

Six need data sets that are not bundled and are skipped, with a message, where ``TSENET_DATA`` does not have them; the
picture of the explorer is skipped where there is no Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images" / "gallery"
MOST_BYTES = 200_000
INK = "#26323c"


class Skipped(Exception):  # noqa: N818 - not an error
    """What a picture needs is not here."""


def need(dataset: str) -> Any:
    """The training rows of a data set, if its files are here."""
    from reproduce.data import load
    from tsenet import DataError

    try:
        return load(dataset, "train")
    except DataError as error:
        raise Skipped(str(error)) from error


def pixel_groups(X: Any, side: int, **options: Any) -> Figure:
    """The groups of pixels at the first three levels of a tree of images."""
    import tsenet
    from tsenet.explain.plots import plot_pixel_groups

    tree = tsenet.learn_tree(X, random_state=0, **options)
    levels = range(1, min(3, tree.n_levels) + 1)
    figure = Figure(figsize=(3.2 * (len(levels) + 1), 3.6), layout="constrained")
    first, *panels = figure.subplots(1, len(levels) + 1)
    first.imshow(X.mean(axis=0).reshape(side, side), cmap="Greys")
    first.set(xticks=[], yticks=[], title="Mean image")
    plot_pixel_groups(tree, (side, side), levels, panels)
    return figure


def digits_tree() -> Figure:
    """The tree of scikit-learn's digits."""
    from sklearn.datasets import load_digits

    return pixel_groups(load_digits().data, 8, max_top=4)


def mnist_tree() -> Figure:
    """The tree of MNIST, as in the paper's figure."""
    return pixel_groups(need("mnist").X, 28, max_top=10)


def mnist_fields() -> Figure:
    """What twelve units of a network of MNIST respond to."""
    import tsenet
    from tsenet.explain import describe_units

    train = need("mnist")
    X, y = train.X[:5000], train.y[:5000]
    model = tsenet.TSENetClassifier(max_top=30, max_epochs=15, random_state=0).fit(X, y)
    units = describe_units(model, X, n_features=X.shape[1])
    names = [f"Z1.{number}" for number in range(12)]
    figure = Figure(figsize=(9, 5), layout="constrained")
    image: Any = None
    for name, axes in zip(names, figure.subplots(3, 4).ravel(), strict=True):
        unit = units[name]
        field = np.zeros(X.shape[1])
        for feature in unit.features:
            field[int(feature.name.removeprefix("x"))] = feature.correlation
        image = axes.imshow(field.reshape(28, 28), cmap="PuOr_r", vmin=-0.8, vmax=0.8)
        axes.set(xticks=[], yticks=[])
        axes.set_title(name, fontsize=9, color=INK)
    figure.colorbar(image, ax=figure.axes, label="correlation with the unit", shrink=0.6)
    return figure


@cache
def topic_model(dataset: str) -> Any:
    """The topics of a data set."""
    import tsenet

    rows = need(dataset)
    documents = rows.X if isinstance(rows.X, list) else tsenet.Table.of(rows.X, names=rows.names)
    return tsenet.TopicModel(random_state=0).fit(documents)


def hierarchy(dataset: str, **limits: int) -> Figure:
    """The top level of a data set's topics, and the topics below it."""
    from tsenet.explain.plots import plot_hierarchy

    figure = plot_hierarchy(topic_model(dataset), **limits).get_figure()
    assert isinstance(figure, Figure)
    return figure


def network() -> Figure:
    """A network on the topics of AG's News."""
    from scripts.topic_network import draw, fit

    return draw(*fit(need("ag_news")))


def explorer() -> Image.Image:
    """The explorer of the topics of 20 Newsgroups, as Chromium shows it."""
    program = shutil.which("chromium")
    if program is None:
        raise Skipped("needs Chromium")
    from playwright.sync_api import sync_playwright

    rows = need("20newsgroups")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file, picture = Path(folder) / "report.html", Path(folder) / "picture.png"
        model = topic_model("20newsgroups")
        model.report(page_file, rows.X, along=rows.y, title="20 Newsgroups", along_name="newsgroup")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(page_file.as_uri(), timeout=120_000)
        page.locator(".map .cell").first.wait_for(timeout=60_000)
        page.screenshot(path=picture, timeout=60_000)
        browser.close()
        return Image.open(picture).convert("RGB")


PICTURES: dict[str, Callable[[], Figure | Image.Image]] = {
    "network": network,
    "digits-tree": digits_tree,
    "mnist-tree": mnist_tree,
    "mnist-fields": mnist_fields,
    "newsgroups-map": partial(hierarchy, "20newsgroups", n_children=3),
    "newsgroups-largest": partial(hierarchy, "20newsgroups", n_topics=6, n_children=2),
    "nyt-map": partial(hierarchy, "nyt", n_children=3),
    "explorer": explorer,
}


def write(picture: Figure | Image.Image, path: Path) -> int:
    """Write a picture with as few colours as it needs; return its size in bytes."""
    if isinstance(picture, Figure):
        picture.savefig(path, dpi=110)
        picture = Image.open(path).convert("RGB")
    picture.quantize(255, dither=Image.Dither.NONE).save(path, optimize=True)
    return path.stat().st_size


def main() -> None:
    """Draw the pictures named on the command line, or all."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the gallery.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args().names or list(PICTURES)
    if unknown := [name for name in names if name not in PICTURES]:
        parser.error(f"no picture {unknown[0]!r}: choose of {', '.join(PICTURES)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names:
        try:
            size = write(PICTURES[name](), FOLDER / f"{name}.png")
        except Skipped as reason:
            print(f"{name}: skipped, {reason}", flush=True)
            continue
        if size > MOST_BYTES:
            raise SystemExit(f"{name}.png has {size:,} bytes, more than {MOST_BYTES:,}")
        print(f"{name}.png: {size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
