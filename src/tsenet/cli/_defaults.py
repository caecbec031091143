"""Defaults of library functions, read from their source: ``--help`` shows them without importing the library."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["default_of"]

_PACKAGE = Path(__file__).parents[1]
_SOURCE = {
    "TSENetClassifier": "estimators/classifier.py",
    "TopicModel": "estimators/topic_model.py",
    "word_vectorizer": "data/text.py",
}


def default_of(function: str, parameter: str) -> Any:
    """Return the default of a parameter of a function or class; None if it is not a literal.

    Raises
    ------
    KeyError
        If there is no such parameter: the table above is out of date.
    """
    source = _PACKAGE / _SOURCE[function]
    return _defaults_of(function)[parameter] if source.exists() else None  # or without sources


@cache
def _defaults_of(function: str) -> dict[str, Any]:
    module = ast.parse((_PACKAGE / _SOURCE[function]).read_text("utf-8"))
    signature = _signature_of(module.body, function)
    if signature is None:
        return _defaults_of_fields(module.body, function)
    # defaults of positional parameters belong to the last of them
    positional = [*signature.posonlyargs, *signature.args][::-1]
    pairs = [
        *zip(positional, signature.defaults[::-1], strict=False),
        *zip(signature.kwonlyargs, signature.kw_defaults, strict=True),
    ]
    found: dict[str, Any] = {}
    for parameter, default in pairs:
        try:
            found[parameter.arg] = None if default is None else ast.literal_eval(default)
        except ValueError:  # an expression, not a literal
            found[parameter.arg] = None
    return found


def _defaults_of_fields(body: list[ast.stmt], name: str) -> dict[str, Any]:
    """Defaults of the fields of a dataclass."""
    fields = next((n.body for n in body if isinstance(n, ast.ClassDef) and n.name == name), [])
    return {
        field.target.id: ast.literal_eval(field.value)
        for field in fields
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(field.value, ast.Constant)
    }


def _signature_of(body: list[ast.stmt], name: str) -> ast.arguments | None:
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node.args
        if isinstance(node, ast.ClassDef) and node.name == name:
            return _signature_of(node.body, "__init__")
    return None
