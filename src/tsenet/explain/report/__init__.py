"""The report of a model: one HTML page to explore the tree, its units and their meaning (the explorer)."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from tsenet.explain.bins import Bins
from tsenet.explain.presence import Activity
from tsenet.explain.report.payload import Payload, ReportOptions, report_payload
from tsenet.explain.topics import Topic
from tsenet.progress import Progress, ProgressCallback

__all__ = ["Payload", "ReportOptions", "report_payload", "write_report"]


def write_report(
    path: str | PathLike[str],
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    texts: Sequence[str] | None = None,
    along: Sequence[Any] | Bins | None = None,
    along_name: str = "label",
    topics: Sequence[Topic] | None = None,
    activity: Activity | None = None,
    progress: Progress | ProgressCallback | bool | None = None,
    **options: Any,
) -> None:
    """Write a report of a fitted model or a tree: one HTML file that opens from the disk and needs no network.

    Parameters
    ----------
    path : path
        The file to write; an existing one is replaced.
    model : LatentTree, LatentTreeTransformer, TSENetClassifier or TSENetRegressor
        A tree, or a fitted estimator.
    X : table (N, V), optional
        Rows from which to compute how active each unit is, with which features and in which rows. Without them the page
        shows only what the model holds.
    y : array-like, optional
        Targets of the rows, for the score and the number of rows of each class.
    texts : sequence of str, optional
        What to show of each row. The page quotes it.
    along : sequence or Bins, optional
        A date, label or number for each row; only for trees, whose topics are then shown along it.
    along_name : str, default="label"
        What ``along`` is called on the page.
    topics : sequence of Topic, optional
        Topics of the tree to show, nested; default: all latents.
    activity : Activity, optional
        What :func:`tsenet.explain.presence.topic_activity` computed for the tree's latents in the rows, with the bins
        of ``along``. Without it, it is computed from ``X``; with it, ``X`` may be left out.
    progress : None, bool, Progress or callable, default=None
        How to report progress: True draws a bar, a callable gets ``(stage, done, total)``, None is silent.
    **options
        Fields of ``ReportOptions``, such as ``title``.

    Raises
    ------
    DataError
        If rows, texts and the rest do not have the same length, or texts or ``along`` come without rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree
    >>> from tsenet.explain.report import write_report
    >>> pixels = load_digits().data[:300]
    >>> tree = learn_tree(pixels, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder, "digits.html")
    ...     write_report(page, tree, pixels, title="Digits")
    ...     print("<title>Digits" in page.read_text(encoding="utf-8"))
    True
    """
    from tsenet.explain.report.page import write_page

    payload = report_payload(
        model,
        X,
        y,
        texts=texts,
        along=along,
        along_name=along_name,
        topics=topics,
        activity=activity,
        options=ReportOptions(**options),
        progress=progress,
    )
    write_page(path, payload)
