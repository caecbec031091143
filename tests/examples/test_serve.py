"""The example of a service, as a process of its own: right answers, clear refusals, nothing left behind."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.measure import ROOT
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
    "1 GB": 413,
    "huge length": 413,
    "other path": 404,
    "GET": 405,
    "DELETE": 405,
}


@pytest.fixture(scope="module")
def model() -> TSENetClassifier:
    return TSENetClassifier(max_epochs=2, random_state=0).fit(TEXTS[:40], SUBJECTS[:40])


@pytest.fixture(scope="module")
def model_path(model: TSENetClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("service") / "model.tsenet"
    model.save(path)
    return path


@pytest.fixture(scope="module")
def running(model_path: Path) -> Iterator[tuple[int, int]]:
    with service(model_path) as place:
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
    assert after["threads"] <= before["threads"] + (os.cpu_count() or 1)  # that predict
    assert after["files"] <= before["files"]
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    assert ask(connection, {"texts": ["goal"]})[0] == 200
    connection.close()


def answer_of(connection: socket.socket) -> bytes:
    """What comes before the connection is closed."""
    chunks = []
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(4096):
            chunks.append(chunk)
    return b"".join(chunks)


def test_more_connections_of_an_address_are_sent_away(running: tuple[int, int]) -> None:
    port, process = running
    before = settled(process, {"files": 1}, seconds=2.0)
    place = (HOST, port)
    opened = [socket.create_connection(place, timeout=60) for _ in range(serve.MAX_PER_ADDRESS)]
    try:
        with socket.create_connection(place, timeout=60) as extra:
            assert answer_of(extra).startswith(b"HTTP/1.1 503 ")
        # Another address is served meanwhile.
        other = http.client.HTTPConnection(HOST, port, timeout=60, source_address=("127.0.0.2", 0))
        assert ask(other, {"texts": ["goal"]})[0] == 200
        other.close()
    finally:
        for connection in opened:
            connection.close()
    assert settled(process, before)["files"] <= before["files"]


HEAD = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"


def test_clients_that_send_a_byte_now_and_then_do_not_hold_the_service(model_path: Path) -> None:
    """Whether they drip the head or the body of a request; they get a 408 or are cut off, and no 500 is logged."""
    with service(model_path, "--seconds", "1") as (port, process):
        before = settled(process, {"files": 1}, seconds=1.0)
        place = (HOST, port)
        clients = [
            socket.create_connection(place, timeout=60) for _ in range(serve.MAX_PER_ADDRESS)
        ]
        in_head, in_body = clients[::2], clients[1::2]
        for client in in_body:
            client.sendall(HEAD)
        alive = set(clients)
        for byte in HEAD:
            for client in list(alive):
                try:
                    client.sendall(bytes([byte]))
                except ConnectionError:
                    alive.discard(client)
            time.sleep(0.1)
        assert alive == set(), "the clients could go on for ever"
        assert not any(b" 500 " in answer_of(client) for client in in_head)
        for client in clients:
            client.close()
        connection = http.client.HTTPConnection(HOST, port, timeout=60)
        assert ask(connection, {"texts": ["goal"]})[0] == 200
        connection.close()
        assert settled(process, before)["files"] <= before["files"]


def test_a_late_body_gets_a_408(model_path: Path) -> None:
    with (
        service(model_path, "--seconds", "1") as (port, _),
        socket.create_connection((HOST, port), timeout=60) as client,
    ):
        client.sendall(HEAD + b"{")
        assert answer_of(client).startswith(b"HTTP/1.1 408 ")


def test_the_service_ends_when_it_is_told_to(model_path: Path) -> None:
    with service(model_path) as (_, process):
        assert state(process)["threads"] >= 1
        os.kill(process, signal.SIGTERM)
        os.kill(process, signal.SIGTERM)  # twice does no harm
        assert exit_code(process) == 0


def exit_code(process: int) -> int | None:
    """The exit code of a process; None if it still runs after a minute."""
    for _ in range(600):
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    return None


def test_a_signal_that_comes_while_the_service_starts_ends_it(model_path: Path) -> None:
    """The address is printed before the server runs; who reads it may send a signal at once."""
    program = (
        "import builtins, signal, sys\n"
        "from examples import serve\n"
        "builtins.print = lambda *args, **options: signal.raise_signal(signal.SIGTERM)\n"
        "raise SystemExit(serve.main([sys.argv[1], '--port', '0']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(model_path)], check=False, cwd=ROOT, timeout=60
    )
    assert ended.returncode == 0


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
    def server(self, fitted: TSENetClassifier, tmp_path: Path) -> serve.Service:
        fitted.save(tmp_path / "model.tsenet")
        return serve.Service(tmp_path / "model.tsenet")

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
