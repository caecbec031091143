"""Threads: how many there are, and that neither the cut of the work nor its order depends on them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from tsenet._system.threads import (
    Workers,
    blas_threads,
    chunks,
    chunks_of_equal_work,
    thread_count,
)


def test_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    cores = thread_count(-1)
    assert thread_count(None) == 1
    assert thread_count(3) == 3
    assert thread_count(-2) == max(1, cores - 1)
    assert thread_count(-1000) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1000")
    assert thread_count(None) == cores
    for unusable in ("", "0", "many", "2,1"):
        monkeypatch.setenv("OMP_NUM_THREADS", unusable)
        assert thread_count(None) == cores
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        thread_count(0)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_the_order_of_the_tasks(n_threads: int) -> None:
    first_may_end = threading.Event()

    def task(number: int) -> int:
        if n_threads > 1 and number == 0:
            assert first_may_end.wait(60)  # the others are done before
        if number == 9:
            first_may_end.set()
        return number

    with Workers(n_threads) as workers:
        assert list(workers.map(task, range(10))) == list(range(10))


@given(n_items=st.integers(0, 100), size=st.integers(1, 30))
def test_chunks_cover_every_item_once(n_items: int, size: int) -> None:
    found = chunks(n_items, size)
    assert [k for start, stop in found for k in range(start, stop)] == list(range(n_items))
    assert all(stop - start == size for start, stop in found[:-1])


@given(work=st.lists(st.integers(1, 20), max_size=40), per_chunk=st.integers(1, 50))
def test_chunks_of_equal_work_are_no_larger_than_an_item_more(
    work: list[int], per_chunk: int
) -> None:
    found = chunks_of_equal_work(np.array(work, np.int64), per_chunk)
    assert [k for start, stop in found for k in range(start, stop)] == list(range(len(work)))
    for start, stop in found:
        assert sum(work[start : stop - 1]) <= per_chunk + max(work)


def test_blas_threads_are_limited_and_come_back() -> None:
    def n_threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = n_threads()
    assert before
    with blas_threads(1):
        assert set(n_threads()) == {1}
    assert n_threads() == before
