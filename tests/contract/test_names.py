"""Names that say what they hold: all-purpose words are for bindings whose whole life is on the screen.

A local name such as ``found`` or ``part`` is fine for a few lines; further down nobody remembers what was found. The
words below made up 8 % of all bindings once, and 0 to 1 % in scikit-learn, skorch and BERTopic.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "tsenet"

WORDS = """
    above again asked back before below both chosen clear done drawn each every extra fine found fresh given good here
    kept known left made many mine more new now old own part parts place read rest room same seen shared shown taken
    there told two usual value wanted whole wrong
"""
ALL_PURPOSE = frozenset(WORDS.split())
FEW_LINES = 5
# Bindings that live longer and have such a name, in thousandths of all bindings. Lower it as you rename; the aim is 20.
LIMIT = 23


def bindings(function: ast.AST) -> Iterator[tuple[str, int, int]]:
    """Name, first and last line of each local name and parameter of a function, without those of functions inside."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.arg):
            first[node.arg] = min(first.get(node.arg, node.lineno), node.lineno)
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                first[node.id] = min(first.get(node.id, node.lineno), node.lineno)
            last[node.id] = max(last.get(node.id, node.lineno), node.lineno)
        if isinstance(node, inner):  # its names are its own, but it may use those around it
            used = (part for part in ast.walk(node) if isinstance(part, ast.Name))
            for name in used:
                last[name.id] = max(last.get(name.id, name.lineno), name.lineno)
        else:
            waiting.extend(ast.iter_child_nodes(node))
    for name, line in first.items():
        yield name, line, last.get(name, line)


def long_lived() -> tuple[int, list[str]]:
    """The number of all bindings, and where all-purpose words name one that lives for more than a few lines."""
    n_bindings = 0
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            for name, start, stop in bindings(function):
                n_bindings += 1
                if name in ALL_PURPOSE and stop - start > FEW_LINES:
                    found.append(f"{path.relative_to(SOURCE)}:{start} {function.name}: {name}")
    return n_bindings, found


def test_all_purpose_names_are_short_lived() -> None:
    n_bindings, found = long_lived()
    most = Counter(place.split(":")[0] for place in found).most_common(5)
    assert 1000 * len(found) <= LIMIT * n_bindings, f"{len(found)} of {n_bindings}: {most}"


def test_bindings_are_found_with_their_lives() -> None:
    code = (
        "def f(a):\n    found = 1\n    for part in a:\n        g = lambda x: found\n    return 2\n"
    )
    (function,) = ast.parse(code).body
    assert set(bindings(function)) == {("a", 1, 3), ("found", 2, 4), ("part", 3, 3), ("g", 4, 4)}


if __name__ == "__main__":
    total, places = long_lived()
    print(*places, f"{len(places)} of {total}", sep="\n")
