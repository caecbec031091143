"""``python -m reproduce NAME``: the command line of the experiments."""

from __future__ import annotations

import typer

from reproduce.commands import reproduce
from tsenet.cli._console import PlainErrors

app = typer.Typer(
    cls=PlainErrors, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
app.command()(reproduce)

if __name__ == "__main__":
    app(prog_name="python -m reproduce")
