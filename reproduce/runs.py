"""The run loop: fit a rival on a fold, score it, and append one JSON line per cell to one file."""

from __future__ import annotations

import base64
import json
import platform
import re
import subprocess
import time
import warnings
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from reproduce import CHANGED, RECIPE
from reproduce.data import DATA, Fold, Part, data_folder, fold_of, is_drawn

__all__ = [
    "RUNS",
    "Cell",
    "is_current",
    "last_change",
    "measure",
    "pack",
    "read_runs",
    "run_cells",
    "unpack",
]

RUNS = Path(__file__).parents[1] / "docs" / "results" / "runs.jsonl"
LIBRARIES = ("tsenet", "numpy", "scipy", "scikit-learn", "numba", "torch")
FIELDS = ("data", "rival", "labels", "seed", "part", "measure")  # of a cell
N_LEVELS = 3  # of the tree of images, as many as the paper shows

Run = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One thing to measure: a rival on a data set with some labels and a seed.

    Attributes
    ----------
    data, rival : str
    labels : int or None
        Number of rows that keep their labels; None for all.
    seed : int
        Draws labels and held-out rows, and seeds the rival.
    part : {"test", "validation"}
        Which rows are scored.
    measure : {"score", "interpretability", "pixels"}
        The score alone, also the mean cosine of the top units' words, or the groups of pixels of a tree.
    """

    data: str
    rival: str
    labels: int | None = None
    seed: int = 0
    part: Part = "test"
    measure: str = "score"

    @property
    def key(self) -> tuple[Any, ...]:
        """What identifies the cell; experiments share equal cells."""
        return (self.data, self.rival, self.labels, self.seed, self.part, self.measure)


def key_of(run: Run) -> tuple[Any, ...]:
    """Return the key of the cell that a stored run belongs to."""
    return tuple(run[name] for name in FIELDS)


def last_change(data: str, rival: str) -> int:
    """Return the recipe that last changed what a rival's runs on a data set measure."""
    kind = DATA[re.split("[@/]", data)[0]].kind
    reads = "texts" if kind == "text" else "tables"
    name, _, size = rival.partition("@")
    base = name.partition(":")[0]
    if base == "tree" or re.match("(tsenet|backbone)-paper", base):
        method = "paper"
    elif re.match("(tsenet|backbone)-informed", base):
        method = "informed"
    elif re.match("tsenet|backbone|teacher", base):
        method = "default" if kind == "text" else "default-tables"
    else:
        method = "rivals"
    # an encoder reads the texts themselves, whatever becomes of their words
    changes = CHANGED[method] if base == "minilm" else max(CHANGED[reads], CHANGED[method])
    return changes if not size or size.isdigit() else max(changes, last_change(data, size))


def is_current(run: Run) -> bool:
    """Whether nothing that a stored run depends on has changed since."""
    return bool(run["recipe"] >= last_change(run["data"], run["rival"]))


def read_runs(path: Path = RUNS) -> list[Run]:
    """Read all stored runs; of equal cells the last one counts."""
    if not path.exists():
        return []
    runs = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
    return list({(run["recipe"], *key_of(run)): run for run in runs}.values())


def run_cells(
    cells: Iterable[Cell], path: Path = RUNS, show: Callable[..., None] = print
) -> list[str]:
    """Measure the cells of which no current run is stored; return what failed.

    A run is appended as soon as it is done, so an interrupted experiment continues where it stopped. ``show`` is called
    as ``print`` is: with the name of a cell before it is measured, which may take minutes, and with its score.
    """
    done = {key_of(run): run for run in read_runs(path) if is_current(run)}
    folds: dict[tuple[Any, ...], Fold] = {}
    failures = []
    for cell in cells:
        if cell.key in done:
            continue
        fold_key = (cell.data, cell.part, is_drawn(cell.data, cell.part) and cell.seed)
        if fold_key not in folds:
            folds.clear()  # one fold in memory at a time
            folds[fold_key] = fold_of(cell.data, cell.part, cell.seed)
        show(f"{cell.data} {cell.rival} {cell.labels or 'all'} {cell.seed}: ", end="", flush=True)
        try:
            run = measure(cell, folds[fold_key], partial(_size_of, cell, done))
        except Exception as error:
            failures.append(f"{cell}: {error}")
            show(f"failed: {error}")
            continue
        found = [run]
        if cell.measure == "interpretability":  # the same fit also has a score
            of_words = ("interpretability", "units", "chance", "coverage")
            found.append({name: run[name] for name in run if not name.startswith(of_words)})
            found[-1]["measure"] = "score"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            for one in found:
                done[key_of(one)] = one
                file.write(json.dumps(one, ensure_ascii=False) + "\n")
        show(f"{run['score']:.4f}")
    return failures


def _size_of(cell: Cell, done: dict[tuple[Any, ...], Run], rival: str) -> int:
    """Return the parameters of another rival on the same rows, which must be measured before."""
    for run in done.values():
        same = ("data", "labels", "seed", "part")
        if run["rival"] == rival and all(run[name] == getattr(cell, name) for name in same):
            return int(run["parameters"])
    raise LookupError(f"measure {rival} on {cell.data} first: {cell.rival} has its size")


def measure(cell: Cell, fold: Fold, size_of: Callable[[str], int]) -> Run:
    """Fit and score one cell.

    Parameters
    ----------
    cell : Cell
    fold : Fold
        The rows of the cell, with all labels.
    size_of : function of the name of a rival
        Its number of parameters on the same rows, for names such as ``fnn@tsenet``.

    Returns
    -------
    dict
        What is stored: the cell, ``score``, ``right`` and ``macro_f1`` or ``areas``, ``parameters``, ``cpu``,
        versions.
    """
    from threadpoolctl import threadpool_limits

    from reproduce.rivals import make_rival, n_parameters, rows_for, split_name

    run: Run = dict(zip(FIELDS, cell.key, strict=True))
    if cell.measure == "pixels":
        run |= _pixel_groups(fold, cell.seed)
        return run | _origin()
    size = split_name(cell.rival)[2]
    n_wanted = None if size is None else int(size) if size.isdigit() else size_of(size)
    labelled, options = rows_for(cell.rival, fold.with_labels(cell.labels, cell.seed))
    model = make_rival(cell.rival, labelled, cell.seed, n_wanted)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        cpu = time.process_time()
        model.fit(labelled.X, labelled.y, **options)
        cpu = time.process_time() - cpu
        run |= score(model, labelled)
        if cell.measure == "interpretability":
            run |= _interpretability(model, fold)
    return run | {"parameters": n_parameters(model), "cpu": round(cpu, 2)} | _origin()


def score(model: Any, fold: Fold) -> Run:
    """Return the score on the held-out rows: accuracy and macro-F1, mean area under the curve (Tox21), or R²."""
    from sklearn.metrics import f1_score, r2_score, roc_auc_score

    if fold.task == "regression":
        return {"metric": "r2", "score": float(r2_score(fold.y_held, model.predict(fold.X_held)))}
    if fold.metric == "auc":
        chances = np.asarray(model.predict_proba(fold.X_held))
        truth = fold.y_held[:, None] if fold.y_held.ndim == 1 else fold.y_held
        chances = chances[:, -truth.shape[1] :]

        def areas(rows: NDArray[np.bool_]) -> list[float]:
            found = []
            for label, chance in zip(truth.T, chances.T, strict=True):
                known = rows & ~np.isnan(label)
                found.append(float(roc_auc_score(label[known], chance[known])))
            return found

        every = areas(np.ones(truth.shape[0], bool))
        without = float(np.mean(areas(~fold.repeated)))
        return {
            "metric": "auc",
            "score": float(np.mean(every)),
            "areas": every,
            "without_repeated": without,
        }
    predicted = np.asarray(model.predict(fold.X_held))
    right = predicted == fold.y_held
    macro_f1 = float(f1_score(fold.y_held, predicted, average="macro"))
    return {
        "metric": "accuracy",
        "score": float(right.mean()),
        "macro_f1": macro_f1,
        "right": pack(right),
    }


def pack(bits: NDArray[np.bool_]) -> str:
    """Encode which rows were right as text: the number of rows, a colon, and the compressed bits."""
    content = base64.b64encode(zlib.compress(np.packbits(bits).tobytes(), 9)).decode("ascii")
    return f"{bits.size}:{content}"


def unpack(text: str) -> NDArray[np.bool_]:
    """Decode the text of :func:`pack`."""
    size, _, content = text.partition(":")
    packed = np.frombuffer(zlib.decompress(base64.b64decode(content)), np.uint8)
    return np.unpackbits(packed, count=int(size)).astype(bool)


def _interpretability(model: Any, fold: Fold) -> Run:
    """Score the words of the last hidden units by each file of word vectors.

    For a TSE-Net these are the feature layer, the counterpart of a dense network's last layer, as ``interpretability``,
    and the top units of the tree as ``interpretability_top``. ``chance`` is the mean cosine of two random words of the
    vocabulary, ``coverage`` the share of the vocabulary that has a vector.
    """
    from reproduce.word_vectors import chance_score, interpretability_score, load_vectors, top_words

    features, network = fold.X, model
    if hasattr(model, "steps"):  # the last step that has units of its own
        steps = [step for _, step in model.steps]
        last = max(k for k, step in enumerate(steps) if hasattr(step, "transform"))
        for step in steps[:last]:
            features = step.transform(features)
        network = steps[last]
    units = np.asarray(network.transform(features))
    layers = {"": units}
    if hasattr(network, "wiring_"):
        sizes = network.net_.layer_sizes[1:]  # the feature layer comes after them
        layers = {"": units[:, sum(sizes) :], "_top": units[:, sum(sizes[:-1]) : sum(sizes)]}
    words = {name: top_words(layer, fold.X, fold.names) for name, layer in layers.items()}
    found: Run = {}
    for file in sorted((data_folder() / "word_vectors").glob("*.gz")):
        vectors = load_vectors(file, fold.names)
        for name in layers:
            score = interpretability_score(words[name], vectors)
            found.setdefault(f"interpretability{name}", {})[file.name] = score
        found.setdefault("chance", {})[file.name] = chance_score(vectors)
        found.setdefault("coverage", {})[file.name] = len(vectors) / len(fold.names)
    return found | {f"units{name}": len(of_layer) for name, of_layer in words.items()}


def _connected_share(groups: NDArray[np.int64]) -> float:
    """Share of the pixels that lie in the largest connected part of their group; −1 is in no group."""
    inside = largest = 0
    for group in np.unique(groups[groups >= 0]):
        sizes = np.bincount(ndimage.label(groups == group)[0].ravel())[1:]
        inside += int(sizes.sum())
        largest += int(sizes.max())
    return largest / inside if inside else 1.0


def _wide_shares(image: NDArray[np.int64]) -> list[float]:
    """Share of the groups of an image that are wider than high, in its top, middle and bottom third."""
    wide: list[list[bool]] = [[], [], []]
    for group in np.unique(image[image >= 0]):
        rows, columns = np.nonzero(image == group)
        height, width = rows.std(), columns.std()
        if rows.size > 1 and height != width:
            third = int(3 * (rows.mean() + 0.5) / image.shape[0])
            wide[third].append(bool(width > height))
    return [float(np.mean(third)) if third else float("nan") for third in wide]


def _pixel_groups(fold: Fold, seed: int) -> Run:
    """Learn a tree of images by the paper's options: how much of each level's groups is connected, and by chance.

    ``wide`` is the share of the groups that are wider than high, by the third of the image in which their centre lies:
    at the top, in the middle and at the bottom.
    """
    from tsenet import TSENetClassifier, learn_tree

    options = TSENetClassifier.paper().tree_options or {}
    cpu = time.process_time()
    tree = learn_tree(fold.X, max_top=10, **options, random_state=seed, n_jobs=1)
    cpu = time.process_time() - cpu
    side = round(fold.X.shape[1] ** 0.5)
    rng = np.random.default_rng(seed)
    groups, connected, by_chance, wide = [], [], [], []
    for level in range(1, min(N_LEVELS, tree.n_levels) + 1):
        image = tree.ancestors(level).reshape(side, side)
        mixed = image.copy()
        mixed[image >= 0] = rng.permutation(image[image >= 0])
        groups.append(int(np.unique(image[image >= 0]).size))
        connected.append(_connected_share(image))
        by_chance.append(_connected_share(mixed))
        wide.append(_wide_shares(image))
    found = {"groups": groups, "connected": connected, "by_chance": by_chance, "wide": wide}
    return {"metric": "connected", "score": connected[0], **found, "cpu": round(cpu, 2)}


def _origin() -> Run:
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    versions = {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}
    return {"recipe": RECIPE, "commit": commit, "versions": versions}
