"""The checkpoint folder of :func:`tsenet.learn_tree`: finished layers and the state of the refinement.

The folder holds two files, each written as :mod:`tsenet._system.checkpoint_file` describes:

``layers.ckpt``
    All finished layers, the posteriors of the last one, and whether the structure is finished. Replaced after each
    layer.
``refinement.ckpt``
    The state of stepwise EM. Replaced every few steps and at the end.

Both name the run they belong to. A run with other rows, options or another seed does not continue from them.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tsenet._system.atomic import remove_leftovers
from tsenet._system.checkpoint_file import digest_of, read_checkpoint, write_checkpoint
from tsenet.data.binary import BinaryRule
from tsenet.data.rows import BinaryRows
from tsenet.errors import DataError, ModelFileError
from tsenet.skeleton.completion import Layer, SoftRows
from tsenet.skeleton.refine import Refinement

LAYERS_FILE = "layers.ckpt"
REFINEMENT_FILE = "refinement.ckpt"
_DIGESTS = {"rows", "binary rule"}  # run fields whose values would say nothing in a message

logger = logging.getLogger("tsenet")
Content = TypeVar("Content")
Saved = tuple[dict[str, Any], dict[str, NDArray[Any]]]


@dataclass(frozen=True)
class FinishedLayers:
    """The layers learned so far.

    Attributes
    ----------
    layers : tuple of Layer
        From the first layer up.
    top : SoftRows or None
        Posteriors of the last layer's latents; None if there is no layer.
    complete : bool
        Whether no further layer is needed.
    """

    layers: tuple[Layer, ...] = ()
    top: SoftRows | None = None
    complete: bool = False


class TreeCheckpoint:
    """A folder from which a killed run of structure learning continues.

    Parameters
    ----------
    folder : path
        Created if it does not exist.

    Raises
    ------
    NotADirectoryError
        If ``folder`` is a file.
    ModelFileError
        If a file in it is damaged.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"the checkpoint {folder} must be a folder, not a file")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._run: dict[str, Any] = {}
        self._saved = {name: self._read(name) for name in (LAYERS_FILE, REFINEMENT_FILE)}

    def _read(self, name: str) -> Saved | None:
        path = self.folder / name
        remove_leftovers(path)
        return self._guarded(name, lambda: read_checkpoint(path))

    def _guarded(self, name: str, read: Callable[[], Content]) -> Content:
        """Read with errors that name the file and say what to do."""
        try:
            return read()
        except (KeyError, TypeError, ValueError) as error:  # DataError and ModelFileError too
            reason = str(error)
            if not isinstance(error, ModelFileError | DataError):
                reason = f"its content is not that of a tree being learned ({error})"
            raise ModelFileError(
                f"the checkpoint {self.folder / name} cannot be used: {reason}. "
                "Delete the folder to learn from the start"
            ) from error

    def saved_seed(self) -> np.random.SeedSequence | None:
        """The seed of the run in the folder; None if the folder is new."""

        def parse() -> np.random.SeedSequence | None:
            for saved in self._saved.values():
                if saved is not None:
                    return np.random.SeedSequence(**saved[0]["run"]["seed"])
            return None

        return self._guarded(LAYERS_FILE, parse)

    def bind(self, run: Mapping[str, Any]) -> None:
        """Say which run this is, as :func:`run_fields` describes it.

        Raises
        ------
        ModelFileError
            If the folder holds another run; the message says what differs.
        """
        self._run = json.loads(json.dumps(run))  # tuples become lists, as in the file
        for name, saved in self._saved.items():
            if saved is None:
                continue
            theirs = self._guarded(name, partial(_run_of, saved[0]))
            keys = sorted(self._run.keys() | theirs.keys())
            differing = [key for key in keys if self._run.get(key) != theirs.get(key)]
            if differing:
                raise ModelFileError(
                    f"the checkpoint {self.folder} is of another run: "
                    + "; ".join(_difference(key, theirs, self._run) for key in differing)
                    + ". Give another folder, or delete this one to learn from the start"
                )

    def load_layers(self, rows: BinaryRows) -> FinishedLayers:
        """The layers finished so far; none if there is no file. ``rows`` are those of the first layer."""
        saved = self._saved.pop(
            LAYERS_FILE, None
        )  # the posteriors may be large: keep no second copy
        if saved is None:
            return FinishedLayers()
        found = self._guarded(LAYERS_FILE, lambda: _layers_of(*saved, rows))
        logger.info("continuing from %s: %d layers are finished", self.folder, len(found.layers))
        return found

    def save_layers(self, found: FinishedLayers) -> None:
        """Keep the layers finished so far."""
        arrays: dict[str, NDArray[Any]] = {}
        for k, layer in enumerate(found.layers):
            arrays |= {
                f"{k}.latent_of": layer.latent_of,
                f"{k}.prior": layer.prior,
                f"{k}.table": layer.table,
            }
        if found.top is not None:
            arrays |= {
                "top.indptr": found.top.indptr,
                "top.latent": found.top.latent,
                "top.logodds": found.top.logodds,
                "top.base": found.top.base,
            }
        fields = {"run": self._run, "n_layers": len(found.layers), "complete": found.complete}
        write_checkpoint(self.folder / LAYERS_FILE, fields, arrays)

    def load_refinement(self, steps: int, n_observed: int, n_nodes: int) -> Refinement | None:
        """The last saved state of stepwise EM over a tree of this size; None if there is no file."""
        saved = self._saved.pop(REFINEMENT_FILE, None)
        if saved is None:
            return None
        sizes = (n_observed, n_nodes)
        found = self._guarded(REFINEMENT_FILE, lambda: _refinement_of(*saved, steps, *sizes))
        logger.info("continuing from %s: %d of %d EM steps", self.folder, found.done, steps)
        return found

    def save_refinement(self, state: Refinement) -> None:
        """Keep a state of stepwise EM."""
        fields = {"run": self._run, "done": state.done}
        arrays = {"pairs": state.pairs, "on": state.on, "cpt": state.cpt}
        write_checkpoint(self.folder / REFINEMENT_FILE, fields, arrays)


def run_fields(
    rows: str, rule: BinaryRule, options: Mapping[str, Any], seeds: np.random.SeedSequence
) -> dict[str, Any]:
    """What decides the result of a run: rows (their digest), options, seed and version; not the number of threads."""
    from tsenet import __version__

    entropy: Any = seeds.entropy
    rule_text = json.dumps(rule.to_dict(), sort_keys=True).encode()
    return {
        "rows": rows,
        "binary rule": digest_of(np.frombuffer(rule_text, np.uint8)),
        "seed": {
            "entropy": entropy if isinstance(entropy, int) else np.asarray(entropy).tolist(),
            "spawn_key": [int(key) for key in seeds.spawn_key],
            "pool_size": int(seeds.pool_size),
        },
        "tsenet version": __version__,
        **options,
    }


def _run_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    return dict(fields["run"])


def _difference(key: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    if key in _DIGESTS:
        return f"the {key} differ{'s' if key == 'binary rule' else ''}"
    if key == "seed":
        return "the seed (random_state) differs"
    return f"{key} is {theirs.get(key)} there and {ours.get(key)} here"


def _check_array(
    name: str, array: NDArray[Any], dtype: type[np.generic], shape: tuple[int, ...]
) -> NDArray[Any]:
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype} {array.shape}, not {np.dtype(dtype)} {shape}")
    # Arrays read from a file are read-only, which would compile the kernels a second time.
    return np.require(array, requirements=["C", "W"])


def _layers_of(
    fields: dict[str, Any], arrays: dict[str, NDArray[Any]], rows: BinaryRows
) -> FinishedLayers:
    """Check the content of ``layers.ckpt``: the kernels trust every index in it."""
    layers: list[Layer] = []
    n_below = rows.n_columns
    for k in range(int(fields["n_layers"])):
        n_latents = int(arrays[f"{k}.prior"].size)
        layer = Layer(
            _check_array("latent_of", arrays[f"{k}.latent_of"], np.int32, (n_below,)),
            _check_array("prior", arrays[f"{k}.prior"], np.float64, (n_latents,)),
            _check_array("table", arrays[f"{k}.table"], np.float64, (n_below, 2)),
        )
        if layer.latent_of.min() < -1 or layer.latent_of.max() >= n_latents:
            raise ValueError(f"layer {k + 1} has a variable under a latent that does not exist")
        for name, share in (("prior", layer.prior), ("table", layer.table)):
            if not ((share >= 0.0) & (share <= 1.0)).all():
                raise ValueError(f"{name} of layer {k + 1} is not between 0 and 1")
        layers.append(layer)
        n_below = n_latents
    top = _top_of(arrays, rows.n_rows, n_below) if layers else None
    return FinishedLayers(tuple(layers), top, bool(fields["complete"]))


def _top_of(arrays: dict[str, NDArray[Any]], n_rows: int, n_latents: int) -> SoftRows:
    nnz = int(arrays["top.latent"].size)
    top = SoftRows(
        _check_array("indptr", arrays["top.indptr"], np.int64, (n_rows + 1,)),
        _check_array("latent", arrays["top.latent"], np.int32, (nnz,)),
        _check_array("logodds", arrays["top.logodds"], np.float64, (nnz,)),
        _check_array("base", arrays["top.base"], np.float64, (n_latents,)),
    )
    BinaryRows(top.indptr, top.latent, n_latents).validate()
    if np.isnan(top.logodds).any() or np.isnan(top.base).any():
        raise ValueError("log-odds are not all numbers")
    return top


def _refinement_of(
    fields: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    steps: int,
    n_observed: int,
    n_nodes: int,
) -> Refinement:
    done = int(fields["done"])
    if not 0 <= done <= steps:
        raise ValueError(f"{done} of {steps} steps are done")
    state = Refinement(
        done,
        _check_array("pairs", arrays["pairs"], np.float64, (n_nodes - n_observed, 2, 2)),
        _check_array("on", arrays["on"], np.float64, (n_observed, 2)),
        _check_array("cpt", arrays["cpt"], np.float64, (n_nodes, 2, 2)),
    )
    if not all(np.isfinite(array).all() for array in (state.pairs, state.on, state.cpt)):
        raise ValueError("counts or tables are not all finite")
    return state
