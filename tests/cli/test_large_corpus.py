"""Every command, as a user starts it, on a corpus of ordinary size: 50,000 short texts, 20,000 words."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tsenet

pytestmark = pytest.mark.slow

N_DOCUMENTS = 50_000
N_GROUPS, GROUP_SIZE = 2_000, 10  # words that occur together
LABELS = ("north", "east", "south", "west")


def tsenet_command(*arguments: object) -> str:
    """What a command prints that has to succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "tsenet", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each text has words of one group, two of another of the same label, and one from anywhere; a few are empty."""
    rng = np.random.default_rng(0)
    group = rng.integers(N_GROUPS, size=N_DOCUMENTS)
    other = (group + 4 * rng.integers(N_GROUPS // 4, size=N_DOCUMENTS)) % N_GROUPS
    place = np.argsort(rng.random((N_DOCUMENTS, GROUP_SIZE)), axis=1)
    own = GROUP_SIZE * group[:, None] + place[:, :5]
    near = GROUP_SIZE * other[:, None] + place[:, 5:7]
    any_word = rng.integers(N_GROUPS * GROUP_SIZE, size=(N_DOCUMENTS, 1))
    words = np.concatenate([own, near, any_word], axis=1)
    path = tmp_path_factory.mktemp("large") / "docs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "label", "text"])
        for k, (numbers, g) in enumerate(zip(words.tolist(), group.tolist(), strict=True)):
            text = " ".join(f"word{n}" for n in numbers) if k % 1000 else ""
            writer.writerow([f"d{k}", LABELS[g % 4], text])
    return path


@pytest.fixture(scope="session")
def topics(corpus: Path) -> Path:
    out = corpus.parent / "topics"
    command = ("topics", corpus, "--text", "text", "--id", "key", "--out", out, "--quiet")
    told = json.loads(tsenet_command(*command, "--json"))
    assert told["documents"] == N_DOCUMENTS
    assert told["words"] == 10_000  # the default
    assert told["words_in_topics"] > 8_000
    return out


@pytest.fixture(scope="session")
def classifier(corpus: Path) -> Path:
    out = corpus.parent / "labels.tsenet"
    command = ("fit", corpus, "--text", "text", "--target", "label", "--out", out, "--quiet")
    tsenet_command(*command, "--id", "key", "--max-epochs", 1)
    return out


def test_topics_agree_in_all_files(topics: Path) -> None:
    model = tsenet.load(topics / "model.tsenet")
    shown = model.topics_.set_index("id")
    assert len(shown) > 500

    found: dict[str, float] = {}
    waiting: list[Any] = json.loads((topics / "topics.json").read_text("utf-8"))["topics"]
    while waiting:
        topic = waiting.pop()
        found[topic["name"]] = topic["size"]
        waiting += topic["children"]
    assert found == shown["size"].to_dict()

    read = re.findall(
        r"^ *- ([\d.]+) % .* `(.*)`$", (topics / "topics.md").read_text("utf-8"), re.MULTILINE
    )
    assert {name: share for share, name in read} == {
        name: f"{100 * size:.1f}" for name, size in found.items()
    }

    page = (topics / "topics.html").read_text("utf-8")
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert data is not None
    payload = json.loads(data[1])
    names = payload["names"][payload["layers"][0] :]
    assert sorted(names) == sorted(found)
    assert payload["units"]["share"] == pytest.approx([found[name] for name in names], rel=5e-3)

    rows = rows_of(topics / "documents.csv")
    assert list(dict.fromkeys(row["key"] for row in rows)) == [f"d{k}" for k in range(N_DOCUMENTS)]
    counts = dict.fromkeys(found, 0)
    for row in rows:
        if row["topic"]:
            counts[row["topic"]] += 1
    assert found == pytest.approx({name: n / N_DOCUMENTS for name, n in counts.items()})
    assert {row["topic"] for row in rows if row["key"] in ("d0", "d1000")} == {""}  # no text


def test_topics_of_new_documents_are_those_of_the_fit(corpus: Path, topics: Path) -> None:
    out = corpus.parent / "again"
    command = (
        "topics",
        corpus,
        "--text",
        "text",
        "--id",
        "key",
        "--model",
        topics / "model.tsenet",
    )
    tsenet_command(*command, "--out", out, "--quiet")
    assert (out / "documents.csv").read_bytes() == (topics / "documents.csv").read_bytes()


def test_a_report_of_topics_is_the_page_of_the_fit(corpus: Path, topics: Path) -> None:
    page = corpus.parent / "again.html"
    model = topics / "model.tsenet"
    tsenet_command("report", model, "--data", corpus, "--title", "docs", "-o", page, "--quiet")
    assert page.read_bytes() == (topics / "topics.html").read_bytes()


def test_predict_and_evaluate(corpus: Path, classifier: Path) -> None:
    out = corpus.parent / "predictions.csv"
    tsenet_command("predict", classifier, corpus, "--out", out, "--quiet")
    rows = rows_of(out)
    assert [row["key"] for row in rows] == [f"d{k}" for k in range(N_DOCUMENTS)]
    truth = [row["label"] for row in rows_of(corpus)]
    predicted = [next(value for name, value in row.items() if name != "key") for row in rows]
    accuracy = np.mean([a == b for a, b in zip(truth, predicted, strict=True)])
    assert accuracy > 0.9
    told = json.loads(tsenet_command("evaluate", classifier, corpus, "--json", "--quiet"))
    assert told["accuracy"] == pytest.approx(accuracy)


def test_a_report_of_a_network(corpus: Path, classifier: Path) -> None:
    page, some = corpus.parent / "network.html", corpus.parent / "some.csv"
    lines = corpus.read_text("utf-8").splitlines()[:3_000]
    some.write_text("\n".join(lines), "utf-8")
    tsenet_command("report", classifier, "--data", some, "-o", page, "--quiet")
    assert "</html>" in page.read_text("utf-8")


def test_export(topics: Path, classifier: Path) -> None:
    tsenet_command("export", topics / "model.tsenet", "--bif", topics / "tree.bif")
    assert (topics / "tree.bif").stat().st_size > 100_000
    tsenet_command("export", classifier, "--onnx", topics / "model.onnx")
    assert (topics / "model.onnx").stat().st_size > 100_000
