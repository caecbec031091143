"""Tasks are spread over the workers from the start."""

from __future__ import annotations

from typing import Any

from tsenet.scale.cluster_tasks import Sending
from tsenet.scale.report import Spent


def test_neighbours_share_a_worker_and_folds_take_turns(client: Any) -> None:
    first, second = sorted(client.nthreads())
    sending = Sending(client, Spent())
    assert sending.places(4) == [first, first, second, second]
    assert sending.places(1) == [second]
    assert sending.places(1) == [first]
