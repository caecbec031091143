"""``tsenet export``: write a saved model in the formats of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tsenet.cli._console import check_output, written_to
from tsenet.cli._options import AsJson, Debug, Force
from tsenet.cli._results import say
from tsenet.errors import DataError

__all__ = ["export"]


def export(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="A saved tree, topic model, classifier or regressor."),
    ],
    bif: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the tree as a Bayesian network in BIF."),
    ] = None,
    onnx: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a classifier or regressor as an ONNX model."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Write a saved model in the format of other programs: a tree as BIF, a network as ONNX."""
    from tsenet.store import load, write_bif, write_onnx

    if (bif is None) == (onnx is None):
        raise typer.BadParameter("give one of --bif FILE and --onnx FILE")
    if bif is not None:
        check_output(bif, force, model)
        fitted = load(model)
        with written_to(bif) as path:
            write_bif(_tree_of(fitted, model), path)
        say(as_json, {"out": bif}, f"written to {bif}")
    if onnx is not None:
        check_output(onnx, force, model)
        network = load(model)
        if not hasattr(network, "to_onnx"):
            raise DataError(
                f"{model} holds a {type(network).__name__}: only a TSENetClassifier or TSENetRegressor "
                "can be written as ONNX"
            )
        with written_to(onnx) as path:
            write_onnx(network, path)
            n_bytes = path.stat().st_size
        say(as_json, {"out": onnx, "bytes": n_bytes}, f"written to {onnx} ({n_bytes:,} bytes)")


def _tree_of(fitted: Any, path: Path) -> Any:
    """A tree, or the one that a model was made from."""
    from tsenet import LatentTree

    tree = fitted if isinstance(fitted, LatentTree) else getattr(fitted, "tree_", None)
    if tree is None:
        raise DataError(
            f"{path} holds a {type(fitted).__name__} without a tree: nothing to write as BIF"
        )
    return tree
