"""The example of a service, as a process of its own: right answers, clear refusals, nothing left behind."""

from __future__ import annotations

import http.client
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.serve import (
    BAD,
    HOST,
    NO_STATUS,
    SUBJECTS,
    TEXTS,
    ask_badly,
    service,
    settled,
    state,
)
from examples import serve
from tsenet import TSENetClassifier

STATUS = {
    "too many": 413,
    "huge length": 413,
    "1 GB": 413,
    "no length": 411,
    "negative length": 411,
}
STATUS |= {"other path": 404, "GET": 404, "DELETE": 501, "long line": 414, "many heads": 431}


@pytest.fixture(scope="module")
def model() -> TSENetClassifier:
    return TSENetClassifier(max_epochs=2, random_state=0).fit(TEXTS[:40], SUBJECTS[:40])


@pytest.fixture(scope="module")
def running(
    model: TSENetClassifier, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[int, int]]:
    path = tmp_path_factory.mktemp("service") / "model.tsenet"
    model.save(path)
    with service(path) as place:
        yield place


def ask(connection: http.client.HTTPConnection, body: Any, method: str = "POST") -> tuple[int, Any]:
    path = "/predict" if method == "POST" else "/health"
    connection.request(method, path, None if body is None else json.dumps(body))
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_answers_are_those_of_the_model(running: tuple[int, int], model: TSENetClassifier) -> None:
    texts = ["the referee saw a goal", "a ballot", ""]
    connection = http.client.HTTPConnection(HOST, running[0], timeout=60)
    assert ask(connection, None, "GET") == (200, {"status": "ok", "columns": model.n_features_in_})
    status, refused = ask(
        connection, {"rows": [[1.0]]}
    )  # the connection stays open after a refusal
    assert status == 400
    assert "features" in refused["error"]
    status, answer = ask(connection, {"texts": texts})
    connection.close()
    assert status == 200
    assert answer == {
        "predictions": model.predict(texts).tolist(),
        "probabilities": model.predict_proba(texts).tolist(),
        "classes": ["politics", "sport"],
    }


def test_bad_requests_leave_nothing_behind(running: tuple[int, int]) -> None:
    port, process = running
    ask_badly(port, "not JSON")
    before = settled(process, {"threads": 1}, seconds=2.0)
    for name in 3 * list(BAD):
        status = ask_badly(port, name)
        cut_off = name in NO_STATUS or (status is None and len(BAD[name]) > 1000)
        assert cut_off or status == STATUS.get(name, 400), (name, status)
    after = settled(process, before)
    assert after["threads"] <= before["threads"]
    assert after["files"] <= before["files"]
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    assert ask(connection, {"texts": ["goal"]})[0] == 200
    connection.close()


def test_too_many_clients_are_sent_away(running: tuple[int, int]) -> None:
    port, process = running
    before = settled(process, {"threads": 1}, seconds=2.0)
    clients = [
        http.client.HTTPConnection(HOST, port, timeout=60) for _ in range(serve.MOST_CLIENTS)
    ]
    try:
        for client in clients:  # each has its thread once it has been answered
            assert ask(client, None, "GET")[0] == 200
        extra = http.client.HTTPConnection(HOST, port, timeout=60)
        extra.connect()
        assert extra.sock.recv(100).startswith(b"HTTP/1.1 503 ")
        extra.close()
    finally:
        for client in clients:
            client.close()
    assert settled(process, before)["threads"] <= before["threads"]


def test_the_service_ends_when_it_is_told_to(model: TSENetClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "model.tsenet")
    with service(tmp_path / "model.tsenet") as (_, process):
        assert state(process)["threads"] >= 1
        os.kill(process, signal.SIGTERM)
        os.kill(process, signal.SIGTERM)  # twice does no harm
        _, code = os.waitpid(process, 0)
        assert os.waitstatus_to_exitcode(code) == 0


class TestTables:
    """A model of numbers, categories and dates."""

    FRAME = pd.DataFrame(
        {
            "age": np.arange(60.0) % 17,
            "colour": np.where(np.arange(60) % 2 == 0, "red", "blue"),
            "at": np.datetime64("2024-01-01", "s") + np.arange(60) * np.timedelta64(1, "D"),
        }
    )

    @pytest.fixture
    def fitted(self) -> TSENetClassifier:
        y = (self.FRAME["colour"] == "red").to_numpy()
        return TSENetClassifier(max_epochs=3, random_state=0).fit(self.FRAME, y)

    @pytest.fixture
    def server(self, fitted: TSENetClassifier, tmp_path: Path) -> Iterator[serve.Service]:
        fitted.save(tmp_path / "model.tsenet")
        with serve.Service((HOST, 0), tmp_path / "model.tsenet") as server:
            yield server

    @pytest.mark.filterwarnings("ignore:.*dates")
    def test_named_rows(self, server: serve.Service, fitted: TSENetClassifier) -> None:
        rows = [
            {"age": 3, "colour": "red", "at": "2024-02-03"},
            {"at": "2024-01-01", "age": None, "colour": ""},
            {"colour": "green"},
        ]
        expected = pd.DataFrame(
            {
                "age": [3.0, np.nan, np.nan],
                "colour": ["red", None, "green"],
                "at": pd.to_datetime(["2024-02-03", "2024-01-01", None]),
            }
        )
        answer = server.answer({"rows": rows})
        np.testing.assert_allclose(
            answer["probabilities"], fitted.predict_proba(expected), atol=1e-6
        )

    @pytest.mark.parametrize(
        ("rows", "why"),
        [
            ([{"age": 3, "size": 1}], "no column 'size'"),
            ([{"age": "old"}], "'age'"),
            ([{"age": [1]}], "'age'"),
            ([[3, "red"]], "values"),
            ([[3], {"age": 3}], "list or"),
        ],
    )
    def test_rows_that_are_refused(self, server: serve.Service, rows: Any, why: str) -> None:
        with pytest.raises(serve.RefusedError, match=why) as refused:
            server.answer({"rows": rows})
        assert refused.value.status == 400
