"""`Predictor`: outputs and activations of a network without torch, for all that asks for answers.

Also what it shares with the torch module: `NetworkOptions`, `Links`, the weights of a sparse layer as a CSR matrix, and
`Inputs`, the rows of a table as a network reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet._system.threads import Workers, chunks
from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table
from tsenet.expansion.wiring import Wiring, WiringLayer

if TYPE_CHECKING:
    from tsenet.network.sparse_linear import Batch

#: The non-linearity of all hidden units.
Activation = Literal["relu", "tanh", "sigmoid"]
Floats = NDArray[Any]  # float32 or float64, as the network's parameters
_CHUNK_ROWS = 256  # one task of a thread
_FEW_ROWS = 64  # with at most this many, SciPy is as fast as the kernels, and nothing is compiled


@dataclass(frozen=True)
class NetworkOptions:
    """Options of :class:`tsenet.TSENet`, which documents them; checked before any work is done."""

    skip_units: int = 100
    feature_units: int = 100
    dropout: float = 0.5
    linear_skip: bool = False
    units_per_latent: int = 1
    skip_dropout: float = 0.0
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        for name, least in {"skip_units": 0, "feature_units": 1, "units_per_latent": 1}.items():
            number = getattr(self, name)
            if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
                raise ValueError(f"{name} must be a whole number from {least} on, not {number!r}")
        if self.activation not in get_args(Activation):
            known = ", ".join(map(repr, get_args(Activation)))
            raise ValueError(f"activation must be one of {known}, not {self.activation!r}")
        for name in ("dropout", "skip_dropout"):
            rate = getattr(self, name)
            if not isinstance(rate, Real) or not 0.0 <= float(rate) < 1.0:
                raise ValueError(f"{name} must be at least 0 and below 1, not {rate!r}")
        if not isinstance(self.linear_skip, bool | np.bool_):
            raise ValueError(f"linear_skip must be True or False, not {self.linear_skip!r}")

    def to_dict(self) -> dict[str, Any]:
        """The options by name."""
        return asdict(self)


@dataclass(frozen=True)
class Links:
    """Which weights a sparse layer has, where each latent is several units.

    Unit j of latent u is number u·k + j of its layer. Input unit i is linked to the latents
    ``latent[start[i]:start[i + 1]]``; each such link has ``k`` weights, one for every unit of the latent, side by side.
    The flat weight vector (E · k,) is in this order.

    Attributes
    ----------
    start : int64 (inputs + 1,)
    latent : int32 (E,)
    n_latents : int
        Latents above.
    k : int
        Units of each latent above.
    link : int64 (E,)
        Which link of the wiring's layer each one belongs to.
    """

    start: NDArray[np.int64]
    latent: NDArray[np.int32]
    n_latents: int
    k: int
    link: NDArray[np.int64]

    @classmethod
    def of(cls, layer: WiringLayer, k_in: int = 1, k: int = 1) -> Links:
        """The weights of a layer whose latents are ``k_in`` units below and ``k`` above."""
        place = np.arange(layer.n_edges, dtype=np.int64)
        shape = (layer.n_upper, layer.n_lower)
        by_unit = csr_array((place, layer.indices, layer.indptr), shape=shape)
        by_input = by_unit.T.tocsr()
        if k_in > 1:
            by_input = by_input[np.repeat(np.arange(layer.n_lower), k_in)]
        start, latent = by_input.indptr.astype(np.int64), by_input.indices.astype(np.int32)
        return cls(start, latent, layer.n_upper, k, by_input.data)

    @classmethod
    def of_wiring(cls, wiring: Wiring, k: int) -> list[Links]:
        """The weights of every layer, where a latent is ``k`` units and an input is one."""
        layers = enumerate(wiring.layers)
        return [cls.of(layer, k if depth else 1, k) for depth, layer in layers]

    @property
    def n_inputs(self) -> int:
        """Number of units below."""
        return int(self.start.size) - 1

    @property
    def n_units(self) -> int:
        """Number of units above."""
        return self.n_latents * self.k

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return int(self.latent.size) * self.k

    def input_of_weight(self) -> NDArray[np.int64]:
        """Input unit of each weight: (E · k,)."""
        return np.repeat(np.arange(self.n_inputs), np.diff(self.start) * self.k)

    def unit_of_weight(self) -> NDArray[np.int64]:
        """Upper unit of each weight: (E · k,)."""
        return (self.latent.astype(np.int64)[:, None] * self.k + np.arange(self.k)).reshape(-1)

    def link_of_weight(self) -> NDArray[np.int64]:
        """Place in the wiring's layer of the link that each weight belongs to: (E · k,)."""
        return np.repeat(self.link, self.k)

    @property
    def by_input(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where the links of each input begin, and the latent of each."""
        return self.start, self.latent

    @cached_property
    def by_latent(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The same links latent by latent: where those of each latent begin, the input of each, and its number here."""
        place = np.argsort(self.latent, kind="stable")
        start = np.searchsorted(self.latent[place], np.arange(self.n_latents + 1))
        return start, np.repeat(np.arange(self.n_inputs), np.diff(self.start))[place], place

    def matrix(self, weight: NDArray[Any]) -> csr_array:
        """The weights as a matrix (inputs, units)."""
        parts = weight.reshape(-1), self.unit_of_weight(), self.start * self.k
        return csr_array(parts, shape=(self.n_inputs, self.n_units))


@dataclass(frozen=True)
class Inputs:
    """All rows of a table as a network reads them: the original values in float32; categories one-hot.

    ``values`` is an (N, D) array or CSR matrix with int32 or int64 indices; D is the wiring's number of inputs.
    """

    values: NDArray[np.float32] | csr_array

    @classmethod
    def of(cls, table: Table, rule: BinaryRule) -> Inputs:
        """Make inputs of a table with the rule's columns: one input for each of the rule's variables."""
        rule.check_columns(table)
        values = table.values
        if not rule.has_categories:
            read = values if values.dtype == np.float32 else values.astype(np.float32)
        else:
            # one-hot columns are right already
            read = rule.apply(table).to_dense().astype(np.float32)
            numeric = np.array([rule.levels[source] is None for source in rule.sources])
            read[:, numeric] = values[:, rule.sources[numeric]]
        if isinstance(read, np.ndarray) and np.isnan(read).any():
            read = np.where(
                np.isnan(read), np.float32(0), read
            )  # a missing value is read as the mean
        return cls(read)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of inputs D."""
        return int(self.values.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether batches are sparse."""
        return not isinstance(self.values, np.ndarray)

    def batch(
        self, rows: NDArray[np.int64] | None = None, dropout: float = 0.0, key: int = 0
    ) -> Batch:
        """Return some rows, in the order asked for, or all; with dropout a share of the values is 0.

        The others are enlarged, so that sums stay as large on average. The ``key`` chooses the values.
        """
        import torch

        from tsenet.network.sparse_linear import Drawn, SparseBatch

        chosen: Any = self.values if rows is None else self.values[rows]
        values = chosen.data if self.is_sparse else chosen
        if dropout:
            drawn = Drawn(dropout, np.random.Generator(np.random.SFC64(key)))
            values = values * drawn.factors(values.shape)
        tensor = torch.from_numpy(values)
        if not self.is_sparse:
            return tensor
        start, columns = chosen.indptr.astype(np.int64), chosen.indices.astype(np.int32, copy=False)
        parts = torch.from_numpy(start), torch.from_numpy(columns)
        return SparseBatch(*parts, tensor, self.n_columns)


def is_bag(values: NDArray[np.float32] | csr_array) -> bool:
    """Whether rows are sparse and have no negative value, as bags of words are."""
    return not isinstance(values, np.ndarray) and bool((values.data >= 0).all())


class Activations(NamedTuple):
    """What B rows make of a network: ``levels`` (B, units) each, ``features`` (B, F), ``outputs`` (B, C) float64."""

    levels: list[Floats]
    features: Floats
    outputs: NDArray[np.float64]


class Predictor:
    """A network as arrays, ready to predict.

    Parameters
    ----------
    links : sequence of Links
        The weights that each sparse layer has.
    arrays : dict of str to ndarray
        The parameters by the names that a `TSENet` gives them. They are not copied.
    activation : {"relu", "tanh", "sigmoid"}, default="relu"
    """

    def __init__(
        self,
        links: Sequence[Links],
        arrays: dict[str, Floats],
        activation: Activation = "relu",
    ) -> None:
        self.links = links
        self.arrays = arrays
        self.activation: Activation = activation
        n_skips = sum(name.startswith("skips.") for name in arrays) // 2
        #: Name of each group of the feature layer, and the level that it reads.
        self.groups = [(f"skips.{level}", level) for level in range(n_skips)]
        self.groups.append(("top", len(links)))

    def outputs(
        self, inputs: Inputs, rows: NDArray[np.int64] | None = None, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """Raw outputs (n, C) of some rows of a table, or of all, on ``n_jobs`` threads."""
        parts = self._run(lambda found: found.outputs, inputs, rows, n_jobs)
        return np.concatenate(parts or [np.empty((0, self.arrays["output.bias"].size))])

    def hidden(self, inputs: Inputs, n_jobs: int | None = None) -> NDArray[np.float32]:
        """Activations of all hidden units, level by level, then the feature layer: (N, units)."""
        n_units = sum(part.n_units for part in self.links) + len(self.arrays["output.weight"])

        def hidden_of(found: Activations) -> NDArray[np.float32]:
            return np.concatenate([*found.levels, found.features], axis=1, dtype=np.float32)

        parts = self._run(hidden_of, inputs, None, n_jobs)
        return np.concatenate(parts or [np.empty((0, n_units), np.float32)])

    def _run(
        self,
        keep: Callable[[Activations], NDArray[Any]],
        inputs: Inputs,
        rows: NDArray[np.int64] | None,
        n_jobs: int | None,
    ) -> list[NDArray[Any]]:
        """What to keep of all rows, chunk by chunk; the chunks do not depend on the number of threads."""
        if inputs.n_columns != self.links[0].n_inputs:
            raise ValueError(
                f"rows of {inputs.n_columns} columns for a network of {self.links[0].n_inputs} inputs"
            )
        values: Any = inputs.values if rows is None else inputs.values[rows]
        if values.shape[0] <= _FEW_ROWS:
            return [keep(self._activations(values))] if values.shape[0] else []

        def run(part: tuple[int, int]) -> NDArray[Any]:
            return keep(self._activations(values[slice(*part)]))

        with _libraries().limit(limits=1, user_api="blas"), Workers(n_jobs) as workers:
            return list(workers.map(run, chunks(values.shape[0], _CHUNK_ROWS)))

    def _activations(self, values: Any) -> Activations:
        """Activations of a few rows (B, D), dense or CSR."""
        arrays = self.arrays
        levels: list[Floats] = []
        for k in range(len(self.links)):
            sums = self._sums(k, levels[-1] if levels else values)
            levels.append(activated(sums, self.activation))
        read = [values, *levels]
        groups = [
            _product(read[level], arrays[f"{name}.weight"]) + arrays[f"{name}.bias"]
            for name, level in self.groups
        ]
        features = activated(np.concatenate(groups, axis=1), self.activation)
        outputs = _product(features, arrays["output.weight"]).astype(np.float64)
        outputs += arrays["output.bias"]
        if "linear_skip" in arrays:
            outputs += _product(values, arrays["linear_skip"])
        return Activations(levels, features, outputs)

    def sums(self, values: Any, level: int) -> Floats:
        """What goes into the non-linearity of a level, counted from 1, for rows (B, D), dense or CSR: (B, units)."""
        below = values
        for k in range(level):
            found = self._sums(k, below)
            below = activated(found, self.activation) if k + 1 < level else found
        return found

    def _sums(self, k: int, below: Any) -> Floats:
        """Sums (B, units) of level k + 1; few rows without numba, so that nothing is loaded or compiled."""
        links, weight = self.links[k], self.arrays[f"layers.{k}.weight"]
        bias = self.arrays[f"layers.{k}.bias"]
        dense = isinstance(below, np.ndarray)
        if below.shape[0] <= _FEW_ROWS:
            matrix = self._matrices[k]
            return np.asarray((below @ matrix if dense else _few_sums(below, matrix)) + bias)
        from tsenet.network import kernels

        weight = weight.reshape(-1, links.k)
        out = np.empty((links.n_units, below.shape[0]), weight.dtype)
        if dense:
            read = np.ascontiguousarray(below.T)
            kernels.units_forward(links.by_latent, weight, bias, read, out)
        else:
            rows = below.indptr.astype(np.int64), below.indices.astype(np.int32), below.data
            kernels.rows_forward(rows, links.by_input, weight, bias, out)
        return out.T

    @cached_property
    def _matrices(self) -> list[csr_array]:
        """The weights of each layer as a matrix (inputs, units), in the memory of the parameters."""
        weights = (self.arrays[f"layers.{k}.weight"] for k in range(len(self.links)))
        return [part.matrix(weight) for part, weight in zip(self.links, weights, strict=True)]


def _few_sums(rows: csr_array, matrix: csr_array) -> NDArray[np.float64]:
    """A few sparse rows times a sparse matrix, dense; SciPy's product takes ten times as long on one row."""
    n_rows, n_units = rows.shape[0], matrix.shape[1]
    first = matrix.indptr[rows.indices]
    n_weights = matrix.indptr[rows.indices + 1] - first  # of each entry of the rows
    end = np.cumsum(n_weights)
    weight = np.repeat(first - end + n_weights, n_weights) + np.arange(end[-1] if end.size else 0)
    row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))
    place = np.repeat(row * n_units, n_weights) + matrix.indices[weight]
    added = np.repeat(rows.data, n_weights) * matrix.data[weight]
    sums: NDArray[Any] = np.bincount(place, added, n_rows * n_units)
    return sums.reshape(n_rows, n_units)


def _product(rows: Any, weight: Floats) -> Floats:
    """Rows times a dense weight; few in float64, since BLAS rounds a row otherwise if others come with it."""
    if isinstance(rows, np.ndarray) and len(rows) <= _FEW_ROWS:
        return np.asarray(rows.astype(np.float64) @ weight.astype(np.float64))
    return np.asarray(rows @ weight)


def activated(z: Floats, activation: Activation) -> Floats:
    """The non-linearity, in place; NaN stays NaN."""
    if activation == "relu":
        return np.maximum(z, 0, out=z)
    if activation == "tanh":
        return np.tanh(z, out=z)
    z *= 0.5
    np.tanh(z, out=z)
    z *= 0.5
    z += 0.5
    return z


@lru_cache(maxsize=1)
def _libraries() -> Any:
    """The BLAS libraries; finding them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
