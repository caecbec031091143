from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from tsenet.cli._shared import open_progress
from tsenet.progress import BarProgress, Progress, as_progress


def run_stage(progress: Progress) -> None:
    progress.start("islands", 3)
    progress.advance()
    progress.advance(2, "two at once")
    progress.finish("12 groups")


class Names(Progress):
    """A user's own display, which does not call the base class."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def start(self, stage: str, total: int | None = None) -> None:
        self.seen.append(stage)


def test_a_subclass_needs_no_other_method() -> None:
    with Names() as progress:
        run_stage(progress)
    assert progress.seen == ["islands"]


def test_log_has_one_line_per_stage_at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="tsenet")
    run_stage(as_progress(None))
    assert [record.levelname for record in caplog.records] == ["DEBUG", "DEBUG", "INFO"]
    first, note, last = (record.getMessage() for record in caplog.records)
    assert first == "islands: started, 3 steps"
    assert note == "islands: two at once"
    assert last.startswith("islands: finished in ")
    assert last.endswith(" s, 12 groups")
    assert {record.name for record in caplog.records} == {"tsenet.progress"}


def test_a_command_leaves_the_log_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("tsenet.progress")
    before = logger.level, logger.propagate, [*logger.handlers]
    for quiet in (False, True):
        with open_progress(quiet) as progress:
            run_stage(progress)
    assert capsys.readouterr().err.count("islands: finished in ") == 1
    assert (logger.level, logger.propagate, logger.handlers) == before


def test_a_command_says_that_it_compiles_and_how_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import numba

    from tsenet._system.jit import compilation

    plus = numba.njit(lambda a, b: a + b)  # without a cache
    monkeypatch.setattr(compilation, "seconds", 0.0)
    with open_progress(False):
        plus(1.0, 2.0)
        plus(1, 2)
    said = capsys.readouterr().err
    assert said.count("compiling kernels, once on this machine") == 1
    assert said.count("kernels compiled in ") == 1

    with open_progress(True):
        plus(1.0, 2)
    with open_progress(False):  # nothing new
        plus(1.0, 2)
    assert "kernels" not in capsys.readouterr().err


def test_a_new_stage_finishes_the_one_before(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="tsenet")
    progress = Progress()
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
    assert type(progress) is Progress
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


def test_bars_are_drawn_on_stderr_only(capfd: pytest.CaptureFixture[str]) -> None:
    progress = as_progress(True)
    assert isinstance(progress, BarProgress)
    with progress:
        run_stage(progress)
    out, err = capfd.readouterr()
    assert out == ""
    assert "islands" in err
    assert "3/3" in err
    assert "12 groups" in err


def test_a_bar_shows_how_far_it_came_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    progress = BarProgress()

    def work() -> None:
        with progress:
            progress.start("islands", 3)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert "0/3" in capfd.readouterr().err
    progress.advance()  # nothing is open any more: no error
    run_stage(progress)  # and it can be used again
    assert "3/3" in capfd.readouterr().err


def test_as_progress_returns_a_progress_unchanged_and_refuses_other_values() -> None:
    mine = Progress()
    assert as_progress(mine) is mine
    assert type(as_progress(None)) is Progress
    assert type(as_progress(False)) is Progress
    for wrong in (3, "bar", BarProgress):
        with pytest.raises(TypeError, match="progress must be"):
            as_progress(wrong)  # type: ignore[arg-type]  # the wrong type is the point


def test_import_does_not_load_tqdm() -> None:
    code = "import sys, tsenet.progress; raise SystemExit('tqdm' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
