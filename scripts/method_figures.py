"""Draw the figures of ``docs/method/overview.md``: each stage of the method on scikit-learn's digits.

``make figures`` runs this. Everything drawn is computed here from the images; nothing is a sketch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import tsenet
from tsenet.explain import describe_units
from tsenet.explain.plots import plot_pixel_groups, plot_receptive_field

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "method"
SHAPE = (8, 8)
N_TRAIN = 1300
INK, TEAL, ORANGE = "#26323c", "#00796b", "#d55e00"
Floats = NDArray[np.float64]


def conditional_information(
    a: NDArray[np.bool_], b: NDArray[np.bool_], given: NDArray[np.bool_]
) -> float:
    """Empirical Î(a; b | given) of three binary columns, in nats."""
    total = 0.0
    for z in (False, True):
        rows = given == z
        for x, y in ((False, False), (False, True), (True, False), (True, True)):
            joint = (rows & (a == x) & (b == y)).mean()
            if joint > 0:
                apart = (rows & (a == x)).mean() * (rows & (b == y)).mean()
                total += joint * np.log(joint * rows.mean() / apart)
    return float(total)


def information(on: NDArray[np.bool_]) -> Floats:
    """Mutual information of all pairs of columns, in nats; shape (V, V)."""
    nothing = np.zeros(len(on), bool)
    size = on.shape[1]
    pairs = np.zeros((size, size))
    for i in range(size):
        for j in range(i):
            pairs[i, j] = pairs[j, i] = conditional_information(on[:, i], on[:, j], nothing)
    return pairs


def plain(axes: Any, title: str) -> None:
    """No ticks, a title."""
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=10, color=INK)


def save(figure: Figure, name: str) -> None:
    """Write a figure, small enough for a page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.png"
    figure.savefig(path, dpi=110, pil_kwargs={"optimize": True})
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", flush=True)


def panels(n: int, height: float = 2.9) -> tuple[Figure, Any]:
    """A row of n square panels."""
    figure = Figure(figsize=(2.7 * n, height), layout="constrained")
    return figure, figure.subplots(1, n)


def draw_information(tree: tsenet.LatentTree, X: Floats) -> None:
    """Stage 1: the information of three pixels with all others."""
    on = tree.binary(X).to_dense()
    pairs = information(on)
    figure, axes = panels(4)
    axes[0].imshow(on[0].reshape(SHAPE), cmap="Greys")
    plain(axes[0], "x of one row: pixel on or off")
    for panel, pixel in zip(axes[1:], (20, 34, 59), strict=True):
        panel.imshow(pairs[pixel].reshape(SHAPE), cmap="GnBu", vmin=0, vmax=pairs.max())
        panel.plot(pixel % 8, pixel // 8, "s", color=ORANGE, markersize=9)
        plain(panel, f"I(x; x{pixel}), all pixels x")
    save(figure, "1-information")


def draw_islands(tree: tsenet.LatentTree) -> None:
    """Stage 2: how often groups of each size occur, and the groups themselves."""
    figure, axes = panels(2, 3.2)
    plot_pixel_groups(tree, SHAPE, [1], [axes[0]])
    sizes = np.bincount([len(group) for group in tree.groups(1)])
    axes[1].bar(np.arange(len(sizes)), sizes, color=TEAL)
    axes[1].set(xlabel="pixels in a group", ylabel="groups", xlim=(0.4, len(sizes)))
    axes[1].spines[["top", "right"]].set_visible(False)
    save(figure, "2-islands")


def painted(tree: tsenet.LatentTree, level: int, values: Floats) -> Floats:
    """One value for each latent of a level, on the pixels below it; NaN where there is none."""
    above = tree.ancestors(level)
    return np.where(above >= 0, values[above], np.nan).reshape(SHAPE)


def draw_completion(tree: tsenet.LatentTree, X: Floats) -> None:
    """Stage 3: two images, and P(latent on | image) painted on the pixels of each latent."""
    levels = range(1, tree.n_levels + 1)
    figure = Figure(figsize=(2.7 * (tree.n_levels + 1), 5.4), layout="constrained")
    axes = figure.subplots(2, tree.n_levels + 1)
    posterior = tree.posterior(X[:12])
    starts = np.cumsum([0, *tree.layer_sizes[1:]])
    image: Any = None
    for row, number in enumerate((0, 4)):
        axes[row, 0].imshow(X[number].reshape(SHAPE), cmap="Greys")
        plain(axes[row, 0], "image")
        for level in levels:
            values = posterior[number, starts[level - 1] : starts[level]]
            panel = axes[row, level]
            image = panel.imshow(painted(tree, level, values), cmap="GnBu", vmin=0, vmax=1)
            plain(panel, f"P(Y = 1 | image), level {level}")
    figure.colorbar(image, ax=axes[:, -1], shrink=0.6)
    save(figure, "3-completion")


def draw_expansion(tree: tsenet.LatentTree, wiring: tsenet.Wiring, X: Floats) -> None:
    """Stage 4: for three latents, Î(V; x | Z) of every pixel x, tree links and added links."""
    completed = tree.complete(X)
    lower, upper = completed[0].to_dense(), completed[1].to_dense()
    parent = tree.ancestors(1)
    layer = wiring.layers[0]
    figure, axes = panels(3, 3.4)
    for panel, latent in zip(axes, widest(tree, 3), strict=True):
        values = np.full(lower.shape[1], np.nan)
        for pixel in np.flatnonzero((parent >= 0) & (parent != latent)):
            values[pixel] = conditional_information(
                upper[:, latent], lower[:, pixel], upper[:, parent[pixel]]
            )
        panel.imshow(values.reshape(SHAPE), cmap="GnBu")
        links = slice(layer.indptr[latent], layer.indptr[latent + 1])
        for marked, mark, colour in ((True, "s", INK), (False, "o", ORANGE)):
            pixels = layer.indices[links][layer.from_tree[links] == marked]
            panel.plot(pixels % 8, pixels // 8, mark, color=colour, markersize=8, mfc="none", mew=2)
        plain(panel, f"Î({tree.names[tree.n_observed + latent]}; x | Z)")
    figure.supxlabel("squares: links of the tree; circles: added links", fontsize=10, color=INK)
    save(figure, "4-expansion")


def widest(tree: tsenet.LatentTree, n: int) -> list[int]:
    """The latents of level 1 with the most pixels."""
    return np.argsort([-len(group) for group in tree.groups(1)], kind="stable")[:n].tolist()


def draw_network(model: tsenet.TSENetClassifier, X: Floats) -> None:
    """Stage 5: what three latents respond to after training."""
    units = describe_units(model, X, n_features=64)
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    for latent, panel in enumerate(figure.subplots(1, 3)):
        plot_receptive_field(units, f"Z1.{latent + 1}", SHAPE, ax=panel)
    save(figure, "5-units")


def draw_training(model: tsenet.TSENetClassifier) -> None:
    """Stage 6: the losses."""
    figure = Figure(figsize=(6.5, 3.2), layout="constrained")
    axes, history = figure.subplots(), model.history_
    axes.plot(history.train_loss, label="training, with dropout")
    axes.plot(history.validation_loss, label="validation")
    axes.axvline(
        history.best_epoch or 0, color="grey", linestyle=":", label="the epoch that was kept"
    )
    axes.set(xlabel="epoch", ylabel="loss")
    axes.legend(frameon=False)
    save(figure, "6-training")


def main() -> None:
    """Learn a tree, its wiring and its network, and draw each stage."""
    X, y = load_digits(return_X_y=True)
    tree = tsenet.learn_tree(X[:N_TRAIN], max_top=6, random_state=0)
    wiring = tsenet.expand(tree, X[:N_TRAIN], density=0.2, link_rule="top-k")
    model = tsenet.TSENetClassifier(max_top=6, max_epochs=30, random_state=0)
    model.fit(X[:N_TRAIN], y[:N_TRAIN], eval_set=(X[N_TRAIN:], y[N_TRAIN:]))
    print(tree, wiring.layers[0], f"accuracy {model.score(X[N_TRAIN:], y[N_TRAIN:]):.3f}", sep="\n")
    draw_information(tree, X[:N_TRAIN])
    draw_islands(tree)
    draw_completion(tree, X)
    draw_expansion(tree, wiring, X[:N_TRAIN])
    draw_network(model, X[:N_TRAIN])
    draw_training(model)


if __name__ == "__main__":
    main()
