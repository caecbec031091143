"""Training steps and inference of a TSE-Net beside dense networks, in one process, turn by turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from benchmarks.corpora import zipf_corpus
from benchmarks.measure import in_own_process, peak_bytes
from benchmarks.report import Figure, figures, table
from benchmarks.rivals import DenseNet, MaskedNet, random_wiring
from tsenet.network.batches import Inputs
from tsenet.network.tsenet import TSENet
from tsenet.training.engine import Engine
from tsenet.training.losses import MulticlassLoss

BATCH = 256
SIZES = (10_000, 1_300, 250)
TABLE_SIZES = (1_644, 700, 150)
BLOCKS = (1, 2, 8)  # units per latent
ROUNDS = 7

Step = Callable[[int], object]


def run() -> str:
    """One table for one thread and for two."""
    texts = []
    reports = {n: in_own_process("network", n_threads=n) for n in (1, 2)}
    for n, report in reports.items():
        rows = [
            Figure(what, value, target, at_least, "{:.2f}")
            for what, value, target, at_least in report["figures"]
        ]
        texts.append(f"**{n} thread{'s' if n > 1 else ''}**\n\n{figures(rows, compared='')}")
    speed_up = reports[1]["wall"] / reports[2]["wall"]
    more = figures([Figure("training, wall time of 1 thread / 2", speed_up, 1.5, True)], "")
    memory = {kind: in_own_process("network_memory", kind=kind) for kind in ("tsenet", "dense")}
    grown = {kind: report["peak"] - report["before"] for kind, report in memory.items()}
    share = Figure(
        "training memory, peak over baseline, as a share of FNN 1024-1024's",
        grown["tsenet"] / grown["dense"],
        1 / 3,
    )
    return "\n\n".join([*texts, more, figures([share], compared="")])


def growth() -> str:
    """CPU milliseconds of a training step as rows, inputs, density and depth grow."""
    cases: list[tuple[str, tuple[int, ...], float, int, int]] = [
        ("as above", SIZES, 0.05, 40, BATCH),
        ("batch × 2", SIZES, 0.05, 40, 2 * BATCH),
        ("words per row × 2", SIZES, 0.05, 80, BATCH),
        ("inputs × 2", (20_000, 1_300, 250), 0.05, 40, BATCH),
        ("density × 2", SIZES, 0.10, 40, BATCH),
        ("one layer more", (10_000, 1_300, 250, 50), 0.05, 40, BATCH),
    ]
    body = []
    for name, sizes, density, length, batch in cases:
        step, net = _tse_step(_text(sizes[0], length), random_wiring(sizes, density), batch, 1)
        cpu = _turns({"ours": step})["ours"][0]
        body.append([name, "-".join(map(str, sizes)), f"{net.n_parameters:,}", f"{1e3 * cpu:.2f}"])
    return table(["", "layers", "parameters", "CPU ms per step"], body)


def network(n_threads: int) -> dict[str, Any]:
    """The job behind :func:`run`: ratios at one number of threads."""
    torch.set_num_threads(n_threads)
    rows = _text(SIZES[0], 40)
    wiring = random_wiring(SIZES, 0.05)
    ours, net = _tse_step(rows, wiring, BATCH, n_threads)
    fnn = DenseNet(SIZES[0], (1024, 1024), 4)
    steps = {"ours": ours}
    for adam in ("torch's default Adam", "torch's fused Adam"):
        fused = "fused" in adam
        for name, rival in (
            ("FNN 1024-1024", fnn),
            ("FNN 512", DenseNet(SIZES[0], (512,), 4)),
            ("masked dense", MaskedNet(TSENet(wiring, 4))),
        ):
            steps[f"{name}, {adam}"] = _torch_step(rival, rows, BATCH, fused=fused)
    cpu = _turns(steps)
    mine = cpu["ours"][0]
    targets = {"FNN 1024-1024": 5.0, "FNN 512": 2.0, "masked dense": 20.0}
    found: list[tuple[str, float, float | None, bool]] = [
        ("training step, CPU ms", 1e3 * mine, None, False),
        ("… times the floor of its FLOPs and bytes", mine / _floor(net), 2.5, False),
    ]
    for name, (seconds, _) in cpu.items():
        if name != "ours":
            target = targets[name.partition(",")[0]]
            found.append((f"… {name}, takes ×", seconds / mine, target, True))
    for batch, target in ((1, 5.0), (512, 2.0)):
        calls = _turns(_inference_steps(net, fnn, rows, batch, n_threads), repeats=400 // batch + 4)
        ratio = calls["FNN"][0] / calls["ours"][0]
        found.append((f"inference, batch {batch}: FNN 1024-1024 takes ×", ratio, target, True))
    found += _table_figures(n_threads)
    found += _block_figures(rows, n_threads)
    return {"figures": found, "wall": cpu["ours"][1]}


def _block_figures(rows: Inputs, n_threads: int) -> list[tuple[str, float, float | None, bool]]:
    """Backbones whose latents have several units: on text with 2 % of the links, on a dense table with 5 %."""
    found: list[tuple[str, float, float | None, bool]] = []
    wiring = random_wiring(SIZES, 0.02)
    steps, nets = {}, {}
    for k in BLOCKS:
        steps[k], nets[k] = _tse_step(rows, wiring, BATCH, n_threads, _backbone(k))
    rivals = {
        "FNN 512": _torch_step(DenseNet(SIZES[0], (512,), 4), rows, BATCH),
        "FNN 1024-1024": _torch_step(DenseNet(SIZES[0], (1024, 1024), 4), rows, BATCH),
    }
    cpu = _turns({**{str(k): step for k, step in steps.items()}, **rivals})
    targets = {"FNN 512": 2.0, "FNN 1024-1024": 8.0}
    for k in BLOCKS:
        mine = cpu[str(k)][0]
        size = nets[k].n_parameters / 1e6
        found.append((f"text, Backbone, k = {k} ({size:.2f} M): CPU ms", 1e3 * mine, None, False))
        found.append(("… times the floor", mine / _floor(nets[k]), 2.0, False))
        for name in rivals:
            found.append(
                (f"… {name}, fused Adam, takes ×", cpu[name][0] / mine, targets[name], True)
            )
    table_rows = _table()
    wiring = random_wiring(TABLE_SIZES, 0.05)
    tables = {
        str(k): _tse_step(table_rows, wiring, BATCH, n_threads, _backbone(k))[0] for k in BLOCKS
    }
    tables["FNN"] = _torch_step(DenseNet(TABLE_SIZES[0], (512, 512), 4), table_rows, BATCH)
    cpu = _turns(tables)
    for k in BLOCKS:
        ratio = cpu["FNN"][0] / cpu[str(k)][0]
        found.append((f"dense table, Backbone, k = {k}: FNN 512×2 takes ×", ratio, 3.0, True))
    return found


def _backbone(units_per_latent: int) -> dict[str, Any]:
    return {"skip_units": 0, "units_per_latent": units_per_latent}


def network_memory(kind: str) -> dict[str, Any]:
    """The job that trains a little and reports how far memory rose."""
    torch.set_num_threads(1)
    rows = _text(SIZES[0], 40)
    wiring = random_wiring(SIZES, 0.05)
    tiny = random_wiring((50, 20, 5), 0.2)  # compiles the kernels, loads the libraries
    _tse_step(_text(50, 5), tiny, 32, 1)[0](0)
    _torch_step(DenseNet(50, (8, 8), 4), _text(50, 5), 32)(0)
    before = peak_bytes()
    if kind == "tsenet":
        step: Step = _tse_step(rows, wiring, BATCH, 1)[0]
    else:
        step = _torch_step(DenseNet(SIZES[0], (1024, 1024), 4), rows, BATCH)
    for turn in range(5):
        step(turn)
    return {"before": before, "peak": peak_bytes()}


def _table_figures(n_threads: int) -> list[tuple[str, float, float | None, bool]]:
    """A dense table instead of text."""
    rows = _table()
    ours, _ = _tse_step(rows, random_wiring(TABLE_SIZES, 0.05), BATCH, n_threads)
    cpu = _turns(
        {
            "ours": ours,
            "512×2": _torch_step(DenseNet(TABLE_SIZES[0], (512, 512), 4), rows, BATCH),
            "1024×2": _torch_step(DenseNet(TABLE_SIZES[0], (1024, 1024), 4), rows, BATCH),
        }
    )
    return [
        ("dense table, step, CPU ms", 1e3 * cpu["ours"][0], None, False),
        ("… FNN 512×2 takes ×", cpu["512×2"][0] / cpu["ours"][0], 1.5, True),
        ("… FNN 1024×2 takes ×", cpu["1024×2"][0] / cpu["ours"][0], 3.5, True),
    ]


def _table() -> Inputs:
    rng = np.random.default_rng(0)
    return Inputs(rng.standard_normal((4_096, TABLE_SIZES[0])).astype(np.float32))


def _text(n_words: int, length: int) -> Inputs:
    corpus = zipf_corpus(n_words, 4_096, min(length, n_words // 4))
    return Inputs(csr_array(corpus.to_csr(), dtype=np.float32))


def _rows_of_turn(n_rows: int, batch: int, turn: int) -> np.ndarray:
    start = (turn * batch) % (n_rows - batch + 1)
    return np.random.default_rng(1).permutation(n_rows)[start : start + batch]


def _tse_step(
    rows: Inputs, wiring: Any, batch: int, n_jobs: int, options: dict[str, Any] | None = None
) -> tuple[Step, TSENet]:
    net = TSENet(wiring, 4, **(options or {}))
    engine = Engine(net, rows, MulticlassLoss(4), n_jobs=n_jobs)
    labels = np.random.default_rng(2).integers(0, 4, len(rows))

    def step(turn: int) -> float:
        chosen = _rows_of_turn(len(rows), batch, turn)
        return engine.step(chosen, labels[chosen], None, 1e-3, turn)

    return step, net


def _torch_step(
    net: torch.nn.Module, rows: Inputs, batch: int, *, fused: bool | None = True
) -> Step:
    """A step with torch's fastest exact Adam, or with the one it takes if nobody asks."""
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3, fused=fused or None)
    labels = torch.from_numpy(np.random.default_rng(2).integers(0, 4, len(rows)))

    def step(turn: int) -> None:
        chosen = _rows_of_turn(len(rows), batch, turn)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(rows.batch(chosen)), labels[chosen]).backward()
        optimiser.step()

    return step


def _inference_steps(
    net: TSENet, fnn: DenseNet, rows: Inputs, batch: int, n_jobs: int
) -> dict[str, Step]:
    engine = Engine(net, rows, MulticlassLoss(4), n_jobs=n_jobs)
    fnn.eval()
    chosen = [_rows_of_turn(len(rows), batch, turn) for turn in range(16)]
    batches = [rows.batch(own) for own in chosen]
    parts = [Inputs(rows.values[own]) for own in chosen]

    def theirs(turn: int) -> None:
        with torch.inference_mode():
            fnn(batches[turn % 16])

    return {
        "ours": lambda turn: engine.outputs(parts[turn % 16]),
        "FNN": theirs,
    }


def _turns(steps: dict[str, Step], repeats: int = 5) -> dict[str, tuple[float, float]]:
    """CPU and wall seconds per step, medians over rounds in which all take their turn."""
    for step in steps.values():
        step(0)
    cpu: dict[str, list[float]] = {name: [] for name in steps}
    wall: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(ROUNDS):
        for name, step in steps.items():
            start_cpu, start_wall = time.process_time(), time.perf_counter()
            for turn in range(repeats):
                step(turn)
            cpu[name].append((time.process_time() - start_cpu) / repeats)
            wall[name].append((time.perf_counter() - start_wall) / repeats)
    return {name: (statistics.median(cpu[name]), statistics.median(wall[name])) for name in steps}


def _floor(net: TSENet) -> float:
    """Seconds a step would take at the speed this machine multiplies matrices and copies memory.

    Dense groups and links: 2 FLOPs per weight and row, forward and for each of two gradients; what reads the input
    meets only the rows' own words and has one gradient. Adam: three arrays read and written, each gradient used where
    it is made; memory is copied at that size, so it lies in the same caches.
    """
    a = np.ones((512, 512), np.float32)
    with threadpool_limits(1):
        flops = 2 * 512**3 / _best(lambda: a @ a)
    long = np.ones(3 * net.n_parameters // 2, np.float32)
    other = np.ones_like(long)
    speed = 2 * long.nbytes / _best(lambda: np.copyto(other, long))
    work = 0.0
    for k, (layer, skip) in enumerate(zip_longest(net.layers, net.skips)):
        products = 2 * 40 / SIZES[0] if k == 0 else 3.0
        n_skip = 0 if skip is None else skip.weight.numel()
        work += products * 2 * BATCH * (layer.links.n_weights + n_skip)
    work += 3 * 2 * BATCH * (net.top.weight.numel() + net.output.weight.numel())
    return work / flops + 6 * 4 * net.n_parameters / speed


def _best(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(10):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
