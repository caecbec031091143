"""``tsenet export``: write a saved model in the formats of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tsenet.cli import _shared as cli
from tsenet.errors import DataError


def export(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="A saved tree, topic model, classifier or regressor."),
    ],
    bif: Annotated[
        Path | None, cli.option("FILE", "Write the tree as a Bayesian network in BIF.")
    ] = None,
    onnx: Annotated[
        Path | None, cli.option("FILE", "Write a classifier or regressor as an ONNX model.")
    ] = None,
    texts: Annotated[
        bool,
        typer.Option("--texts", help="The ONNX model reads texts, and counts their words itself."),
    ] = False,
    force: cli.Force = False,
    as_json: cli.AsJson = False,
) -> None:
    """Convert a saved model for other programs: to BIF or ONNX."""
    from tsenet import LatentTree
    from tsenet.store import load, write_bif, write_onnx

    out = bif or onnx
    if out is None or (bif is not None and onnx is not None):
        raise typer.BadParameter("give one of them", param_hint="--bif FILE or --onnx FILE")

    if texts and onnx is None:
        raise typer.BadParameter("only an ONNX model reads texts", param_hint="--texts")
    cli.check_output(out, force, model)
    fitted = load(model)
    kind = type(fitted).__name__
    if bif is not None:
        tree = fitted if isinstance(fitted, LatentTree) else getattr(fitted, "tree_", None)
        if hasattr(fitted, "to_tree"):
            raise DataError(
                f"{model} holds a {kind}, whose tree has the rates of documents: make it in Python with "
                "to_tree(texts), and save that"
            )
        if tree is None:
            raise DataError(f"{model} holds a {kind} without a tree: nothing to write as BIF")
        write_bif(tree, out)
    else:
        if not hasattr(fitted, "to_onnx"):
            raise DataError(
                f"{model} holds a {kind}: only a TSENetClassifier or TSENetRegressor can be written as ONNX"
            )
        write_onnx(fitted, out, texts=texts)

    n_bytes = out.stat().st_size
    cli.print_result(
        as_json, {"out": out, "bytes": n_bytes}, f"written to {out} ({n_bytes:,} bytes)"
    )
