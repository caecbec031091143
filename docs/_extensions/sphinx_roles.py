"""A griffe extension: Sphinx roles in docstrings become links on the API pages.

The docstrings name other parts of the API with Sphinx roles, which editors understand and which mkdocstrings shows
as literal text. While the site is built, this extension replaces each role with a reference that mkdocs-autorefs
turns into a link if the target is on a page, and into plain code if it is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from griffe import AliasResolutionError, CyclicAliasError, Extension, GriffeLoader, Module, Object

ROLE = re.compile(
    r":(?:py:)?(?P<role>class|func|meth|mod|attr|data|const|exc|obj):"
    r"`(?:(?P<title>[^`<]+?)\s*<(?P<target>[^`<>]+)>|(?P<name>[^`<>]+))`"
)
RULE = re.compile(r"-{3,}\s*")
TYPED_SECTIONS = {
    "Attributes",
    "Other Parameters",
    "Parameters",
    "Raises",
    "Receives",
    "Returns",
    "Warns",
    "Yields",
}


class SphinxRoles(Extension):
    """Replace Sphinx roles in all docstrings of a package once it is loaded."""

    def on_package(self, *, pkg: Module, loader: GriffeLoader, **kwargs: Any) -> None:
        """Rewrite the docstrings of `pkg`; griffe calls this before any of them is parsed."""
        for obj in objects_of(pkg):
            if obj.docstring is not None:
                obj.docstring.value = replace_roles(obj.docstring.value, obj)


def objects_of(obj: Object) -> Iterator[Object]:
    """`obj` and everything defined inside it; imported names are left to the place that defines them."""
    yield obj
    for member in obj.members.values():
        if isinstance(member, Object):
            yield from objects_of(member)


def replace_roles(text: str, scope: Object) -> str:
    """`text` with each role replaced by a reference, or by code where nothing of that name exists.

    In the types of a numpydoc section a role becomes its bare name: mkdocstrings shows types as code already.

    Parameters
    ----------
    text : str
        A docstring, its indentation removed.
    scope : griffe.Object
        The object the docstring belongs to: names are looked up in it, then in what contains it.

    Returns
    -------
    str
    """
    types = type_lines(text)

    def replacement(match: re.Match[str]) -> str:
        name, shown = _name_and_title(match)
        if text.count("\n", 0, match.start()) in types:
            return shown
        return _reference(name, shown, scope)

    return ROLE.sub(replacement, text)


def type_lines(text: str) -> set[int]:
    """The numbers of the lines that hold a type: those of ``name : type``, and of a bare type under Returns."""
    found = set()
    lines = text.split("\n")
    section = ""
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and line and RULE.fullmatch(lines[number + 1]):
            section = line.strip()
        elif section in TYPED_SECTIONS and line and not line[0].isspace():
            found.add(number)
    return found


def _name_and_title(match: re.Match[str]) -> tuple[str, str]:
    """What a role names, and what a reader is to see."""
    written = " ".join((match["target"] or match["name"]).split())
    name = written.lstrip("~.").removesuffix("()")
    if match["title"]:
        return name, " ".join(match["title"].split())
    shown = name.rpartition(".")[2] if written.startswith("~") else name
    return name, shown + ("()" if match["role"] in ("func", "meth") else "")


def _reference(name: str, shown: str, scope: Object) -> str:
    """The HTML that stands for one role."""
    code = f"<code>{escape(shown)}</code>"
    paths = find_paths(name, scope)
    if paths is None:
        return code
    path, canonical = paths
    # mkdocs-autorefs tries `identifier`, then `slug`; `optional` means that a miss is no error.
    return f'<autoref identifier="{path}" slug="{canonical}" optional>{code}</autoref>'


def find_paths(name: str, scope: Object) -> tuple[str, str] | None:
    """The path of what `name` means inside `scope` and the path where that is defined; None if it means nothing.

    The nearest meaning wins: a member of `scope`, then of its class, its module, each package around it. A name
    that starts with the package's own is absolute.
    """
    place: Object | None = scope
    while place is not None:
        found = _member(place, name)
        if found is not None:
            return found
        if place.parent is None:
            root, _, rest = name.partition(".")
            return _member(place, rest) if root == place.name and rest else None
        place = place.parent
    return None


def _member(place: Object, name: str) -> tuple[str, str] | None:
    """The paths of the member `name` of `place`, inherited and imported ones included."""
    try:
        member = place[name]
        return member.path, member.canonical_path
    except (KeyError, AliasResolutionError, CyclicAliasError):
        return None
