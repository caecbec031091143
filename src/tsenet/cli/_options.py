"""Options that several commands share; ``--config`` files; ``--set NAME=VALUE`` for all parameters of an estimator.

A default has one place, the library's signature: an option is None unless it was typed, and only typed ones are passed
on. Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tsenet.cli._console import SETTINGS
from tsenet.errors import DataError

#: The function that says how words are chosen and counted; its parameters can be set too.
WORDS = "tsenet.data.word_vectorizer"
# Parameters that have an option of their own, and those that the shell cannot give.
_OPTION_OF = {
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "n_words": "--words",
    "stop_words": "--stop-words",
    "unlabeled": "--unlabeled",
    "seed_words": "--seed-words",
    "levels": "--levels",
    "n_topics": "--topics",
}
_NOT_SETTABLE = ("vectorizer", "wiring", "client", "progress", "verbose")


def option(metavar: str, help: str, *flags: str, **limits: Any) -> Any:
    """Declare an option that takes a value."""
    return typer.Option(*flags, metavar=metavar, help=help, **limits)


def typed(**options: Any) -> dict[str, Any]:
    """Return the options that are not None: those that were typed."""
    return {name: value for name, value in options.items() if value is not None}


def refuse_options(context: typer.Context, names: Iterable[str], reason: str) -> None:
    """Raise a usage error for the first of these options that was typed."""
    for option in context.command.params:
        if option.name in names and context.params.get(str(option.name)):
            flag = option.opts[0]
            raise typer.BadParameter(f"{reason}, so {flag} does not apply", param_hint=flag)


# ---- parameters of the library: --set and --help-all


def read_settings(
    context: typer.Context, assignments: list[str] | None, *functions: str
) -> dict[str, Any]:
    """Return the parameters that ``--set`` and the configuration file name, with their values.

    Raises
    ------
    typer.BadParameter
        If a name is no parameter of the functions, or has an option of its own.
    """
    settings = dict(context.meta.setdefault(SETTINGS, {}))
    for assignment in assignments or []:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise typer.BadParameter(f"write NAME=VALUE, not {assignment!r}", param_hint="--set")
        settings[name.strip().replace("-", "_")] = _value_of(text.strip())
    known = [name for function in functions for name in _parameters_of(function)]
    for name in settings:
        if name in known:
            continue
        hint = "see --help-all"
        if name in _OPTION_OF:
            hint = f"use {_OPTION_OF[name]}"
        elif close := difflib.get_close_matches(name, known, n=3):
            hint = f"did you mean {' or '.join(close)}?"
        raise typer.BadParameter(f"there is no parameter {name!r}: {hint}", param_hint="--set")
    context.meta[SETTINGS] = dict(settings)
    for function in functions:
        check_values(_loaded(function), settings)
    return settings


def check_values(estimator: Any, settings: Mapping[str, Any]) -> None:
    """Raise scikit-learn's ValueError for a value that an estimator's fit would refuse."""
    from sklearn.utils._param_validation import validate_parameter_constraints

    constraints = getattr(estimator, "_parameter_constraints", {})
    validate_parameter_constraints(constraints, settings, getattr(estimator, "__name__", ""))


def read_array(path: Path | None) -> Any:
    """The array of an npy file."""
    import numpy as np

    if path is None:
        return None
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"--embeddings {path} cannot be read as an npy file: {error}") from error


def _value_of(text: str) -> Any:
    """A value spelled as in JSON or Python; anything else is a text."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return text


def _loaded(function: str) -> Any:
    module, _, name = function.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _parameters_of(function: str) -> list[str]:
    """The parameters that can be set from the shell."""
    return [
        name
        for name, parameter in inspect.signature(_loaded(function)).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in (*_OPTION_OF, *_NOT_SETTABLE)
    ]


def help_all(*functions: str) -> Any:
    """Declare ``--help-all``: the help, and the parameters of these functions as their docstrings describe them."""

    def show(context: typer.Context, value: bool) -> None:
        if not value:
            return
        typer.echo(context.get_help())
        for function in functions:
            loaded = _loaded(function)
            pages = "\n".join(inspect.getdoc(part) or "" for part in (loaded, loaded.__init__))
            described = pages.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
            typer.echo(f"\nNAME=VALUE for --set ({function}):\n\n{described}")
        raise typer.Exit

    text = "Show this message and all parameters that --set takes, then exit."
    return typer.Option("--help-all", help=text, callback=show, is_eager=True)


def workers_of(workers: str | None) -> dict[str, Any]:
    """Return where work runs, as ``Blocks`` and ``Cluster`` take it: processes to start, or a cluster's address."""
    if workers is None:
        return {}
    if workers == "0":
        raise typer.BadParameter("give at least 1", param_hint="--workers")
    return {"n_workers": int(workers)} if workers.isdigit() else {"client": workers}


def vectorizer_of(
    settings: dict[str, Any], words: int | None, stop_words: str | None, estimator: str = WORDS
) -> Any:
    """Return the vectorizer that options describe, taking its parameters out of ``settings``; None without any.

    Parameters that are not typed have the estimator's defaults.
    """
    from tsenet.data import word_vectorizer

    own = inspect.signature(word_vectorizer).parameters
    signature = inspect.signature(_loaded(estimator)).parameters
    options: dict[str, Any] = typed(n_words=words, stop_words=stop_words)
    if stop_words is not None and (Path(stop_words).is_file() or Path(stop_words).suffix):
        options["stop_words"] = Path(stop_words)
    options |= {name: settings.pop(name) for name in list(settings) if name in own}
    defaults = {name: signature[name].default for name in own if name in signature}
    if not options:
        return None
    vectorizer = word_vectorizer(**{**defaults, **options})
    check_values(type(vectorizer), vectorizer.get_params(deep=False))
    return vectorizer


# ---- options from a file


def _values_of(value: Any) -> list[Any]:
    """The values of a repeatable option; a table such as [topics.rename] gives NAME=VALUE."""
    if isinstance(value, dict):
        items = {name: item if isinstance(item, list) else [item] for name, item in value.items()}
        return [f"{name}={','.join(map(str, item))}" for name, item in items.items()]
    return value if isinstance(value, list) else [value]


def _read_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Take options that are not typed from the command's table of a TOML file; other keys are settings."""
    if path is None:
        return path
    try:
        tables = tomllib.loads(path.read_text("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not TOML: {error}") from error
    table = tables.get(str(ctx.info_name))
    if not isinstance(table, dict):
        raise DataError(
            f"{path}: write the options of tsenet {ctx.info_name} below a line [{ctx.info_name}]"
        )
    known: dict[str, Any] = {max(p.opts, key=len).lstrip("-"): p for p in ctx.command.params}
    options: dict[str, Any] = {}
    for key, value in table.items():
        parameter = known.get(key.replace("_", "-"))
        if parameter is None and "set" in known:
            ctx.meta.setdefault(SETTINGS, {})[key.replace("-", "_")] = value
            continue
        if parameter is None or parameter.name == "config":
            raise DataError(f"{path}: {key!r} is not an option of tsenet {ctx.info_name}")
        several = getattr(parameter, "multiple", False) or parameter.nargs != 1
        options[parameter.name] = _values_of(value) if several else value
    ctx.default_map = options
    return path


# ---- the options themselves

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Rows: csv, tsv, json, jsonl or parquet; a folder of txt files; a folder made by tsenet shard; or - "
        "for csv or JSON from standard input.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by tsenet fit.")]
Encoding = Annotated[str | None, option("NAME", "Encoding of a text file, such as latin-1.")]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The csv has no header; its columns are called 1, 2, …")
]
Out = Annotated[Path, option("FILE", "File to write.", "--out", "-o")]
IdColumn = Annotated[
    str | None, option("COLUMN", "Column that identifies the rows; outputs include it.", "--id")
]
Text = Annotated[str | None, option("COLUMN", "Column of the text; default: text.")]
Along = Annotated[str | None, option("COLUMN", "Show topics over its dates, or by its labels.")]
Workers = Annotated[
    str | None, option("WHERE", "Number of processes to start, or address of a Dask cluster.")
]
Unlabeled = Annotated[
    str | None, option("VALUE", "Value that marks rows without a target, as a blank cell does.")
]
Embeddings = Annotated[
    Path | None,
    option("FILE", "npy file of vectors of the rows, from an encoder."),
]
Words = Annotated[int | None, option("N", "Keep only the N most frequent words.", min=2)]
StopWords = Annotated[
    str | None,
    option("WHICH", "Words to leave out: a language such as english, none, or a file of words."),
]
# The one default that is the command line's own: the same command gives the same result.
Seed = Annotated[int, option("N", "Random seed.", min=0)]
Jobs = Annotated[
    int | None, option("N", "Threads; default: all cores. Does not affect the result.", min=1)
]
Set = Annotated[
    list[str] | None,
    option("NAME=VALUE", "Set any other parameter (repeatable); see --help-all.", "--set"),
]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="TOML file with a table of options for the command; options given here take precedence.",
        callback=_read_config,
        is_eager=True,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing output.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not show progress.")]
