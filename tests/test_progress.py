from __future__ import annotations

import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.docstrings import run_examples
from tsenet.progress import (
    CallbackProgress,
    LogProgress,
    NotebookProgress,
    Progress,
    RichProgress,
    as_progress,
)


def run_stage(progress: Progress) -> None:
    progress.start("islands", 3)
    progress.advance()
    progress.advance(2, "two at once")
    progress.finish("12 groups")


def test_base_is_silent(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with Progress() as progress:
        run_stage(progress)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_log_has_one_line_per_stage_at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="tsenet")
    run_stage(as_progress(None))
    assert [record.levelname for record in caplog.records] == ["DEBUG", "DEBUG", "INFO"]
    first, note, last = (record.getMessage() for record in caplog.records)
    assert first == "islands: started, 3 steps"
    assert note == "islands: two at once"
    assert last.startswith("islands: finished in ")
    assert last.endswith(" s, 12 groups")
    assert {record.name for record in caplog.records} == {"tsenet"}


def test_log_goes_to_the_logger_given(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mine")
    progress = LogProgress(logging.getLogger("mine"))
    progress.start("one")
    progress.start("two")
    progress.finish()
    progress.finish()  # nothing is open: says nothing
    texts = [record.getMessage().split(" in ")[0] for record in caplog.records]
    assert texts == ["one: finished", "two: finished"]


def test_log_is_silent_when_logging_is_not_configured() -> None:
    code = (
        "from tsenet.progress import as_progress\n"
        "p = as_progress(False)\n"
        "p.start('islands', 3); p.advance(1, 'note'); p.finish()"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_callback_sees_every_step_and_ends_full() -> None:
    calls: list[tuple[str, int, int | None]] = []
    progress = as_progress(lambda stage, done, total: calls.append((stage, done, total)))
    assert isinstance(progress, CallbackProgress)
    run_stage(progress)
    assert calls == [("islands", 0, 3), ("islands", 1, 3), ("islands", 3, 3), ("islands", 3, 3)]
    calls.clear()
    progress.start("em", 100)
    progress.advance(7)
    progress.start("stacking", None)  # closes em, which converged early
    progress.advance(2)
    progress.finish()
    progress.advance()  # nothing is open
    progress.finish()
    assert calls == [
        ("em", 0, 100),
        ("em", 7, 100),
        ("em", 100, 100),
        ("stacking", 0, None),
        ("stacking", 2, None),
        ("stacking", 2, 2),
    ]


def test_callback_can_cancel() -> None:
    def stop(stage: str, done: int, total: int | None) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stage(as_progress(stop))


def test_rich_draws_on_stderr_only(capfd: pytest.CaptureFixture[str]) -> None:
    progress = as_progress(True)
    assert isinstance(progress, RichProgress)
    run_stage(progress)
    out, err = capfd.readouterr()
    assert out == ""
    assert "islands" in err
    assert "3/3" in err
    assert "12 groups" in err


def test_rich_with_block_holds_all_stages_and_may_be_nested(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with RichProgress() as progress:
        with progress:
            run_stage(progress)
        progress.start("a [bold]word[/bold]", None)  # words of data are not markup
        progress.advance()
        progress.finish()
    assert progress._display is None
    err = capfd.readouterr().err
    assert err.count("islands") == 1
    assert "[bold]word" in err


def test_rich_display_stops_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    progress = RichProgress()

    def work() -> None:
        with progress:
            progress.start("islands", 3)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert progress._display is None
    assert "0/3" in capfd.readouterr().err
    progress.advance()  # nothing is open any more: no error
    run_stage(progress)  # and it can be used again
    assert "3/3" in capfd.readouterr().err


class Outputs:
    """Stands for IPython in a kernel: keeps what each output shows at the end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        self.n_updates = 0
        shell = SimpleNamespace(kernel=object())
        shown = SimpleNamespace(display=self.display)
        package = SimpleNamespace(get_ipython=lambda: shell, display=shown)
        monkeypatch.setitem(sys.modules, "IPython", package)
        monkeypatch.setitem(sys.modules, "IPython.display", shown)

    def display(self, data: dict[str, str], raw: bool, display_id: bool) -> SimpleNamespace:
        assert raw
        assert display_id
        self.texts.append(data["text/plain"])
        place = len(self.texts) - 1

        def update(data: dict[str, str], raw: bool) -> None:
            assert raw
            self.texts[place] = data["text/plain"]
            self.n_updates += 1

        return SimpleNamespace(update=update)


class TestNotebook:
    def test_leaves_one_line_per_stage(
        self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        outputs = Outputs(monkeypatch)
        progress = as_progress(True)
        assert isinstance(progress, NotebookProgress)
        with progress:
            run_stage(progress)
            progress.start("<b>stacking</b>")
            for _ in range(1000):
                progress.advance()
        (text,) = outputs.texts
        first, second = text.splitlines()
        assert first.startswith("islands  ████████████████████  3/3  ")
        assert first.endswith(" s  12 groups")
        assert second.startswith("<b>stacking</b>  1000  ")  # plain text, not markup
        assert outputs.n_updates < 10  # not one for each step
        assert capfd.readouterr() == ("", "")

    def test_stages_outside_a_block_have_their_own_output(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outputs = Outputs(monkeypatch)
        progress = NotebookProgress()
        run_stage(progress)
        run_stage(progress)
        assert len(outputs.texts) == 2

    def test_shows_how_far_it_came_after_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        outputs = Outputs(monkeypatch)

        def work() -> None:
            with NotebookProgress() as progress:
                progress.start("islands", 4)
                progress.advance()
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            work()
        assert outputs.texts[0].startswith("islands  █████░░░░░░░░░░░░░░░  1/4  ")

    def test_in_a_terminal_it_is_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        shell = SimpleNamespace()  # IPython in a terminal has no kernel
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
        assert isinstance(as_progress(True), RichProgress)
        NotebookProgress().start("nothing to show it on")


def test_as_progress_returns_a_progress_unchanged_and_refuses_other_values() -> None:
    mine = Progress()
    assert as_progress(mine) is mine
    assert isinstance(as_progress(None), LogProgress)
    assert isinstance(as_progress(False), LogProgress)
    for wrong in (3, "bar", RichProgress):
        with pytest.raises(TypeError, match="progress must be"):
            as_progress(wrong)  # type: ignore[arg-type]  # the wrong type is the point


def test_import_does_not_load_rich() -> None:
    code = "import sys, tsenet.progress; raise SystemExit('rich' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_examples() -> None:
    assert run_examples("tsenet.progress").failed == 0
