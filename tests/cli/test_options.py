"""How options reach the library: only those that are given, each under the name of a real parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import typer

import tsenet
import tsenet.data.text
from tests.cli.program import run
from tsenet.cli._defaults import default_of
from tsenet.cli.app import app

CALLED: dict[str, Callable[..., Any]] = {
    "TSENetClassifier": tsenet.TSENetClassifier,
    "TSENetRegressor": tsenet.TSENetRegressor,
    "TopicModel": tsenet.TopicModel,
    "word_vectorizer": tsenet.data.text.word_vectorizer,
}


class Option(NamedTuple):
    """An option as typed, and the parameter that has to receive a value of it."""

    command: str
    typed: str
    called: str
    parameter: str
    value: Any

    @property
    def flag(self) -> str:
        return self.typed.split()[0]


def of_words(command: str) -> list[Option]:
    called = "word_vectorizer"
    return [
        Option(command, "--words 7", called, "n_words", 7),
        Option(command, "--stop-words none", called, "stop_words", []),
        Option(command, "--min-documents 3", called, "min_documents", 3),
        Option(command, "--max-df 0.5", called, "max_df", 0.5),
        Option(command, "--ngrams 2", called, "ngrams", 2),
        Option(command, "--tokenizer whitespace", called, "tokenizer", "whitespace"),
    ]


def of_estimator(called: str) -> list[Option]:
    return [
        Option("fit", "--density 0.5", called, "density", 0.5),
        Option("fit", "--link-rule top-k", called, "link_rule", "top-k"),
        Option("fit", "--max-top 9", called, "max_top", 9),
        Option("fit", "--skip-units 0", called, "skip_units", 0),
        Option("fit", "--dropout 0.25", called, "dropout", 0.25),
        Option("fit", "--learning-rate 0.02", called, "learning_rate", 0.02),
        Option("fit", "--batch-size 17", called, "batch_size", 17),
        Option("fit", "--max-epochs 6", called, "max_epochs", 6),
        Option("fit", "--patience 2", called, "patience", 2),
        Option("fit", "--jobs 2", called, "n_jobs", 2),
    ]


OF_TOPICS = [
    Option("topics", "--select tfidf", "TopicModel", "select", "tfidf"),
    Option("topics", "--top-words 2", "TopicModel", "top_words", 2),
    Option("topics", "--min-size 5", "TopicModel", "min_size", 5),
    Option("topics", "--min-coherence 0.2", "TopicModel", "min_coherence", 0.2),
    Option("topics", "--max-top 4", "TopicModel", "max_top", 4),
    Option("topics", "--max-island 6", "TopicModel", "max_island", 6),
    Option("topics", "--ud-threshold 2.5", "TopicModel", "ud_threshold", 2.5),
    Option("topics", "--no-correlation-test", "TopicModel", "correlation_test", False),
    Option("topics", "--structure-samples 100", "TopicModel", "structure_samples", 100),
    Option("topics", "--refine-steps 0", "TopicModel", "refine_steps", 0),
    Option("topics", "--em-restarts 2", "TopicModel", "em_restarts", 2),
    Option("topics", "--piece-size 9", "TopicModel", "piece_size", 9),
    Option("topics", "--leftovers attach", "TopicModel", "leftovers", "attach"),
    Option("topics", "--jobs 1", "TopicModel", "n_jobs", 1),
]
PASSED_ON = [*OF_TOPICS, *of_estimator("TSENetClassifier")]
OF_WORDS = [*of_words("fit"), *of_words("topics")]
CHECKPOINTS = []
# What the commands do themselves: which files and columns to read, where to write, what to show.
OWN = {
    "fit": (
        "--target --out -o --text --id --ignore --task --unlabeled --encoding "
        "--no-header --config --preset --seed --force --verbose --json --quiet --debug"
    ),
    "topics": (
        "--out -o --model --text --id --format --encoding --no-header --along --documents --no-explorer "
        "--no-full-depth --seed --force --json --config --quiet --debug --cluster --workers --memory"
    ),
}
# What a command passes on without being asked: the seed, so that the same command gives the same result.
ALWAYS = {
    "TSENetClassifier": {"random_state": 0},
    "TSENetRegressor": {"random_state": 0},
    "fit": {},
    "TopicModel": {"random_state": 0},
}


def command_of(name: str) -> Any:
    program: Any = typer.main.get_command(app)
    return program.commands[name]


def by_name(option: Option) -> str:
    return f"{option.command} {option.flag}"


class NoTrainingError(Exception):
    """Raised in place of training, which these tests do not need."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """What each function of the library was called with by name; nothing is trained."""
    seen: dict[str, dict[str, Any]] = {}
    hidden = ("verbose", "progress", "vectorizer")

    def note(name: str, options: dict[str, Any]) -> None:
        seen[name] = {key: value for key, value in options.items() if key not in hidden}

    class Untrained:
        def fit(self, X: object, y: object = None, **options: Any) -> None:
            note("fit", options)
            raise NoTrainingError

        fit_transform = fit

    def estimator(name: str) -> Callable[..., Untrained]:
        def build(**options: Any) -> Untrained:
            note(name, options)
            return Untrained()

        return build

    def passing(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            note(name, options)
            return CALLED[name](*arguments, **options)

        return call

    monkeypatch.setattr(tsenet, "warmup", lambda **_: None)
    monkeypatch.setattr(tsenet, "TSENetClassifier", estimator("TSENetClassifier"))
    monkeypatch.setattr(tsenet, "TSENetRegressor", estimator("TSENetRegressor"))
    monkeypatch.setattr(tsenet, "TopicModel", estimator("TopicModel"))
    monkeypatch.setattr(tsenet.data.text, "word_vectorizer", passing("word_vectorizer"))
    return seen


@pytest.fixture
def folder(tmp_path: Path, documents: list[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with documents, their lengths and whether they are about football."""
    frame = pd.DataFrame({"body": documents})
    frame["sport"] = ["football" in text for text in documents]
    frame["length"] = [len(text) / 10 for text in documents]
    frame.to_csv(tmp_path / "news.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(command: str, *typed: str, target: str = "sport") -> None:
    if command == "fit":
        needed = ["--text", "body", "--target", target, "--out", "model.tsenet"]
    else:
        needed = ["--text", "body", "--out", "topics", "--no-explorer"]
    result = run(command, "news.csv", *needed, "--quiet", *typed)
    assert isinstance(result.exception, NoTrainingError), result.output


@pytest.mark.parametrize("command", ["fit", "topics"])
def test_every_option_is_accounted_for(command: str) -> None:
    """A new option has to say which parameter it sets, or that it sets none."""
    flags = {
        flag
        for option in command_of(command).params
        if option.param_type_name == "option"
        for flag in option.opts
    }
    every = (*PASSED_ON, *OF_WORDS, *CHECKPOINTS)
    passed_on = {option.flag for option in every if option.command == command}
    assert flags - {"--help"} == passed_on | set(OWN[command].split())


@pytest.mark.parametrize("option", [*PASSED_ON, *OF_WORDS, *CHECKPOINTS], ids=by_name)
def test_an_option_has_no_default_of_its_own(option: Option) -> None:
    (found,) = [p for p in command_of(option.command).params if option.flag in p.opts]
    assert found.default is (False if getattr(found, "is_flag", False) else None)


@pytest.mark.parametrize(
    "option", [*PASSED_ON, *OF_WORDS, *of_estimator("TSENetRegressor")], ids=by_name
)
def test_an_option_sets_a_real_parameter(option: Option) -> None:
    parameters = inspect.signature(CALLED[option.called]).parameters
    assert option.parameter in parameters
    # a value that differs from the default, or the tests below could not tell that it was passed on
    assert parameters[option.parameter].default != option.value


@pytest.mark.parametrize(
    ("command", "target", "called"),
    [
        ("fit", "sport", {"TSENetClassifier", "fit"}),
        ("fit", "length", {"TSENetRegressor", "fit"}),
        ("topics", "", {"TopicModel", "fit"}),
    ],
)
def test_nothing_given_nothing_passed(
    command: str, target: str, called: set[str], folder: Path, calls: dict[str, dict[str, Any]]
) -> None:
    call(command, target=target)
    assert calls == {name: ALWAYS[name] for name in called}


@pytest.mark.parametrize(
    "option", [*PASSED_ON, *of_estimator("TSENetRegressor"), *CHECKPOINTS], ids=by_name
)
def test_a_given_option_is_passed_on_alone(
    option: Option, folder: Path, calls: dict[str, dict[str, Any]]
) -> None:
    target = "length" if option.called == "TSENetRegressor" else "sport"
    call(option.command, *option.typed.split(), target=target)
    assert calls.pop(option.called) == {**ALWAYS[option.called], option.parameter: option.value}
    assert calls == {name: ALWAYS[name] for name in calls}


@pytest.mark.parametrize("option", OF_WORDS, ids=by_name)
def test_options_of_words_make_the_vectorizer(
    option: Option, folder: Path, calls: dict[str, dict[str, Any]]
) -> None:
    call(option.command, *option.typed.split())
    usual = {} if option.command == "fit" else {"stop_words": "english", "min_documents": 2}
    assert calls["word_vectorizer"] == {**usual, option.parameter: option.value}


@pytest.mark.parametrize("command", ["fit", "topics"])
def test_the_seed_is_passed_on(
    command: str, folder: Path, calls: dict[str, dict[str, Any]]
) -> None:
    call(command, "--seed", "3")
    assert calls["TSENetClassifier" if command == "fit" else "TopicModel"] == {"random_state": 3}


@pytest.mark.parametrize(
    "option", [*PASSED_ON, *OF_WORDS, *of_estimator("TSENetRegressor")], ids=by_name
)
def test_help_shows_the_default_of_the_library(option: Option) -> None:
    """It is read from the source; here it is compared with the function itself."""
    shown = " ".join(run(option.command, "--help").stdout.split())
    _, _, text = shown.partition(f" {option.flag} ")
    text = text.split(" --")[0]
    default = inspect.signature(CALLED[option.called]).parameters[option.parameter].default
    if default is None or isinstance(default, bool):
        assert "[default:" not in text
    else:
        assert f"[default: ({default})" in text


@pytest.mark.parametrize("function", ["TSENetClassifier", "TopicModel", "word_vectorizer"])
def test_a_default_that_is_not_in_the_source_is_an_error(function: str) -> None:
    with pytest.raises(KeyError, match="no_such_parameter"):
        default_of(function, "no_such_parameter")


def test_out_is_short_everywhere() -> None:
    commands = typer.main.get_group(app).commands  # type: ignore[attr-defined]  # a group has them
    found = {
        name: parameter.opts
        for name, command in commands.items()
        for parameter in command.params
        if "--out" in parameter.opts
    }
    assert {"fit", "predict", "report", "shard", "topics"} <= set(found)
    assert all("-o" in names for names in found.values()), found
