"""``tsenet export``: write a saved model in the formats of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tsenet.cli._console import check_output
from tsenet.cli._options import AsJson, Debug, Force
from tsenet.cli._results import say

__all__ = ["export"]


def export(
    tree: Annotated[Path, typer.Argument(metavar="TREE", help="A tree.tsenet file.")],
    bif: Annotated[Path, typer.Option(metavar="FILE", help="Write a Bayesian network in BIF.")],
    force: Force = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Write a saved tree in the format of other programs for graphical models."""
    from tsenet.store import load, write_bif

    check_output(bif, force)
    write_bif(load(tree, "LatentTree"), bif)
    say(as_json, {"out": bif}, f"written to {bif}")
