"""Batches from shards: the same rows in the same order for any number of processes, each row once in an epoch."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tsenet.errors import DataError
from tsenet.network.batches import Inputs
from tsenet.training.peers import Peers
from tsenet.training.streams import LabelledRows, ShardStreams, cut_into_streams


class Recorder:
    """An engine that notes which rows it was given, and a folder that notes what was read."""

    def __init__(self, sizes: NDArray[np.int64]) -> None:
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.read_partitions: list[int] = []
        self.given: list[tuple[list[int], int]] = []

    def read(self, partition: int) -> LabelledRows:
        """Row r has the value r + 1 and the target r."""
        self.read_partitions.append(partition)
        rows = np.arange(self.starts[partition], self.starts[partition + 1])
        return LabelledRows(sp.csr_array(rows[:, None].astype(np.float32) + 1), rows)

    def take_rows_of(self, inputs: Inputs, first_row: int) -> None:
        values: Any = inputs.values
        self.given.append((values.toarray()[:, 0].astype(int).tolist(), first_row))


class Epoch(NamedTuple):
    rows: list[list[int]]  # of each batch
    first_rows: list[int]
    totals: list[int]
    partitions: list[int]


def epoch_of(
    sizes: Any,
    peers: Peers,
    *,
    n_streams: int = 4,
    buffer_rows: int = 5,
    epoch: int = 0,
    n_batches: int = 6,
    first: int = 0,
) -> Epoch:
    sizes = np.array(sizes, np.int64)
    recorder: Any = Recorder(sizes)
    bounds = cut_into_streams(np.maximum(sizes, 1), n_streams)
    source = ShardStreams(recorder, recorder.read, sizes, bounds, peers, 3, buffer_rows, "folder")
    assert source.n_rows == sizes.sum()
    rows, totals = [], []
    for part in source.batches(epoch, n_batches, first):
        assert (
            recorder.given[-1][0] == (part.targets + 1).tolist()
        )  # values and targets stay together
        assert part.rows.tolist() == list(range(part.targets.size))
        rows.append(part.targets.tolist())
        totals.append(part.n_rows)
    return Epoch(rows, [f for _, f in recorder.given], totals, recorder.read_partitions)


SIZES = st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any)


@settings(max_examples=25, deadline=None)
@given(SIZES, st.integers(1, 5), st.integers(1, 12), st.integers(1, 9), st.integers(0, 2))
def test_any_number_of_processes_sees_the_same_batches(
    sizes: list[int], n_streams: int, buffer_rows: int, n_batches: int, epoch: int
) -> None:
    options: Any = {
        "n_streams": n_streams,
        "buffer_rows": buffer_rows,
        "n_batches": n_batches,
        "epoch": epoch,
    }
    whole = epoch_of(sizes, Peers(), **options)
    assert sorted(chain(*whole.rows)) == list(range(sum(sizes)))  # each row once
    assert whole.totals == [len(rows) for rows in whole.rows]
    assert set(whole.first_rows) == {0}
    for size in range(1, min(n_streams, len(sizes)) + 1):
        parts = [epoch_of(sizes, Peers(rank, size), **options) for rank in range(size)]
        for k, rows in enumerate(whole.rows):
            assert list(chain(*(part.rows[k] for part in parts))) == rows
            before = 0
            for part in parts:
                assert part.first_rows[k] == before
                assert part.totals[k] == len(rows)
                before += len(part.rows[k])


@settings(max_examples=20, deadline=None)
@given(SIZES, st.integers(1, 4), st.integers(1, 12), st.integers(1, 8), st.data())
def test_an_epoch_continues_at_any_batch(
    sizes: list[int], n_streams: int, buffer_rows: int, n_batches: int, data: Any
) -> None:
    first = data.draw(st.integers(0, n_batches))
    options: Any = {"n_streams": n_streams, "buffer_rows": buffer_rows, "n_batches": n_batches}
    whole = epoch_of(sizes, Peers(), **options)
    rest = epoch_of(sizes, Peers(), **options, first=first)
    assert rest.rows == whole.rows[first:]
    assert len(rest.partitions) <= len(whole.partitions) + 1


def test_batches_are_of_about_the_same_size() -> None:
    found = epoch_of([50] * 16, Peers(), n_streams=16, n_batches=30)
    assert min(found.totals) >= 26
    assert max(found.totals) <= 28


def test_a_process_reads_its_own_partitions_once() -> None:
    parts = [epoch_of([7] * 12, Peers(rank, 3), n_streams=6) for rank in range(3)]
    assert [sorted(part.partitions) for part in parts] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10, 11],
    ]


def test_no_more_than_the_buffer_is_read_ahead() -> None:
    """After a batch of two rows of each stream, each has read one buffer: ten rows, two partitions."""
    sizes = np.full(20, 5, np.int64)
    recorder: Any = Recorder(sizes)
    source = ShardStreams(
        recorder, recorder.read, sizes, cut_into_streams(sizes, 2), Peers(), 0, 10, ""
    )
    next(source.batches(0, 25, 0))
    assert len(recorder.read_partitions) == 4


def test_epochs_and_seeds_differ() -> None:
    one, two = (epoch_of([9] * 8, Peers(), epoch=epoch).rows for epoch in (0, 1))
    assert one != two
    assert epoch_of([9] * 8, Peers()).rows == one


def test_rows_of_different_partitions_are_mixed() -> None:
    found = epoch_of([10] * 4, Peers(), n_streams=1, buffer_rows=40, n_batches=4)
    assert all(len({row // 10 for row in rows}) > 1 for rows in found.rows)


@pytest.mark.parametrize(
    ("sizes", "n_streams", "bounds"),
    [
        ([5, 5, 5, 5], 2, [0, 2, 4]),
        ([5, 5], 8, [0, 1, 2]),
        ([1, 1, 1, 97], 2, [0, 3, 4]),
        ([3], 4, [0, 1]),
    ],
)
def test_streams_have_about_the_same_size(
    sizes: list[int], n_streams: int, bounds: list[int]
) -> None:
    assert cut_into_streams(np.array(sizes), n_streams).tolist() == bounds


def test_too_many_processes_are_refused() -> None:
    with pytest.raises(DataError, match="3 processes need at least as many streams"):
        epoch_of([4, 4], Peers(0, 3))
