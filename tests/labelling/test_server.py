"""The server: for its own page only, and the whole way from texts to a model without a browser."""

from __future__ import annotations

import http.client
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tsenet
from tests.labelling.running import Place, make_texts, running, write_csv

TEXTS, TRUTH = make_texts(240)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    path = write_csv(tmp_path_factory.mktemp("served") / "docs.csv", TEXTS)
    with running(path) as found:
        yield found


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Tsenet-Token": ""}, 403),
        ({"X-Tsenet-Token": "guess"}, 403),
        ({"X-Tsenet-Token": "é"}, 403),
        ({"Host": "attacker.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "http://attacker.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_only_its_own_page_gets_answers(place: Place, headers: dict[str, str], status: int) -> None:
    before = place.state()["revision"]
    given = {name: value.encode().decode("latin-1") for name, value in headers.items()}
    body = {"by": "window-two", "seen": 0, "action": {"do": "class", "name": "sport"}}
    assert place.ask("/api/state", headers=given)[0] == status
    assert place.ask("/api/act", body, headers=given)[0] == status
    assert place.state()["revision"] == before


def test_a_form_of_another_page_cannot_act(place: Place) -> None:
    body = {"by": "window-two", "seen": 0, "action": {"do": "class", "name": "sport"}}
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert place.ask("/api/act", body, headers={"Content-Type": kind})[0] == 415
    assert place.ask("/api/act", method="OPTIONS")[0] == 405  # no leave for other origins


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/", None, 403),
        ("/?token=guess", None, 403),
        ("/api/nothing", None, 404),
        ("/assets/../server.py", None, 404),
        ("/assets/label.html", None, 404),
        ("/api/page?view=none", None, 410),
        ("/api/read?document=240", None, 400),
        ("/api/read?document=x", None, 400),
        ("/api/view?sort=size", None, 400),
        ("/api/view?show=class", None, 200),
        ("/api/view?query=/(/", None, 400),
        ("/api/act", "no JSON", 400),
        ("/api/act", "[" * 100_000, 400),
        ("/api/act", [], 400),
        ("/api/act", {"by": "window-one", "seen": 0, "action": {"do": "measured"}}, 400),
        ("/api/act", {"by": "x", "seen": 0, "action": {"do": "undo"}}, 400),
        ("/api/act", " " * 1_000_001, 413),
    ],
)
def test_bad_requests_are_refused_with_a_reason(
    place: Place, path: str, body: Any, status: int
) -> None:
    found, answer = place.ask(path, body)
    assert found == status
    if path.startswith("/api") and status != 200:
        assert answer["error"]


def test_every_answer_has_the_headers_that_keep_other_pages_away(place: Place) -> None:
    for path in (f"/?token={place.token}", "/", "/assets/main.js", "/api/state", "/nothing"):
        connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        policy = answer.getheader("content-security-policy") or ""
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.getheader("referrer-policy") == "no-referrer"
        assert answer.getheader("access-control-allow-origin") is None
        connection.close()


def test_it_listens_on_this_machine_only(place: Place) -> None:
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("needs Linux's table of sockets")
    port = f"{place.port:04X}"
    rows = [line.split() for line in table.read_text().splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{port}")]
    assert listening == [f"0100007F:{port}"]


def label_some(place: Place, n: int) -> None:
    """Label the first n texts of each list that is proposed with their true subjects."""
    names = {one["name"]: one["id"] for one in place.state()["classes"]}
    for name in dict.fromkeys(TRUTH):
        if name not in names:
            names[name] = place.act({"do": "class", "name": name})["class"]
    labelled = 0
    while labelled < n:
        view, _ = place.view(sort="proposed")
        for item in place.items(view)[: min(10, n - labelled)]:
            subject = TRUTH[item["document"]]
            action = {"do": "label", "documents": [item["document"]], "classes": [names[subject]]}
            place.act({**action, "how": item["reason"]})
            labelled += 1


@pytest.mark.slow
def test_the_whole_way_from_texts_to_a_model(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS, number=[str(i) for i in range(len(TEXTS))])
    with running(data) as place:
        place.wait_for(lambda state: state["learner"]["topics"])
        label_some(place, 30)
        state = place.wait_for(lambda state: "accuracy" in state["estimate"])
        assert state["labelled"] == 30
        assert state["estimate"]["low"] <= state["estimate"]["accuracy"]

        # A label of a whole topic gives way to those of texts.
        _, topics = place.ask("/api/topics")
        topic = max((one for one in topics if one["level"] == 1), key=lambda one: one["n"])
        chosen = place.state()["classes"][0]["id"]
        done = place.act({"do": "topic", "topic": topic["topic"], "class": chosen})
        assert done["n"] == topic["n"]
        assert 0 < place.state()["by_topic"] < topic["n"] + 1
        place.act({"do": "undo"})
        assert place.state()["by_topic"] == 0

        revision = place.state()["revision"]
        place.wait_for(lambda state: state["learner"]["labels"] == 30)
        view, n = place.view(sort="uncertain", show="open")
        assert n == len(TEXTS) - 30
        item = place.items(view)[0]
        _, why = place.ask(f"/api/why?document={item['document']}")
        assert why["for"] == item["predicted"][0] != why["against"]
        words = TEXTS[item["document"]].split()
        assert all(part["word"] in words for part in why["words"])

        status, _ = place.ask("/api/export", {})
        assert status == 200
        done = place.wait_for(lambda state: not state["export"]["stage"])["export"]["done"]
        assert place.state()["revision"] >= revision

    table = pd.read_csv(tmp_path / "docs.labelled.csv", dtype=str, keep_default_na=False)
    assert table["number"].tolist() == [str(i) for i in range(len(TEXTS))]
    own = table["source"] == "you"
    assert own.sum() == 30
    assert (table["label"][own] == np.array(TRUTH)[own]).all()
    assert (table["prediction"] == TRUTH).mean() > 0.85
    model = tsenet.load(tmp_path / "docs.tsenet")
    assert model.predict(TEXTS).tolist() == table["prediction"].tolist()
    assert "docs.csv" in (tmp_path / "docs.report.html").read_text("utf-8")

    # The command and the Python lines fit the same model again.
    chances = model.predict_proba(TEXTS)
    (tmp_path / "docs.tsenet").unlink()
    words = shlex.split(done["command"])
    subprocess.run([sys.executable, "-m", *words, "--quiet"], cwd=tmp_path, check=True)
    again = tsenet.load(tmp_path / "docs.tsenet")
    np.testing.assert_allclose(again.predict_proba(TEXTS), chances, atol=1e-12)
    (tmp_path / "docs.tsenet").unlink()
    (tmp_path / "fit.py").write_text(done["python"])
    subprocess.run([sys.executable, "fit.py"], cwd=tmp_path, check=True)
    again = tsenet.load(tmp_path / "docs.tsenet")
    np.testing.assert_allclose(again.predict_proba(TEXTS), chances, atol=1e-12)


def test_proposals_go_on_after_those_that_were_read(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS[:150])
    with running(data) as place:
        place.wait_for(lambda state: state["learner"]["topics"])
        first, n = place.view(sort="proposed")
        assert n == 40
        before = place.items(first)
        label_some(place, 5)
        view, n = place.view(sort="proposed", after=first, read=6)
        after = place.items(view)
        shown = [item["document"] for item in after]
        assert n == len(set(shown)) == 46
        assert shown[:6] == [item["document"] for item in before[:6]]
        assert [item["reason"] for item in after[:6]] == [item["reason"] for item in before[:6]]
        assert not any(item["classes"] for item in after[5:])
        # The sixth waits for its label: every fourth one after it is drawn at random.
        drawn = [k for k, item in enumerate(after) if item["reason"] == "random"]
        assert set(drawn) >= set(range(0, 46, 4))

        # A list does not grow for ever.
        view, n = place.view(sort="proposed", after=view, read=46)
        assert n == 80
        assert [item["document"] for item in place.items(view)[:40]] == shown[6:]


def test_killed_and_started_again_it_goes_on(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS[:60], label=["space", *[""] * 59])
    with running(data, "--target", "label") as place:
        label_some(place, 7)
        _, first = place.ask("/api/read?document=0")
        assert first["who"] in ("file", "you")
        before = place.state()
        place.kill()
    with running(data, "--target", "label") as place:
        after = place.state()
        assert after["classes"] == before["classes"]
        assert after["labelled"] == before["labelled"] >= 7
        assert after["revision"] == before["revision"]


@pytest.mark.slow
def test_several_classes_and_topics_become_columns_and_weights(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "docs.csv", TEXTS)
    vectors = np.eye(3)[[["sport", "politics", "space"].index(name) for name in TRUTH]]
    np.save(tmp_path / "docs.embeddings.npy", vectors)
    with running(data, "--embeddings", str(tmp_path / "docs.embeddings.npy")) as place:
        ids = [place.act({"do": "class", "name": name})["class"] for name in ("sport", "news")]
        place.act({"do": "several", "on": True})
        for i in range(24):
            sport = [ids[0]] if TRUTH[i] == "sport" else []
            news = [ids[1]] if TRUTH[i] != "space" else []
            classes = [*sport, *news] or ["none"]
            place.act({"do": "label", "documents": [i], "classes": classes})
        place.wait_for(lambda state: state["learner"]["topics"])
        _, topics = place.ask("/api/topics")
        place.act({"do": "topic", "topic": topics[0]["topic"], "class": ids[1]})
        place.wait_for(lambda state: state["learner"]["fitted"] == state["revision"])
        place.ask("/api/export", {})
        state = place.wait_for(lambda state: not state["export"]["stage"])
        done = state["export"]["done"]
    table = pd.read_csv(tmp_path / "docs.labelled.csv", dtype=str, keep_default_na=False)
    own = table[table["source"] == "you"]
    assert set(own["label"]) == {"sport; news", "news", "none of these"}
    assert set(own["label: sport"]) == {"0", "1"}
    weak = table[table["source"] == "topic"]
    assert len(weak) == state["by_topic"] > 0
    assert set(weak["label: sport"]) == {""}
    assert set(weak["label: news"]) == {"1"}
    assert set(weak["weight"]) != {"1"}
    chances = tsenet.load(tmp_path / "docs.tsenet").predict_proba(TEXTS)
    (tmp_path / "fit.py").write_text(done["python"])
    subprocess.run([sys.executable, "fit.py"], cwd=tmp_path, check=True)
    again = tsenet.load(tmp_path / "docs.tsenet")
    np.testing.assert_allclose(again.predict_proba(TEXTS), chances, atol=1e-12)
