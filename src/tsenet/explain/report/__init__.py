"""The explorer: a model as one HTML page, to look at the tree, its units, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from tsenet.explain.report.payload import Payload, ReportOptions, report_payload
from tsenet.progress import Progress, ProgressCallback

__all__ = ["Payload", "ReportOptions", "report_payload", "write_report"]


def write_report(
    path: str | PathLike[str],
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    texts: Sequence[str] | None = None,
    along: Sequence[Any] | None = None,
    along_name: str = "label",
    progress: Progress | ProgressCallback | bool | None = None,
    **options: Any,
) -> None:
    """Write a report of a fitted model or a tree: one HTML file that opens from the disk and needs no network.

    Parameters
    ----------
    path : path
        The file to write; one of that name is replaced.
    model : LatentTree, LatentTreeTransformer, TSENetClassifier or TSENetRegressor
    X, y, texts, along, along_name, progress
        As for :func:`report_payload`.
    **options
        Those of :class:`ReportOptions`.
    """
    from tsenet.explain.report.page import write_page

    payload = report_payload(
        model,
        X,
        y,
        texts=texts,
        along=along,
        along_name=along_name,
        options=ReportOptions(**options),
        progress=progress,
    )
    write_page(path, payload)
