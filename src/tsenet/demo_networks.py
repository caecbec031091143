"""The second half of the demo: four networks on the digits, trained alike, in one table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean, pstdev
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet.baselines.fnn import FNN
from tsenet.data.scaling import Scaling
from tsenet.data.table import Table
from tsenet.expansion.expand import expand
from tsenet.network.batches import Inputs
from tsenet.network.tsenet import TSENet
from tsenet.progress import Progress, RichProgress
from tsenet.skeleton.hlta import learn_tree
from tsenet.training.engine import AutogradEngine, Engine
from tsenet.training.fused import FusedEngine
from tsenet.training.loop import Validation, train
from tsenet.training.losses import MulticlassLoss
from tsenet.training.options import TrainingOptions
from tsenet.training.split import split_rows

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from tsenet.skeleton.tree import LatentTree

__all__ = ["Result", "compare", "results_table", "show_networks"]

SEEDS = (0, 1, 2)
OPTIONS = TrainingOptions(learning_rate=1e-3, batch_size=64, max_epochs=100, patience=5)
DENSITY = 0.2  # 64 pixels are few: at the default density a unit would read three of them
DROPOUT = 0.2
# The picture's top level is too narrow for ten classes: the network ends with the level below it.
MAX_TOP = 30
_REPEATS = 20


@dataclass(frozen=True)
class Result:
    """How one network did: an accuracy on the held-out rows and training seconds for each seed."""

    name: str
    n_parameters: int
    accuracy: tuple[float, ...]
    seconds: tuple[float, ...]
    inference_seconds: float  # for 1,000 rows


@dataclass(frozen=True)
class Digits:
    """The rows as networks read them, and their classes."""

    inputs: Inputs
    labels: NDArray[np.int64]
    held_out: Inputs
    held_out_labels: NDArray[np.int64]
    n_classes: int


def show_networks(
    train_rows: NDArray[Any],
    train_labels: NDArray[np.int64],
    held_out_rows: NDArray[Any],
    held_out_labels: NDArray[np.int64],
    console: Console,
) -> None:
    """Train the network the tree becomes, and three to compare it with; print a table."""
    console.print("Now the labels: the tree becomes a network, and three others learn beside it.")
    with RichProgress() as progress:
        tree = learn_tree(train_rows, max_top=MAX_TOP, random_state=0, progress=progress)
        results = compare(tree, train_rows, train_labels, held_out_rows, held_out_labels, progress)
    console.print()
    console.print(results_table(results))
    console.print(
        f"[dim]Accuracy: held-out images, mean and deviation of {len(SEEDS)} seeds; density and dropout were chosen "
        "while looking at these images, so this is a demonstration, not evidence. Training: until a tenth of the "
        "training images, the same for all, is no longer predicted better. Inference: 1,000 images.[/dim]"
    )


def compare(
    tree: LatentTree,
    train_rows: NDArray[Any],
    train_labels: NDArray[np.int64],
    held_out_rows: NDArray[Any],
    held_out_labels: NDArray[np.int64],
    progress: Progress,
) -> list[Result]:
    """Train TSE-Net, its Backbone, the same with random links, and a dense FNN, with the same loop and rows."""
    table = Table.of(train_rows)
    scaling = Scaling.learn(table)
    data = Digits(
        Inputs.of(scaling.apply(table), tree.rule),
        train_labels,
        Inputs.of(scaling.apply(Table.of(held_out_rows)), tree.rule),
        held_out_labels,
        int(train_labels.max()) + 1,
    )
    n_inputs, n_classes = data.inputs.n_columns, data.n_classes
    wiring = expand(tree, table, density=DENSITY, progress=progress)
    by_chance = expand(
        tree, table, density=DENSITY, link_rule="random", random_state=0, progress=progress
    )

    def fused(net: TSENet, seed: int) -> Engine:
        return FusedEngine(net, data.inputs, MulticlassLoss(n_classes), seed=seed)

    def tse_net(seed: int) -> tuple[Any, Engine]:
        net = TSENet(wiring, n_classes, dropout=DROPOUT, seed=seed)
        return net, fused(net, seed)

    def backbone(seed: int) -> tuple[Any, Engine]:
        net = TSENet(wiring, n_classes, skip_units=0, dropout=DROPOUT, seed=seed)
        return net, fused(net, seed)

    def random_links(seed: int) -> tuple[Any, Engine]:
        net = TSENet(by_chance, n_classes, dropout=DROPOUT, seed=seed)
        return net, fused(net, seed)

    def dense(seed: int) -> tuple[Any, Engine]:
        net = FNN(n_inputs, n_classes, dropout=DROPOUT, seed=seed)
        return net, AutogradEngine(net, data.inputs, MulticlassLoss(n_classes), seed=seed)

    return [
        _result(name, make, data, progress)
        for name, make in (
            ("TSE-Net", tse_net),
            ("Backbone (no skip-paths)", backbone),
            ("TSE-Net, random links", random_links),
            ("Dense FNN 512-512", dense),
        )
    ]


def _result(
    name: str,
    make: Callable[[int], tuple[Any, Engine]],
    data: Digits,
    progress: Progress,
) -> Result:
    """Train a network once for each seed."""
    rows = np.arange(len(data.held_out), dtype=np.int64)
    accuracy, seconds = [], []
    for seed in SEEDS:
        net, engine = make(seed)
        kept, out = split_rows(len(data.inputs), 0.1, seed, data.labels)
        started = time.perf_counter()
        train(
            engine,
            kept,
            data.labels[kept],
            validation=Validation(data.inputs, out, data.labels[out]),
            options=OPTIONS,
            progress=_Named(progress, f"{name} {seed + 1}/{len(SEEDS)}"),
            seed=seed,
        )
        seconds.append(time.perf_counter() - started)
        predicted = engine.outputs(data.held_out, rows).argmax(axis=1)
        accuracy.append(float((predicted == data.held_out_labels).mean()))
    times = []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        engine.outputs(data.held_out, rows)
        times.append(time.perf_counter() - started)
    per_thousand = min(times) * 1000 / rows.size
    return Result(name, net.n_parameters, tuple(accuracy), tuple(seconds), per_thousand)


class _Named(Progress):
    """Progress of a stage under another name."""

    def __init__(self, report: Progress, name: str) -> None:
        self._report = report
        self._name = name

    def start(self, stage: str, total: int | None = None) -> None:
        """Open the stage under its new name."""
        self._report.start(self._name, total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Pass on."""
        self._report.advance(steps, note)

    def finish(self, note: str = "") -> None:
        """Pass on."""
        self._report.finish(note)


def results_table(results: list[Result]) -> RenderableType:
    """The results, a line for each network."""
    from rich.table import Table as Lines

    lines = Lines(box=None, pad_edge=False, header_style="bold")
    lines.add_column("Network")
    for heading in ("Accuracy", "Parameters", "Training", "Inference"):
        lines.add_column(heading, justify="right")
    for result in results:
        lines.add_row(
            result.name,
            f"{mean(result.accuracy):.1%} ± {pstdev(result.accuracy):.1%}",
            f"{result.n_parameters:,}",
            f"{mean(result.seconds):.2f} s",
            f"{1000 * result.inference_seconds:.2f} ms",
        )
    return lines
