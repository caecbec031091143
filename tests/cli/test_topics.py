"""``tsenet topics``: what it writes, what it reads, and how it ends."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tsenet
from tests.cli.program import QUICK_TOPICS, SUBJECTS, error_of, fine, make_documents, names, run
from tsenet.data import embed

DOCUMENTS = make_documents(120)
WORDS = sorted(word for subject in SUBJECTS for word in subject)
FILES = ["documents.csv", "model.tsenet", "topics.html", "topics.json", "topics.md"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of three subjects, the last without text."""
    path = tmp_path_factory.mktemp("in") / "news.csv"
    texts = [*DOCUMENTS, ""]
    ids = [f"=d{k}" for k in range(len(texts))]
    pd.DataFrame({"id": ids, "body": texts}).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def results(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that ``tsenet topics`` writes."""
    out = tmp_path_factory.mktemp("out") / "topics"
    fine("topics", data, "--text", "body", "--id", "id", "--out", out, *QUICK_TOPICS)
    return out


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    return tmp_path / "results" / "topics"


def every_topic(topics: list[Any]) -> list[Any]:
    return [each for topic in topics for each in (topic, *every_topic(topic["children"]))]


def test_levels_have_the_sizes_asked_for(data: Path, out: Path) -> None:
    given = ("topics", data, "--text", "body", "--out", out, "--quiet", "--no-explorer")
    fine(*given, "--levels", "1,3")
    levels = tsenet.load(out / "model.tsenet").topics_["level"].tolist()
    assert levels == [2, 1, 1, 1]
    for wrong in (("--levels", "2,x"), ("--levels", "2,3"), ("--levels", "2,4", "--topics", "3")):
        refused = run(*given, "--force", *wrong)
        assert refused.exit_code in (1, 2)
        assert "level" in refused.stderr


class TestResults:
    def test_all_files_show_the_same_topics(self, results: Path) -> None:
        assert names(results) == FILES
        model = tsenet.load(results / "model.tsenet")
        assert sorted(model.vocabulary_) == WORDS
        shown = dict(zip(model.topics_["id"], model.topics_["share"], strict=True))
        document = json.loads((results / "topics.json").read_text("utf-8"))
        listed = every_topic(document["topics"])
        assert {topic["name"]: topic["size"] for topic in listed} == shown
        for topic in listed:  # each is about one of the three subjects
            words = {word["word"] for word in topic["words"]}
            assert topic["level"] > 1 or any(words <= set(subject) for subject in SUBJECTS)
        lines = re.findall(r"- ([\d.]+) % .* `(.*)`", (results / "topics.md").read_text("utf-8"))
        assert {name: share for share, name in lines} == {
            name: f"{100 * size:.1f}" for name, size in shown.items()
        }
        assert "</html>" in (results / "topics.html").read_text("utf-8")

    def test_the_topics_of_each_document(self, results: Path) -> None:
        table = pd.read_csv(results / "documents.csv")
        assert table.columns.tolist() == ["id", "topic", "title", "strength"]
        assert table["id"].drop_duplicates().tolist() == [f"'=d{k}" for k in range(121)]
        assert (table["strength"].dropna() >= 0.5).all()
        first = table[table["id"] == "'=d0"]
        expected = tsenet.load(results / "model.tsenet").topics_of(DOCUMENTS[0])
        assert first["topic"].tolist() == expected["id"].tolist()
        assert first["title"].tolist() == expected["label"].tolist()
        assert first["strength"].tolist() == expected["strength"].round(4).tolist()
        assert table[table["id"] == "'=d120"].isna().sum().tolist() == [0, 1, 1, 1]  # no text

    def test_new_documents(self, results: Path, out: Path, tmp_path: Path) -> None:
        (tmp_path / "new.txt").write_text("\n".join(DOCUMENTS[:5]) + "\n", encoding="utf-8")
        command = ("topics", tmp_path / "new.txt", "--model", results / "model.tsenet")
        assert "5 documents" in fine(*command, "--out", out, "--quiet")
        assert names(out) == ["documents.csv"]
        after = pd.read_csv(out / "documents.csv")
        before = pd.read_csv(results / "documents.csv").iloc[: len(after)]
        assert after[["topic", "strength"]].equals(before[["topic", "strength"]])
        for option in (("--words", "9"), ("--set", "top_words=3"), ("--seed-words", "a=b,c")):
            refused = run(*command, "--out", out, *option)
            assert refused.exit_code == 2
            assert option[0] in refused.stderr

    def test_topics_are_edited(self, data: Path, results: Path, out: Path) -> None:
        before = tsenet.load(results / "model.tsenet")
        first, second = before.topics_.query("level == 1")["id"][:2]
        columns = ("--text", "body", "--id", "id", "--quiet")
        edits = ("--merge", f"{first}, {second}", "--rename", f"{first}=Sport")
        command = ("topics", data, *columns, "--out", out)
        fine(*command, "--model", results / "model.tsenet", *edits)
        assert names(out) == FILES
        expected = before.merge([first, second], [*DOCUMENTS, ""]).rename({first: "Sport"})
        after = tsenet.load(out / "model.tsenet")
        assert after.topics_["label"].tolist() == expected.topics_["label"].tolist()
        assert "Sport" in (out / "topics.md").read_text("utf-8")
        assert second not in pd.read_csv(out / "documents.csv")["topic"].tolist()
        fine(*command, "--reduce", "2", "--force", "--no-explorer")
        reduced = tsenet.load(out / "model.tsenet").topics_
        listed = json.loads((out / "topics.json").read_text("utf-8"))["topics"]
        assert [topic["name"] for topic in listed] == reduced["id"].tolist()
        assert len(reduced) == 2
        assert "--merge" in run(*command, *edits).stderr
        wrong = ("--model", results / "model.tsenet", "--rename")
        assert "NAME=VALUE" in run(*command, *wrong, "Sport", "--force").stderr
        assert "no topic 'Z99'" in error_of(*command, *wrong, "Z99=Sport", "--force")

    def test_a_merged_topic_is_split_again(self, tmp_path: Path) -> None:
        pd.DataFrame({"text": make_documents(600)}).to_csv(tmp_path / "news.csv", index=False)
        command = ("topics", tmp_path / "news.csv", "--quiet", "--no-explorer", "--levels", "3")
        fine(*command, "--out", tmp_path / "three")
        before = tsenet.load(tmp_path / "three" / "model.tsenet").topics_
        first, second = before["id"][:2]

        command = command[:-2]
        model = tmp_path / "three" / "model.tsenet"
        fine(*command, "--model", model, "--merge", f"{first},{second}", "--out", tmp_path / "two")
        model = tmp_path / "two" / "model.tsenet"
        assert len(tsenet.load(model).topics_) == 2
        fine(*command, "--model", model, "--split", first, "--out", tmp_path / "again")
        after = tsenet.load(tmp_path / "again" / "model.tsenet").topics_
        assert sorted(map(sorted, after["members"])) == sorted(map(sorted, before["members"]))
        assert "--split" in run(*command, "--split", first, "--out", tmp_path / "none").stderr

    @pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
    def test_a_terminal_shows_the_tree(self, data: Path, results: Path, tmp_path: Path) -> None:
        import pty

        command = ["topics", data, "--text", "body", "--model", results / "model.tsenet", "--quiet"]
        program = [sys.executable, "-m", "tsenet", *map(str, command)]
        printed: list[bytes] = []

        def keep(descriptor: int) -> bytes:
            printed.append(os.read(descriptor, 4096))
            return printed[-1]

        assert pty.spawn([*program, "--out", str(tmp_path / "out")], keep) == 0
        lines = b"".join(printed).decode("utf-8").splitlines()
        for topic in tsenet.load(results / "model.tsenet").topics_.itertuples():
            (line,) = (line for line in lines if line.endswith(f"  {topic.id}"))
            assert topic.label in line
        assert lines[-1].startswith("written to")
        piped = subprocess.run(
            [*program, "--out", tmp_path / "again"], capture_output=True, text=True, check=True
        )
        assert len(piped.stdout.splitlines()) <= 3

    def test_addresses_are_words_only_if_asked(self, out: Path, tmp_path: Path) -> None:
        texts = [f"{text} see www.goal.org @team" for text in make_documents(120)]
        pd.DataFrame({"text": texts}).to_csv(tmp_path / "news.csv", index=False)
        command = ("topics", tmp_path / "news.csv", "--quiet", "--no-explorer", "--force")
        for options, known in ((), False), (("--keep-urls",), True), (("--words", "99"), False):
            fine(*command, *options, "--out", out)
            assert ("team" in tsenet.load(out / "model.tsenet").vocabulary_) is known
        fine(*command, "--words", "99", "--keep-urls", "--out", out)
        assert "www" in tsenet.load(out / "model.tsenet").vocabulary_

    def test_seed_words_of_a_file(self, data: Path, out: Path, tmp_path: Path) -> None:
        (tmp_path / "config.toml").write_text('[topics.seed-words]\nstate = ["senate", "ballot"]\n')
        given = ("topics", data, "--text", "body", "--no-explorer", *QUICK_TOPICS)
        fine(*given, "--out", out, "--config", tmp_path / "config.toml")
        assert "state" in tsenet.load(out / "model.tsenet").topics_["label"].tolist()

    def test_settings_reach_the_model(self, data: Path, out: Path) -> None:
        seeds = ("--seed-words", "heaven = galaxy, orbit")
        settings = ("--set", "top_words=2", *seeds, "--set", "max_df=0.9", "--seed", "5")
        command = ("topics", data, "--text", "body", "--out", out, *QUICK_TOPICS, *settings)
        printed = json.loads(fine(*command, "--no-explorer", "--stop-words", "none", "--json"))
        assert (printed["documents"], printed["without_text"]) == (121, 1)
        assert printed["duplicates"] == len(DOCUMENTS) - len(set(DOCUMENTS))
        assert printed["outliers"] == tsenet.load(out / "model.tsenet").n_outliers_ >= 1
        assert printed["written"] == [name for name in FILES if name != "topics.html"]
        model = tsenet.load(out / "model.tsenet")
        assert (model.top_words, model.random_state) == (2, 5)
        assert "heaven" in model.topics_["label"].tolist()
        assert model.vectorizer_.max_df == 0.9
        assert model.vectorizer_.min_df == 2  # the model's own default


def test_only_the_kernels_of_topics_are_compiled_once_each(data: Path, out: Path) -> None:
    """Those of trees take nine seconds, which a first run would spend for nothing."""
    program = (
        "import sys; from tsenet.cli.app import app; app(sys.argv[1:], standalone_mode=False); "
        "print(sorted({(kernel.py_func.__name__, len(kernel.signatures)) for name, module in sys.modules.items() "
        "if name.startswith('tsenet.') for kernel in vars(module).values() "
        "if getattr(kernel, 'signatures', None)}))"
    )
    given = ("topics", data, "--text", "body", "--out", out, "--no-explorer", *QUICK_TOPICS)
    process = subprocess.run(
        [sys.executable, "-c", program, *map(str, given)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    compiled = "[('compare_with_chance', 1), ('divide_words', 1)]"
    assert process.stdout.splitlines()[-1] == compiled


class TestReading:
    """Documents in other forms than a csv file; the same words give the same topics."""

    def check(self, source: Path | str, out: Path, *more: str, stdin: str | None = None) -> None:
        command = ("topics", source, "--out", out, *more, "--no-explorer", *QUICK_TOPICS)
        result = run(*command, stdin=stdin)
        assert result.exit_code == 0, result.output
        assert "120 documents, 12 words" in result.stdout
        assert sorted(tsenet.load(out / "model.tsenet").vocabulary_) == WORDS

    def test_a_folder(self, tmp_path: Path, out: Path) -> None:
        (tmp_path / "texts").mkdir()
        for k, text in enumerate(DOCUMENTS):
            (tmp_path / "texts" / f"{k:03}.txt").write_text(text)
        self.check(tmp_path / "texts", out)
        assert pd.read_csv(out / "documents.csv")["file"][0] == "000.txt"

    def test_standard_input(self, out: Path) -> None:
        self.check("-", out, stdin="\n".join(DOCUMENTS))


class TestErrors:
    def test_a_folder_with_files_is_kept_unless_forced(self, data: Path, out: Path) -> None:
        out.mkdir()
        (out / "notes.txt").write_text("mine")
        (out / "topics.md").write_text("old")
        command = ("topics", data, "--text", "body", "--out", out, *QUICK_TOPICS)
        assert "--force" in error_of(*command)
        assert (out / "topics.md").read_text() == "old"
        fine(*command, "--force")
        assert (out / "topics.md").read_text(encoding="utf-8").startswith("# Topics")
        assert (out / "notes.txt").read_text() == "mine"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["{data}", "--text", "absent"], "has no column 'absent'"),
            (["absent.csv", "--text", "body"], "absent.csv: No such file"),
            (["{data}", "--text", "body", "--stop-words", "nope"], "'nope'"),
            (["{data}", "--text", "body", "--stop-words", "no.txt"], "no.txt: No such file"),
            (["{data}", "--text", "body", "--set", "tokenizer=spacy"], "'unicode'"),
            (["{data}", "--text", "body", "--set", "min_documents=999"], "vocabulary"),
            (["{data}", "--text", "body", "--set", "min_size=999"], "no topic was found"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_expected_errors_leave_nothing(
        self, data: Path, out: Path, arguments: list[str], message: str
    ) -> None:
        filled = [argument.format(data=data) for argument in arguments]
        assert message in error_of("topics", *filled, "--out", out, *QUICK_TOPICS)
        assert names(out.parent) == []

    @pytest.mark.parametrize("value", ["top_words=-1", "min_documents=0", "max_df=-1"])
    def test_bad_values_are_refused_before_the_file_is_read(self, value: str, out: Path) -> None:
        message = error_of("topics", "absent.csv", "--set", value, "--out", out)
        assert "absent" not in message
        assert "--help-all" in message


@pytest.mark.slow
class TestProgram:
    """The program itself, ended from outside while it works."""

    @staticmethod
    def start(*arguments: str | Path) -> subprocess.Popen[str]:
        # A program inherits that Ctrl-C is ignored, as it is for tests run in the background.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(
                [sys.executable, "-m", "tsenet", *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        finally:
            signal.signal(signal.SIGINT, before)

    def test_runs(self, data: Path, out: Path) -> None:
        settings = shlex.split("--text body")
        process = self.start("topics", data, "--out", out, *settings)
        stdout, stderr = process.communicate(timeout=300)
        assert process.returncode == 0, stderr
        assert names(out) == FILES
        assert "121 documents" in stdout
        # not a terminal: lines of a log, no bars
        assert stderr.startswith("reading rows: finished in ")
        assert all(": finished in " in line for line in stderr.splitlines())
        assert "\x1b" not in stderr

    @pytest.mark.parametrize(
        ("number", "code", "message"),
        [
            (signal.SIGINT, 130, "interrupted, nothing written"),
            (signal.SIGTERM, 128 + signal.SIGTERM, ""),
        ],
        ids=["ctrl-c", "terminated"],
    )
    def test_stopped_while_reading(
        self, tmp_path: Path, out: Path, number: signal.Signals, code: int, message: str
    ) -> None:
        pipe = tmp_path / "endless.csv"  # the program waits for a writer that never comes
        os.mkfifo(pipe)
        process = self.start("topics", pipe, "--text", "body", "--out", out)
        deadline = time.monotonic() + 60
        while not names(out.parent) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(names(out.parent)) == 1  # its temporary folder
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == code
        assert stderr.strip() == message
        assert names(out.parent) == []


class TestEmbeddings:
    """Vectors beside the texts: each near the direction of the document's subject."""

    @pytest.fixture
    def vectors(self, tmp_path: Path) -> Path:
        rng = np.random.default_rng(0)
        main = [np.argmax([sum(w in t.split() for w in s) for s in SUBJECTS]) for t in DOCUMENTS]
        near = np.eye(3)[[*main, 0]] + 0.1 * rng.normal(size=(121, 3))
        np.save(tmp_path / "vectors.npy", near.astype(np.float32))
        return tmp_path / "vectors.npy"

    def test_topics_are_learned_and_applied(self, data: Path, vectors: Path, out: Path) -> None:
        given = (data, "--text", "body", "--embeddings", vectors, "--quiet")
        fine("topics", *given, "--out", out)
        assert names(out) == FILES
        texts = [*DOCUMENTS, ""]
        expected = tsenet.TopicModel(random_state=0).fit(texts, embeddings=np.load(vectors))
        model = out / "model.tsenet"
        assert tsenet.load(model).topics_.equals(expected.topics_)

        fine("topics", *given, "--model", model, "--out", out.parent / "new")
        before, after = (pd.read_csv(f / "documents.csv") for f in (out, out.parent / "new"))
        assert after.equals(before)
        low = expected.topics_["id"].tolist()[-2:]
        merged = ("--model", model, "--merge", ",".join(low), "--out", out.parent / "merged")
        fine("topics", *given, *merged)
        fine(
            *("report", model, "--data", data, "--text", "body", "--embeddings", vectors),
            *("--out", out.parent / "page.html"),
        )
        assert "</html>" in (out.parent / "page.html").read_text("utf-8")

    def test_new_documents_without_vectors(self, data: Path, vectors: Path, out: Path) -> None:
        given = ("topics", data, "--text", "body", "--quiet")
        fine(*given, "--embeddings", vectors, "--out", out, "--no-explorer")
        new = run(*given, "--model", out / "model.tsenet", "--out", out.parent / "new")
        assert new.exit_code == 0
        assert "none are given" in new.stderr
        np.save(vectors, np.zeros((121, 2)))
        refused = (*given, "--model", out / "model.tsenet", "--embeddings", vectors)
        assert "of 2 numbers a row" in error_of(*refused, "--out", out.parent / "other")

    def test_vectors_of_an_encoder_are_kept(
        self, data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Letters:
            def encode(self, texts: list[str]) -> list[list[int]]:
                return [[text.count(letter) for letter in "aeiou"] for text in texts]

        monkeypatch.setattr("tsenet.data.embed", lambda texts, name: embed(texts, Letters()))
        given = ("topics", data, "--text", "body", "--quiet", "--no-explorer")
        fine(*given, "--encoder", "minilm", "--out", out)
        kept = np.load(out / "embeddings.npy")
        assert np.array_equal(kept, embed([*DOCUMENTS, ""], Letters()))
        again = (*given, "--embeddings", out / "embeddings.npy", "--out", out, "--force")
        before = (out / "model.tsenet").read_bytes()
        fine(*again)
        assert (out / "model.tsenet").read_bytes() == before
        assert "not both" in error_of(*again, "--encoder", "minilm")

    def test_wrong_vectors_are_refused(self, data: Path, vectors: Path, out: Path) -> None:
        np.save(vectors, np.zeros((7, 3)))
        given = ("topics", data, "--text", "body", "--quiet", "--out", out)
        assert "each of the 121 rows" in error_of(*given, "--embeddings", vectors)
        assert "cannot be read as an npy file" in error_of(*given, "--embeddings", data)
        assert not out.exists()
