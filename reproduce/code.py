"""Digests of the source that a result depends on: a stored result is stale once that source has changed."""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path

__all__ = ["code_of_method", "code_of_structure", "meaning_of"]

_NETWORKS = ("_system", "data", "datasets", "estimators", "network", "training")
_STRUCTURE = ("_system", "data", "skeleton", "expansion")
_DENSE = (*_NETWORKS, "baselines")
_ALL = tuple(sorted({*_DENSE, *_STRUCTURE}))
#: Methods that are dense networks, and those of scikit-learn; the others learn a structure.
_OF_DENSE = ("fnn", "fnn-of-size", "pruned", "chi2-fnn", "set", "rigl")
_OF_SKLEARN = (
    "logistic", "pruned-logistic", "em-bayes", "self-training", "linear-svc", "complement-nb",
    "scaled-logistic", "boosting", "forest", "svd", "ppmi",
)  # fmt: skip


@cache
def code_of_method(name: str) -> str:
    """Digest of the source that a method's results depend on: tsenet's folders and the method's own function."""
    from reproduce.methods import METHODS

    made = METHODS.get(name)
    own = "" if made is None else meaning_of(textwrap.dedent(inspect.getsource(made)))
    if name in _OF_SKLEARN:
        folders = [Path(__file__).parent / "rivals", _package() / "data", _package() / "datasets"]
    else:
        folders = [_package() / folder for folder in (_DENSE if name in _OF_DENSE else _ALL)]
    return _digest(own, folders)


@cache
def code_of_structure() -> str:
    """Digest of the source that skeletons and wirings depend on."""
    return _digest("", [_package() / folder for folder in _STRUCTURE])


def _package() -> Path:
    import tsenet

    return Path(tsenet.__file__).parent


def _digest(text: str, folders: Sequence[Path]) -> str:
    digest = hashlib.sha256(text.encode())
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder.parent).as_posix().encode())
            digest.update(meaning_of(path.read_text("utf-8")).encode())
    return digest.hexdigest()[:12]


def meaning_of(source: str) -> str:
    """Source as a tree: comments, docstrings and line breaks do not count."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_docstring(part)]  # type: ignore[attr-defined]  # has a body
    return ast.dump(tree)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
