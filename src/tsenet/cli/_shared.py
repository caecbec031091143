"""What the commands share: one-line errors, safe outputs, printed results, ``--set``, ``--config`` and common options.

A default has one place, the library's signature: an option is None unless it was typed, and only typed ones are passed
on. Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import json
import logging
import os
import re
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from tsenet.errors import DataError, TSENetError

if TYPE_CHECKING:
    import pandas as pd

    from tsenet.progress import Progress

#: The output path that means standard output.
STDOUT = Path("-")
#: The function that says how words are chosen and counted; its parameters can be set too.
WORDS = "tsenet.data.word_vectorizer"
# Keys of ``ctx.meta``: parameters that the configuration file or --set names; whether to show tracebacks.
_SETTINGS = "tsenet.settings"
_DEBUG = "tsenet.debug"
# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Parameters that the shell cannot give, and one whose option does more.
_NOT_SETTABLE = ("skeleton", "text", "vectorizer", "wiring", "client", "progress", "unlabeled")


# ---- errors


class PlainErrors(TyperGroup):
    """Commands whose expected errors are one line on stderr instead of a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` wherever it stands, also behind the name of the command."""
        ctx.meta[_DEBUG] = "--debug" in args
        return super().parse_args(ctx, [argument for argument in args if argument != "--debug"])

    def invoke(self, ctx: Any) -> Any:
        """Run the command; exit with 1 after an expected error, with 130 after Ctrl-C."""
        try:
            with _plain_warnings():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            _stop(ctx, "interrupted, nothing written", 130)
        except BrokenPipeError:  # the reader, such as head, has seen enough; typer ends quietly
            raise
        except TSENetError as error:
            _stop(ctx, f"error: {error}", 1)
        except OSError as error:
            named = error.filename is not None and error.strerror is not None
            message = f"{error.filename}: {error.strerror}" if named else str(error)
            _stop(ctx, f"error: {message}", 1)
        except ValueError as error:  # the estimator refuses a value
            if not ctx.meta.get(_SETTINGS):
                raise
            _stop(ctx, f"error: {error} (see --set, --help-all)", 1)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings for the user as one line on stderr, without the source line."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


def _stop(ctx: typer.Context, message: str, code: int) -> NoReturn:
    if ctx.meta.get(_DEBUG):
        import traceback

        traceback.print_exc()
    typer.echo(" ".join(message.split()), err=True)
    raise typer.Exit(code) from None


# ---- inputs and outputs


def is_shard_folder(data: Path) -> bool:
    """Whether a path is a finished folder of shards rather than a file or a folder of texts."""
    return (data / "shards.json").is_file()


def check_output(path: Path, force: bool, *inputs: Path | str | None) -> None:
    """Raise an OSError, before any work, if the file cannot be written or is one of the inputs."""
    if path == STDOUT:
        raise OSError("only predictions can be written to standard output: give the name of a file")
    refuse_inputs(path, *inputs)
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: choose another name, or add --force to replace it")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path.parent} cannot be written to")


def refuse_inputs(out: Path, *inputs: Path | str | None) -> None:
    """Raise FileExistsError if the output is one of the inputs, or a file of an input folder; links are followed."""
    if not out.exists():
        return
    for path in (Path(name) for name in inputs if name is not None and Path(name).exists()):
        belongs = is_shard_folder(path) or ".txt" in map(str.lower, out.suffixes)
        if out.samefile(path) or (belongs and path.resolve() in out.resolve().parents):
            raise FileExistsError(
                f"{out} would replace the input {path}: write to another file or folder "
                "(--force does not replace inputs)"
            )


def check_order(context: typer.Context, model: Path, data: Path) -> None:
    """Raise DataError if the model and the rows were swapped."""
    if data.suffix == ".tsenet" and model.suffix != ".tsenet":
        command = f"tsenet {context.info_name}"
        raise DataError(f"the model comes first: {command} {data} {model}")


def write_csv(frame: pd.DataFrame, stream: IO[str], *, header: bool = True) -> None:
    """Write a table as csv; texts that a spreadsheet would run as a formula get a leading ``'``."""
    frame = frame.rename(columns=_no_formula)
    texts = frame.select_dtypes(exclude="number").columns
    frame = frame.assign(**{name: frame[name].map(_no_formula) for name in texts})
    frame.to_csv(stream, index=False, header=header, lineterminator="\n")


def _no_formula(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)  # -1.5 is a number
    except ValueError:
        return f"'{cell}"
    return cell


# ---- what is printed


def print_result(as_json: bool, fields: Mapping[str, Any], *lines: str) -> None:
    """Print a result: its fields as one JSON object, null where a number is not finite, or the lines."""
    if as_json:
        text = json.dumps(fields, default=lambda value: getattr(value, "item", value.__str__)())
        finite = json.loads(text, parse_constant=lambda _: None)
        lines = (json.dumps(finite, ensure_ascii=False),)
    typer.echo("\n".join(lines))


@contextmanager
def open_progress(quiet: bool) -> Iterator[Progress]:
    """Show bars on a terminal; a line per finished stage where stderr goes to a file or another program."""
    from tsenet.progress import BarProgress, Progress

    if quiet:
        yield Progress()
    elif sys.stderr.isatty():
        from tqdm import tqdm

        say = partial(tqdm.write, file=sys.stderr)  # above the bars
        with BarProgress() as bars, _telling_of_compilation(say):
            yield bars
    else:
        logger = logging.getLogger("tsenet.progress")
        handler = logging.StreamHandler(sys.stderr)
        propagate = logger.propagate
        level = logger.level
        logger.addHandler(handler)
        logger.propagate = False
        logger.setLevel(logging.INFO)
        try:
            with _telling_of_compilation(logger.info):
                yield Progress()
        finally:  # as it was before: a program may call a command and log on its own afterwards
            logger.removeHandler(handler)
            logger.propagate = propagate
            logger.setLevel(level)


@contextmanager
def _telling_of_compilation(say: Callable[[str], None]) -> Iterator[None]:
    """Say that kernels are compiled, when they are, and after that how long it took."""

    class Teller(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(record.getMessage())

    logger, teller = logging.getLogger("tsenet.compile"), Teller()
    level = logger.level
    logger.addHandler(teller)
    logger.setLevel(logging.INFO)
    before = _seconds_of_compilation()
    try:
        yield
    finally:
        logger.removeHandler(teller)
        logger.setLevel(level)
        seconds = _seconds_of_compilation() - before
        if seconds > 0:
            say(f"kernels compiled in {seconds:.1f} s; the next run reads them from numba's cache")


def _seconds_of_compilation() -> float:
    """In this process, without loading numba."""
    jit = sys.modules.get("tsenet._system.jit")
    return 0.0 if jit is None else float(jit.compilation.seconds)


# ---- parameters of the library: --set and --help-all


def read_settings(
    context: typer.Context, assignments: list[str] | None, *functions: str
) -> dict[str, Any]:
    """Return the parameters that ``--set`` and the configuration file name, with their values.

    Raises
    ------
    typer.BadParameter
        If a name is no parameter of the functions.
    """
    settings = dict(context.meta.setdefault(_SETTINGS, {}))
    for assignment in assignments or []:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise typer.BadParameter(f"write NAME=VALUE, not {assignment!r}", param_hint="--set")
        settings[name.strip().replace("-", "_")] = _value_of(text.strip())

    known = [name for function in functions for name in _parameters_of(function)]
    for name in settings:
        if name in known:
            continue
        close = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "see --help-all"
        raise typer.BadParameter(f"there is no parameter {name!r}: {hint}", param_hint="--set")

    context.meta[_SETTINGS] = dict(settings)
    return settings


def read_array(path: Path | None) -> Any:
    """The array of an npy file."""
    import numpy as np

    if path is None:
        return None
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"--embeddings {path} cannot be read as an npy file: {error}") from error


def read_vectors(
    embeddings: Path | None,
    encoder: str | None,
    texts: list[str],
    path: Path,
    progress: Progress,
) -> Any:
    """The vectors of texts: those of a file, or those of an encoder, which are written to ``path``; or None."""
    import numpy as np

    from tsenet._system.atomic import atomic_write
    from tsenet.data import embed

    if encoder is None:
        return read_array(embeddings)
    if embeddings is not None:
        raise DataError("give --encoder or --embeddings, not both")

    progress.start("encoding texts", None)
    vectors = embed(texts, None if encoder == "minilm" else encoder)
    progress.finish()
    with atomic_write(path) as stream:
        np.save(stream, vectors)
    return vectors


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
        if parameter.kind is parameter.KEYWORD_ONLY and name not in _NOT_SETTABLE
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
            plain = re.sub(r":\w+:`([^`]*)`", r"\1", described).replace("``", "")
            typer.echo(f"\nNAME=VALUE for --set ({function}):\n\n{plain}")
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

    word_options = inspect.signature(word_vectorizer).parameters
    signature = inspect.signature(_loaded(estimator)).parameters
    options: dict[str, Any] = typed(n_words=words, stop_words=stop_words)
    if stop_words is not None and (Path(stop_words).is_file() or Path(stop_words).suffix):
        options["stop_words"] = Path(stop_words)

    options |= {name: settings.pop(name) for name in list(settings) if name in word_options}
    defaults = {name: signature[name].default for name in word_options if name in signature}
    if not options:
        return None
    vectorizer = word_vectorizer(**{**defaults, **options})
    vectorizer._validate_params()
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
    for key, setting in table.items():
        parameter = known.get(key.replace("_", "-"))
        if parameter is None and "set" in known:
            ctx.meta.setdefault(_SETTINGS, {})[key.replace("-", "_")] = setting
            continue
        if parameter is None or parameter.name == "config":
            raise DataError(f"{path}: {key!r} is not an option of tsenet {ctx.info_name}")
        several = getattr(parameter, "multiple", False) or parameter.nargs != 1
        options[parameter.name] = _values_of(setting) if several else setting

    ctx.default_map = options
    return path


# ---- common options


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
    bool, typer.Option("--no-header", help="The csv has no header: its columns are called 1, 2, …")
]
MaxSize = Annotated[
    int | None,
    option("MB", "Read a file that unpacks to more than 20 times its size, up to this.", min=1),
]
Out = Annotated[Path, option("FILE", "File to write.", "--out", "-o")]
IdColumn = Annotated[
    str | None, option("COLUMN", "Column that identifies the rows; outputs include it.", "--id")
]
Text = Annotated[str | None, option("COLUMN", "Column that contains the text; default: text.")]
Along = Annotated[str | None, option("COLUMN", "Show topics over its dates, or by its labels.")]
Workers = Annotated[
    str | None, option("WHERE", "Number of processes to start, or address of a Dask cluster.")
]
Unlabeled = Annotated[
    str | None, option("VALUE", "Value that marks rows without a target; blank cells always do.")
]
Embeddings = Annotated[
    Path | None,
    option("FILE", "npy file with an embedding of each row."),
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
    option("NAME=VALUE", "Set any parameter (repeatable); see --help-all.", "--set"),
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
