"""``tsenet topics``."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import tsenet
from tests.cli.program import QUICK_TOPICS, SUBJECTS, make_documents, names, run
from tsenet.data import vectorize, word_vectorizer
from tsenet.explain import topic_tree
from tsenet.skeleton.tree import LatentTree

ROOT = Path(__file__).parents[2]
DOCUMENTS = make_documents(120)
FILES = [
    *("documents.csv", "model.tsenet", "topics.html", "topics.json", "topics.md"),
    "tree.tsenet",
]


class TestTopics:
    def test_writes_topics_and_model(self, data: Path, out: Path) -> None:
        result = run("topics", data, "--text", "body", "--out", out, *QUICK_TOPICS)
        assert result.exit_code == 0, result.output
        assert names(out) == FILES
        assert names(out.parent) == ["topics"]

        tree = tsenet.load(out / "tree.tsenet")
        assert isinstance(tree, LatentTree)
        words = tree.names[: tree.n_observed]
        assert sorted(words) == sorted(word for subject in SUBJECTS for word in subject)
        document = json.loads((out / "topics.json").read_text(encoding="utf-8"))
        level_1 = []
        stack = document["topics"]
        while stack:
            topic = stack.pop()
            stack.extend(topic["children"])
            if topic["level"] == 1:
                level_1.append({word["word"] for word in topic["words"]})
        assert document["ungrouped"] == []
        # every topic is about one of the three subjects
        assert level_1
        assert all(any(words <= set(subject) for subject in SUBJECTS) for words in level_1)
        assert "# Topics" in (out / "topics.md").read_text(encoding="utf-8")
        assert "300 documents, 12 words" in result.stdout

    def test_a_csv_needs_no_pandas(
        self, data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A plain install, without the extra ``text``, has none."""
        monkeypatch.setitem(sys.modules, "pandas", None)
        result = run("topics", data, "--text", "body", "--out", out, *QUICK_TOPICS)
        assert result.exit_code == 0, result.output
        assert names(out) == FILES

    def test_same_seed_same_bytes_for_any_number_of_jobs(self, data: Path, tmp_path: Path) -> None:
        for name, jobs in (("a", "1"), ("b", "2"), ("c", "1")):
            result = run(
                *(
                    "topics",
                    data,
                    "--text",
                    "body",
                    "--out",
                    tmp_path / name,
                    "--refine-steps",
                    "2",
                ),
                *("--seed", "7", "--jobs", jobs, "--quiet"),
            )
            assert result.exit_code == 0, result.output
        for file in FILES:
            first = (tmp_path / "a" / file).read_bytes()
            assert (tmp_path / "b" / file).read_bytes() == first
            assert (tmp_path / "c" / file).read_bytes() == first

    def test_sizes_come_from_the_documents(self, data: Path, out: Path) -> None:
        run("topics", data, "--text", "body", "--out", out, *QUICK_TOPICS)
        read = json.loads((out / "topics.json").read_text(encoding="utf-8"))["topics"]
        by_model = topic_tree(tsenet.load(out / "tree.tsenet"))
        assert sorted(topic["size"] for topic in read) != sorted(topic.size for topic in by_model)

    def test_every_format_gives_the_same(
        self, data: Path, documents: list[str], tmp_path: Path
    ) -> None:
        jsonl = tmp_path / "news.jsonl"
        jsonl.write_text("".join(json.dumps({"body": text}) + "\n" for text in documents))
        parquet = tmp_path / "news.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"body": documents}), parquet)
        bare = tmp_path / "bare.csv"
        bare.write_text("".join(f'{i},"{text}"\n' for i, text in enumerate(documents)))
        sources: list[Sequence[str | Path]] = [
            (data, "--text", "body"),
            (jsonl, "--text", "body"),
            (parquet, "--text", "body"),
            (bare, "--text", "2", "--no-header"),
        ]
        trees = []
        for i, source in enumerate(sources):
            result = run("topics", *source, "--out", tmp_path / str(i), *QUICK_TOPICS)
            assert result.exit_code == 0, result.output
            trees.append(tsenet.load(tmp_path / str(i) / "tree.tsenet"))
        assert all(tree == trees[0] for tree in trees)

    def test_options_reach_the_library(
        self, data: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: dict[str, object] = {}
        learn = tsenet.learn_tree

        def spy(X: object, **options: object) -> LatentTree:
            seen.update(options, X=X)
            return learn(X, refine_steps=1, n_jobs=1)

        monkeypatch.setattr("tsenet.estimators.topic_model.learn_tree", spy)
        (tmp_path / "stop.txt").write_text("\ufeffgoal\nballot comet\n", encoding="utf-8")
        result = run(
            *(
                "topics",
                data,
                "--text",
                "body",
                "--out",
                out,
                "--stop-words",
                tmp_path / "stop.txt",
            ),
            *("--words", "5", "--top-words", "2", "--max-top", "4", "--max-island", "6"),
            *("--ud-threshold", "2.5", "--no-correlation-test", "--structure-samples", "100"),
            *("--refine-steps", "9", "--em-restarts", "2", "--seed", "3", "--jobs", "2", "--quiet"),
            *("--piece-size", "12", "--leftovers", "attach", "--no-full-depth"),
        )
        assert result.exit_code == 0, result.output
        table = seen.pop("X")
        assert isinstance(table, tsenet.Table)
        assert table.n_columns == 5
        assert not {"goal", "ballot", "comet"} & set(table.names)
        assert seen.pop("progress") is not None
        assert seen.pop("seed_groups") == []
        assert seen == {
            "max_top": 4,
            "max_island": 6,
            "ud_threshold": 2.5,
            "correlation_test": False,
            "structure_samples": 100,
            "refine_steps": 9,
            "em_restarts": 2,
            "piece_size": 12,
            "leftovers": "attach",
            "full_depth": False,
            "random_state": 3,
            "n_jobs": 2,
        }
        text = (out / "topics.json").read_text(encoding="utf-8")
        assert max(map(len, _word_lists(json.loads(text)["topics"]))) <= 2

    def test_topics_of_each_document(self, data: Path, documents: list[str], out: Path) -> None:
        run("topics", data, "--text", "body", "--out", out, *QUICK_TOPICS)
        model = tsenet.load(out / "model.tsenet")
        lines = (out / "documents.csv").read_text(encoding="utf-8").splitlines()
        assert lines[0] == "document,topic,probability"
        number, topic, probability = lines[1].split(",")
        assert number == "0"
        expected = model.transform(documents[:1]).toarray()[0]
        assert float(probability) == pytest.approx(expected.max(), abs=1e-4)
        assert topic == model.get_feature_names_out()[expected.argmax()]
        rows = list(csv.DictReader(lines))
        assert {int(row["document"]) for row in rows} == set(range(300))
        present = model.transform(documents).toarray() >= 0.5
        for name, size, column in zip(
            model.topics_["id"], model.topics_["size"], present.T, strict=True
        ):
            told = [int(row["document"]) for row in rows if row["topic"] == name]
            assert sorted(told) == column.nonzero()[0].tolist()
            assert size == pytest.approx(len(told) / 300)
        for row in rows:
            assert (row["topic"] == "") is not present[int(row["document"])].any()
            assert (row["topic"] == "") == (row["probability"] == "")

    def test_a_column_tells_documents_apart(self, data: Path, out: Path) -> None:
        command = ("topics", data, "--text", "body", "--out", out, "--id", "id", "--no-explorer")
        assert run(*command, *QUICK_TOPICS).exit_code == 0
        with (out / "documents.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        with data.open(encoding="utf-8", newline="") as file:
            ids = [row["id"] for row in csv.DictReader(file)]
        assert list(dict.fromkeys(row["id"] for row in rows)) == ids
        run(*command, "--documents", "parquet", "--force", *QUICK_TOPICS)
        read = pyarrow.parquet.read_table(out / "documents.parquet").to_pydict()
        assert read["id"] == [row["id"] for row in rows]
        assert read["topic"] == [row["topic"] or None for row in rows]
        table = ("topics", data, "--format", "docword", "--out", out, "--id", "id")
        assert "--id" in run(*table).stderr

    def test_new_documents_of_a_model(
        self, data: Path, documents: list[str], tmp_path: Path, out: Path
    ) -> None:
        run("topics", data, "--text", "body", "--out", out, *QUICK_TOPICS)
        new = tmp_path / "new.txt"
        new.write_text("\n".join(documents[:5]) + "\n", encoding="utf-8")
        made = out.parent / "again"
        result = run("topics", new, "--model", out / "model.tsenet", "--out", made, "--quiet")
        assert result.exit_code == 0, result.output
        assert names(made) == ["documents.csv"]
        assert "5 documents" in result.stdout
        before = (out / "documents.csv").read_text(encoding="utf-8").splitlines()
        after = (made / "documents.csv").read_text(encoding="utf-8").splitlines()
        assert after == before[: len(after)]
        refused = run("topics", new, "--model", out / "model.tsenet", "--out", made, "--words", "9")
        assert refused.exit_code == 2
        assert "--words" in refused.stderr

    def test_parquet_json_and_a_floor(self, data: Path, out: Path) -> None:
        command = ("topics", data, "--text", "body", "--out", out, "--no-explorer", "--json")
        result = run(*command, "--documents", "parquet", "--min-size", "299", *QUICK_TOPICS)
        assert result.exit_code == 1  # no topic is in so many documents
        result = run(*command, "--documents", "parquet", "--min-size", "20", *QUICK_TOPICS)
        assert result.exit_code == 0, result.output
        said = json.loads(result.stdout)
        assert said["documents"] == 300
        assert "documents.parquet" in said["written"]
        read = pyarrow.parquet.read_table(out / "documents.parquet")
        assert read.column_names == ["document", "topic", "probability"]
        assert read.num_rows >= 300

    def test_word_counts_of_uci(self, tmp_path: Path, documents: list[str], out: Path) -> None:
        words = sorted({word for text in documents for word in text.split()})
        place = {word: k + 1 for k, word in enumerate(words)}
        lines = [
            f"{d + 1} {place[word]} 1"
            for d, text in enumerate(documents)
            for word in sorted(set(text.split()))
        ]
        head = f"{len(documents)}\n{len(words)}\n{len(lines)}\n"
        (tmp_path / "docword.news.txt").write_text(head + "\n".join(lines) + "\n")
        (tmp_path / "vocab.news.txt").write_text("\n".join(words) + "\n")
        result = run("topics", tmp_path / "docword.news.txt", "--out", out, *QUICK_TOPICS)
        assert result.exit_code == 0, result.output
        assert "300 documents, 13 words" in result.stdout

    @pytest.mark.parametrize(
        ("choice", "kept"), [("english", False), ("none", True)], ids=["english", "none"]
    )
    def test_stop_words(self, data: Path, out: Path, choice: str, kept: bool) -> None:
        run("topics", data, "--text", "body", "--out", out, "--stop-words", choice, *QUICK_TOPICS)
        assert ("the" in tsenet.load(out / "tree.tsenet").names) is kept

    def test_min_documents(self, data: Path, out: Path) -> None:
        with data.open("a", encoding="utf-8") as file:
            file.write("300,quasar nebula\n301,quasar\n")
        run("topics", data, "--text", "body", "--out", out, "--min-documents", "2", *QUICK_TOPICS)
        found = tsenet.load(out / "tree.tsenet").names
        assert "quasar" in found
        assert "nebula" not in found

    def test_the_readme_shows_what_is_printed(
        self, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        readme = (ROOT / "README.md").read_text("utf-8")
        (example,) = re.findall(r"```console\n\$ tsenet (topics .*)\n((?:.*\n)+?)```", readme)
        command, shown = example
        rows = data.read_text("utf-8").replace("body", "text", 1)
        (tmp_path / "docs.csv").write_text(f"{rows}one,\ntwo,\n", "utf-8")  # two without text
        monkeypatch.chdir(tmp_path)
        printed = run(*shlex.split(command), *QUICK_TOPICS).stdout
        assert _without_numbers(shown) == _without_numbers(printed)


def _without_numbers(text: str) -> str:
    number = r"\d+(?:,\d{3})*"
    return re.sub(f"{number}(?:, {number})*", "N", text)


def _word_lists(topics: list[Any]) -> list[list[Any]]:
    """The words of every topic, however deep."""
    return [words for t in topics for words in (t["words"], *_word_lists(t["children"]))]


class TestReading:
    """Documents in other forms than a csv file; the same words give the same topics."""

    @staticmethod
    def words_of(out: Path) -> list[str]:
        tree = tsenet.load(out / "tree.tsenet")
        return sorted(tree.names[: tree.n_observed])

    def check(self, source: Path | str, out: Path, *more: str, **given: Any) -> None:
        result = run("topics", source, "--out", out, *more, "--no-explorer", *QUICK_TOPICS, **given)
        assert result.exit_code == 0, result.output
        assert "120 documents, 12 words" in result.stdout
        assert self.words_of(out) == sorted(word for subject in SUBJECTS for word in subject)

    def test_a_folder(self, tmp_path: Path, out: Path) -> None:
        (tmp_path / "texts").mkdir()
        for k, text in enumerate(DOCUMENTS):
            (tmp_path / "texts" / f"{k:03}.txt").write_text(text)
        self.check(tmp_path / "texts", out)

    def test_json(self, tmp_path: Path, out: Path) -> None:
        (tmp_path / "d.json").write_text(json.dumps(DOCUMENTS))
        self.check(tmp_path / "d.json", out)

    def test_standard_input(self, out: Path) -> None:
        self.check("-", out, stdin="\n".join(DOCUMENTS))

    def test_standard_input_of_one_long_line(self, out: Path) -> None:
        long = "word " * 40_000  # more than the csv module takes as one field
        result = run("topics", "-", "--out", out, "--no-explorer", stdin=long)
        assert result.exit_code == 1
        assert "Traceback" not in result.output
        assert "error: " in result.stderr

    def test_duplicates_and_missing_texts_are_counted(self, tmp_path: Path, out: Path) -> None:
        lines = ["text", *DOCUMENTS, '""', '""']
        (tmp_path / "d.csv").write_text("\n".join(lines), "utf-8")
        more = ("--out", out, "--no-explorer", *QUICK_TOPICS)
        told = json.loads(run("topics", tmp_path / "d.csv", *more, "--json").stdout)
        n_duplicates = len(DOCUMENTS) - len(set(DOCUMENTS))
        assert n_duplicates > 0
        counts = (told["documents"], told["without_text"], told["duplicates"])
        assert counts == (122, 2, n_duplicates)

    def test_counts(self, tmp_path: Path, out: Path) -> None:
        table = vectorize(DOCUMENTS, word_vectorizer(stop_words="english", min_documents=2))
        triples = table.values.tocoo()
        lines = [
            f"{i + 1} {j + 1} {n}"
            for i, j, n in zip(triples.row, triples.col, triples.data, strict=True)
        ]
        head = [str(table.n_rows), str(table.n_columns), str(len(lines))]
        (tmp_path / "docword.d.txt").write_text("\n".join(head + lines))
        (tmp_path / "vocab.d.txt").write_text("\n".join(table.names))
        self.check(tmp_path / "docword.d.txt", out)
        command = ("topics", tmp_path / "docword.d.txt", "--out", tmp_path / "other")
        result = run(*command, "--ngrams", "2")
        assert result.exit_code == 2
        assert "--ngrams" in result.output

    def test_another_encoding(self, tmp_path: Path, out: Path) -> None:
        lines = [f"{text.replace('goal', 'größe')};x" for text in DOCUMENTS]
        (tmp_path / "d.csv").write_bytes("\n".join(["text;n", *lines]).encode("latin-1"))
        more = ("--encoding", "latin-1", "--no-explorer", *QUICK_TOPICS)
        result = run("topics", tmp_path / "d.csv", "--out", out, *more)
        assert result.exit_code == 0, result.output
        assert "größe" in self.words_of(out)


class TestErrors:
    def test_a_folder_with_files_is_kept_unless_forced(self, data: Path, out: Path) -> None:
        out.mkdir()
        (out / "notes.txt").write_text("mine")
        (out / "topics.md").write_text("old")
        command = ("topics", data, "--text", "body", "--out", out, *QUICK_TOPICS)
        result = run(*command)
        assert result.exit_code == 1
        assert "not empty" in result.stderr
        assert "--force" in result.stderr
        assert (out / "topics.md").read_text() == "old"
        assert run(*command, "--force").exit_code == 0
        assert (out / "topics.md").read_text(encoding="utf-8").startswith("# Topics")
        assert (out / "notes.txt").read_text() == "mine"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["{data}", "--text", "absent"], "has no column 'absent'"),
            (["{data}x", "--text", "body"], "cannot tell the format"),
            (["absent.csv", "--text", "body"], "absent.csv: No such file"),
            (
                ["{data}", "--text", "body", "--stop-words", "nope"],
                "no stop words for the language 'nope'",
            ),
            (["{data}", "--text", "body", "--stop-words", "no.txt"], "there is no file no.txt"),
            (["{data}", "--text", "body", "--tokenizer", "spacy"], "tokenizer must be 'unicode'"),
            (["{data}", "--text", "body", "--min-documents", "999"], "no vocabulary for"),
        ],
        ids=range(7),
    )
    def test_expected_errors_are_one_line_and_leave_nothing(
        self, data: Path, out: Path, arguments: list[str], message: str
    ) -> None:
        filled = [argument.format(data=data) for argument in arguments]
        result = run("topics", *filled, "--out", out, *QUICK_TOPICS)
        assert result.exit_code == 1
        assert message in result.stderr
        assert result.stderr.startswith("error: ")
        assert len(result.stderr.splitlines()) == 1
        assert names(out.parent) == []

    def test_stop_words_that_are_no_text(self, data: Path, out: Path, tmp_path: Path) -> None:
        (tmp_path / "stop").write_bytes(b"\xff\xfe")
        stop = ("--stop-words", tmp_path / "stop")
        result = run("topics", data, "--text", "body", "--out", out, *stop, *QUICK_TOPICS)
        assert result.exit_code == 1
        assert "not UTF-8" in result.stderr

    def test_unexpected_errors_are_not_hidden(
        self, data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(X: object, **options: object) -> LatentTree:
            raise ZeroDivisionError

        monkeypatch.setattr("tsenet.estimators.topic_model.learn_tree", broken)
        result = run("topics", data, "--text", "body", "--out", out, *QUICK_TOPICS)
        assert isinstance(result.exception, ZeroDivisionError)
        assert names(out.parent) == []


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

    @staticmethod
    def wait_for(process: subprocess.Popen[str], line: str) -> None:
        assert process.stderr is not None
        seen = []
        while text := process.stderr.readline():
            seen.append(text)
            if line in text:
                return
        raise AssertionError(f"{line!r} not seen in {seen}")

    def test_runs(self, data: Path, out: Path) -> None:
        arguments = ("topics", data, "--text", "body", "--out", out, "--refine-steps", "2")
        process = self.start(*arguments)
        stdout, stderr = process.communicate(timeout=300)
        assert process.returncode == 0, stderr
        assert names(out) == FILES
        assert "300 documents" in stdout
        # not a terminal: lines of a log, no bars
        stages = [line.split(":")[0] for line in stderr.splitlines()]
        assert stages[0] == "reading documents"
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

    def test_interrupted_while_learning(self, data: Path, out: Path) -> None:
        out.mkdir()
        (out / "topics.md").write_text("old")
        process = self.start(
            *("topics", data, "--text", "body", "--out", out, "--force"),
            *("--refine-steps", "100000000"),  # days of work
        )
        self.wait_for(process, "kernels")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 130
        assert stderr.splitlines()[-1] == "interrupted, nothing written"
        assert "Traceback" not in stderr
        assert names(out) == ["topics.md"]
        assert (out / "topics.md").read_text() == "old"
        assert names(out.parent) == ["topics"]

    def test_bars_on_a_terminal(self, data: Path, out: Path) -> None:
        ours, theirs = pty.openpty()
        arguments = ("topics", data, "--text", "body", "--out", out, "--refine-steps", "2")
        with subprocess.Popen(
            [sys.executable, "-m", "tsenet", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        ) as process:
            os.close(theirs)
            shown = b""
            while chunk := _read_terminal(ours):
                shown += chunk
        os.close(ours)
        assert process.returncode == 0, shown
        assert b"\x1b[" in shown
        assert "━".encode() in shown
        assert b"reading documents" in shown
        assert names(out) == FILES


def _read_terminal(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux says so when the other side has closed
        return b""
