"""The program ``tsenet``: its commands, each in a module of its own.

Everything heavy is imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from tsenet.cli._shared import PlainErrors
from tsenet.cli.evaluate import evaluate
from tsenet.cli.export import export
from tsenet.cli.fit import fit
from tsenet.cli.label import label
from tsenet.cli.predict import predict
from tsenet.cli.report import report
from tsenet.cli.shard import shard
from tsenet.cli.suggest import suggest
from tsenet.cli.topics import topics

__all__ = ["app"]


def _show_version(value: bool) -> None:
    if value:
        import tsenet

        typer.echo(f"tsenet {tsenet.__version__}")
        raise typer.Exit


app = typer.Typer(
    name="tsenet",
    cls=PlainErrors,
    help="Learn topics from documents, and train sparse networks on documents or tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: loading rich alone takes longer than all the rest
)


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error, in any command.")
    ] = False,
) -> None:
    # OpenMP threads that spin while they wait take the processor from numba's own.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


for _command in (topics, fit, predict, evaluate, suggest, label, report, export, shard):
    app.command()(_command)
