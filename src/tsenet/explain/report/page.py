"""The HTML file: the payload, the styles and the program in one file that loads nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from os import PathLike
from typing import TYPE_CHECKING, Any

from tsenet._system.atomic import atomic_write

if TYPE_CHECKING:
    from tsenet.explain.report.payload import Payload

__all__ = ["render", "write_page"]

_OUTLINE_ITEMS = 200

# What would end a script element, or a line of JavaScript, becomes JSON's own escape: the text stays the same.
_ESCAPES = {
    ord(character): f"\\u{ord(character):04x}" for character in ("<", ">", "&", "\u2028", "\u2029")
}


def render(payload: Payload) -> str:
    """Return the page.

    Nothing of the payload is ever read as HTML or as a program: names stand in a block of JSON, which the page's
    program reads and shows as text. The policy in the page's head lets only this program and these styles run, known by
    their SHA-256, and forbids every request.
    """
    script, style = _asset("explorer.js"), _asset("explorer.css")
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
    template = _environment().get_template("template.html.j2")
    page: str = template.render(
        title=payload["title"],
        version=payload["tsenet"],
        policy=policy,
        style=style,
        script=script,
        data=payload_json(payload),
        outline=_outline(payload),
    )
    return page


def write_page(path: str | PathLike[str], payload: Payload) -> None:
    """Write the page to a file, whole or not at all."""
    page = render(payload)
    with atomic_write(path, "w") as file:
        file.write(page)


def payload_json(payload: Payload) -> str:
    """The payload as JSON that can stand inside a script element."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a surrogate pair, as damaged input may have, cannot be written as UTF-8.
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return whole.translate(_ESCAPES)


def _outline(payload: Payload) -> list[tuple[str, str]]:
    """Names and labels of the units that are in no other, for readers without JavaScript."""
    n_inputs, names, parent = payload["layers"][0], payload["names"], payload["parent"]
    top = [node for node in range(n_inputs, len(names)) if parent[node] < 0][:_OUTLINE_ITEMS]
    return [(names[node], payload["units"]["label"][node - n_inputs]) for node in top]


def _digest(text: str) -> str:
    """How a content security policy names an inline element: the SHA-256 of its text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


@cache
def _asset(name: str) -> str:
    return (files("tsenet.explain.report") / "assets" / name).read_text("utf-8")


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("tsenet.explain.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
