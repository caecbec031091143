"""The HTML file: the payload, the styles and the program in one file that loads nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib.resources import files
from os import PathLike
from string import Template
from typing import Any

from tsenet._system.atomic import atomic_write
from tsenet.explain.report.payload import Payload, report_payload

_OUTLINE_ITEMS = 200

# What would end a script element, or a line of JavaScript, becomes JSON's own escape: the text stays the same.
_ESCAPES = {
    ord(character): f"\\u{ord(character):04x}" for character in ("<", ">", "&", "\u2028", "\u2029")
}


def write_report(
    path: str | PathLike[str], model: Any, X: Any = None, y: Any = None, **options: Any
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
    **options
        - ``title``, str: title of the page; the kind of model by default.
        - ``n_features``, int: features listed for each unit, 10 by default.
        - ``n_rows``, int: rows listed for each unit, 5 by default; more make a larger file.
        - ``words``, bool: whether to call inputs words and rows documents. By default they are if texts are given or
          the model was fitted on a column of texts.
        - ``texts``, sequence of str: what to show of each row. The page quotes it.
        - ``along``, sequence: a date, label or number for each row; only for trees, whose topics are then shown
          along it. ``along_name``, str: what it is called on the page; "label" by default.
        - ``description``, TopicDescription: topics that come from no tree, such as those of a ``TopicModel``.
        - ``topics``, sequence of Topic: those of them to show, nested; all by default.
        - ``strengths``, csr_array (N, L): of the topics in the rows, at least .5 where one is present; by
          default the probabilities of the tree's latents.
        - ``kinship``, array (L,): how strongly each topic is tied to its parent; weak ties are drawn dashed.
        - ``progress``, bool, Progress or callable: True draws a bar, a callable gets ``(stage, done, total)``.

    Raises
    ------
    DataError
        If rows, texts and the rest do not have the same length, texts or ``along`` come without rows, ``kinship`` has
        not one finite number for each topic, or a number is below 1.

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
    page = render(report_payload(model, X, y, **options))
    with atomic_write(path, "w") as file:
        file.write(page)


def render(payload: Payload) -> str:
    """Return the page.

    Nothing of the payload is ever read as HTML or as a program: names stand in a block of JSON, which the page's
    program reads and shows as text. The policy in the page's head lets only this program and these styles run, known by
    their SHA-256, and forbids every request.
    """
    script = _asset("assets/explorer.js")
    style = _asset("assets/explorer.css")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return Template(_asset("template.html")).substitute(
        title=escape(payload["title"]),
        version=escape(payload["tsenet"]),
        policy=escape(policy),
        style=style,
        script=script,
        data=payload_json(payload),
        outline=_outline(payload),
    )


def payload_json(payload: Payload) -> str:
    """The payload as JSON that can stand inside a script element."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a surrogate pair, as damaged input may have, cannot be written as UTF-8.
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return whole.translate(_ESCAPES)


def _outline(payload: Payload) -> str:
    """Names and labels of the units that are in no other, for readers without JavaScript."""
    n_inputs = payload["layers"][0]
    names = payload["names"]
    labels = payload["units"]["label"]
    tops = [node for node in range(n_inputs, len(names)) if payload["parent"][node] < 0]

    items = []
    for node in tops[:_OUTLINE_ITEMS]:
        name = escape(names[node])
        label = escape(labels[node - n_inputs])
        items.append(f"<li><code>{name}</code> <bdi>{label}</bdi></li>\n")
    return "".join(items)


def _digest(text: str) -> str:
    """How a content security policy names an inline element: the SHA-256 of its text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


@cache
def _asset(path: str) -> str:
    return (files("tsenet.explain.report") / path).read_text("utf-8")
