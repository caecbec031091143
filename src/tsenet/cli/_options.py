"""Options and arguments that several commands share, and how options reach the library.

A default has one place, the library's signature. So an option that sets a parameter of the library is None unless
given, and only given ones are passed on (`given`). Its help shows the library's default (`library_option`,
`ShowsDefaults`).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tsenet.cli._config import read_config
from tsenet.cli._console import remember_debug
from tsenet.cli._defaults import default_of

__all__ = [
    "AsJson",
    "Config",
    "Data",
    "Debug",
    "Encoding",
    "Force",
    "Jobs",
    "MaxDf",
    "MinDocuments",
    "Model",
    "Ngrams",
    "NoHeader",
    "Quiet",
    "Seed",
    "ShowsDefaults",
    "StopWords",
    "Tokenizer",
    "Unlabeled",
    "Words",
    "given",
    "library_option",
    "number_option",
    "refuse_both",
    "whole_option",
]

_REFERENCE = "library:"


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given: those that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def refuse_both(cluster: str | None, workers: int | None) -> None:
    """Refuse two places to work at."""
    if cluster is not None and workers is not None:
        raise typer.BadParameter("give --cluster or --workers, not both", param_hint="--cluster")


def library_option(parameter: str, help: str, **settings: Any) -> Any:
    """Declare an option that sets a parameter of the library, such as ``TopicModel.select``; its default is None."""
    return typer.Option(help=help, show_default=_REFERENCE + parameter, **settings)


whole_option = partial(library_option, metavar="N")
number_option = partial(library_option, metavar="X")


class ShowsDefaults(TyperCommand):
    """A command whose help shows the library's default of each `library_option`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Look the defaults up, and write the help."""
        for option in self.params:
            shown = getattr(option, "show_default", None)
            if isinstance(shown, str) and shown.startswith(_REFERENCE):
                function, _, parameter = shown.removeprefix(_REFERENCE).partition(".")
                default = default_of(function, parameter)
                option.show_default = False if default is None else str(default)  # type: ignore[attr-defined]  # options have it, arguments too
        super().format_help(ctx, formatter)


# ---- what to read and write

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Rows: csv, tsv, json, jsonl, parquet or npz, or a folder of txt files; "
        "- for csv or JSON from standard input.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoding of a text file, such as latin-1; default: utf-8."),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header", help="The csv has no line of column names: they are called 1, 2, and so on."
    ),
]
Unlabeled = Annotated[
    str | None,
    typer.Option(metavar="VALUE", help="Marks rows without a target, besides blank cells."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by tsenet fit.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="TOML file with options in a table named after the command; typed options go first.",
        callback=read_config,
        is_eager=True,
    ),
]

# ---- which words of documents to count

Words = Annotated[int | None, whole_option("word_vectorizer.n_words", "Most words to keep.", min=2)]
StopWords = Annotated[
    str | None,
    library_option(
        "word_vectorizer.stop_words",
        "Words to leave out: english, another language such as german, none, or a file of words; default: none, "
        "for topics english.",
        metavar="WHICH",
    ),
]
MinDocuments = Annotated[
    int | None,
    whole_option(
        "word_vectorizer.min_documents",
        "Leave out words that are in fewer documents; for topics and shards 2.",
        min=1,
    ),
]
MaxDf = Annotated[
    float | None,
    number_option(
        *("word_vectorizer.max_df", "Leave out words that are in a larger share of the documents."),
        min=1e-6,
        max=1.0,
    ),
]
Ngrams = Annotated[
    int | None,
    whole_option(
        *("word_vectorizer.ngrams", "Longest n-gram: 2 also counts pairs of neighbouring words."),
        min=1,
        max=5,
    ),
]
Tokenizer = Annotated[
    str | None,
    library_option(
        "word_vectorizer.tokenizer",
        "How to split text into words: unicode, or whitespace for text that is already split.",
        metavar="NAME",
    ),
]
# ---- how to run

# The one default that is the command line's own: the same command gives the same result.
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Same seed, same result.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Threads; default: all cores. The result does not depend on it."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error.", callback=remember_debug)
]
