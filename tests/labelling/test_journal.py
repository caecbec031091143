"""The file of labels: what is confirmed stays, whatever happens to the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsenet.errors import DataError
from tsenet.labelling.journal import HEADER, Event, Journal

EVENTS = st.lists(
    st.dictionaries(st.text(max_size=5), st.text(max_size=8) | st.integers(), max_size=3),
    max_size=8,
)


def write(path: Path, events: list[Event]) -> None:
    journal = Journal(path)
    for event in events:
        journal.append(event)
    journal.close()


def read(path: Path) -> list[Event]:
    journal = Journal(path)
    journal.close()
    return journal.events


@given(events=EVENTS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_killed_at_any_byte_all_whole_lines_remain_and_work_goes_on(
    events: list[Event], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("journal") / "docs.labels.jsonl"
    write(path, events)
    content = path.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:cut])
    whole = max(content[:cut].count(b"\n") - 1, 0)
    found = read(path)
    # A line of which only the newline is missing is whole, too.
    assert found in (events[:whole], events[: whole + 1])
    assert len(found) == whole or cut == len(b"\n".join(content.split(b"\n")[: len(found) + 1]))
    write(path, [{"do": "more"}])
    assert read(path) == [*found, {"do": "more"}]


def test_texts_of_any_kind_survive(tmp_path: Path) -> None:
    texts = ["new\nline\r\u2028", "\x00", "\ud800", "é", '"\\', "😀"]
    write(tmp_path / "a.jsonl", [{"note": text} for text in texts])
    assert [event["note"] for event in read(tmp_path / "a.jsonl")] == texts


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    first = Journal(tmp_path / "a.jsonl")
    with pytest.raises(DataError, match="open in another"):
        Journal(tmp_path / "a.jsonl")
    first.close()
    Journal(tmp_path / "a.jsonl").close()


def test_kill_9_loses_nothing_that_was_confirmed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    program = (
        "import sys, itertools\n"
        "from pathlib import Path\n"
        "from tsenet.labelling.journal import Journal\n"
        "journal = Journal(Path(sys.argv[1]))\n"
        "for i in itertools.count():\n"
        "    journal.append({'i': i})\n"
        "    print(i, flush=True)\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 20:
                os.kill(process.pid, signal.SIGKILL)
                break
        confirmed = [20, *map(int, process.stdout.read().split())]
    found = [event["i"] for event in read(path)]
    assert found == list(range(len(found)))
    assert len(found) > confirmed[-1]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(HEADER)}\n{{}}\nnonsense\n{{}}\n")
    with pytest.raises(DataError, match=r"line 3 is not a JSON object: 'nonsense'"):
        Journal(path)


@pytest.mark.parametrize(
    "first", ['{"text": "a row"}', '{"journal": "tsenet label", "version": 2}']
)
def test_other_files_are_refused_and_stay_as_they_are(tmp_path: Path, first: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(first + "\n")
    with pytest.raises(DataError, match=r"not a file of labels|update tsenet"):
        Journal(path)
    assert path.read_text() == first + "\n"


def test_a_write_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    journal = Journal(path)
    journal.append({"i": 0})
    before = path.read_bytes()
    write_some = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write_some(file, data[:5]))
    with pytest.raises(OSError, match="disk is full"):
        journal.append({"i": 1})
    monkeypatch.undo()
    assert path.read_bytes() == before
    journal.append({"i": 2})
    journal.close()
    assert read(path) == [{"i": 0}, {"i": 2}]
