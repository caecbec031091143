"""`Inputs`, the rows of a table as a network reads them, and batches of them, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tsenet.data.binary import BinaryRule
from tsenet.data.table import Table

if TYPE_CHECKING:
    import torch


class SparseBatch(NamedTuple):
    """B sparse rows: row i has ``values[k]`` at ``columns[k]``, k in ``row_start[i]:row_start[i + 1]``."""

    row_start: torch.Tensor  # int64 (B + 1,)
    columns: torch.Tensor  # int32 (nnz,)
    values: torch.Tensor  # float (nnz,)
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Number of rows B."""
        return int(self.row_start.numel()) - 1

    @property
    def device(self) -> torch.device:
        """Where the values live."""
        return self.values.device

    def to(self, device: Any) -> SparseBatch:
        """Return the batch on another device."""
        start, columns, values = (part.to(device) for part in self[:3])
        return SparseBatch(start, columns, values, self.n_columns)

    def times(self, weight: torch.Tensor) -> torch.Tensor:
        """The rows times a dense weight (D, S): (B, S)."""
        from torch.nn import functional

        return functional.embedding_bag(
            self.columns.long(),
            weight,
            self.row_start,
            mode="sum",
            per_sample_weights=self.values,
            include_last_offset=True,
        )


Batch: TypeAlias = "torch.Tensor | SparseBatch"


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

        if isinstance(self.values, np.ndarray):
            values = self.values if rows is None else self.values[rows]
            return torch.from_numpy(_dropped(values, dropout, key) if dropout else values)
        chosen = self.values if rows is None else self.values[rows]
        start, columns = chosen.indptr.astype(np.int64), chosen.indices.astype(np.int32, copy=False)
        values = _dropped(chosen.data, dropout, key) if dropout else chosen.data
        parts = torch.from_numpy(start), torch.from_numpy(columns), torch.from_numpy(values)
        return SparseBatch(*parts, self.n_columns)


class Drawn:
    """Random numbers for dropout, whose rate is rounded to 1/256.

    Bytes of whole words are by far the cheapest ones at hand: torch takes ten to thirty times as long on a CPU.
    """

    def __init__(self, rate: float, generator: np.random.Generator) -> None:
        self.below = min(round(256 * rate), 255)
        self.scale = 256 / (256 - self.below)
        self._generator = generator

    def draw(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """The next numbers; one under ``below`` means that the entry is dropped."""
        n = prod(shape)
        words = self._generator.integers(0, 2**64, -(-n // 8), np.uint64)
        return words.view(np.uint8)[:n].reshape(shape)

    def factors(self, like: torch.Tensor) -> torch.Tensor:
        """What to multiply a tensor with: 0, or the ``scale``."""
        import torch

        kept = (self.draw(tuple(like.shape)) >= self.below) * np.float32(self.scale)
        return torch.from_numpy(kept).to(like.device, like.dtype)


def _dropped(values: NDArray[np.float32], dropout: float, key: int) -> NDArray[np.float32]:
    """A copy of the values of which dropout has set a share to 0."""
    drawn = Drawn(dropout, np.random.Generator(np.random.SFC64(key)))
    kept = drawn.draw(values.shape) >= drawn.below
    return np.asarray(values * (kept * values.dtype.type(drawn.scale)), values.dtype)


def is_bag(values: NDArray[np.float32] | csr_array) -> bool:
    """Whether rows are sparse and have no negative value, as bags of words are."""
    return not isinstance(values, np.ndarray) and bool((values.data >= 0).all())
