"""The griffe extension that turns Sphinx roles into references."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import griffe
import pytest

FILE = Path(__file__).parents[2] / "docs" / "_extensions" / "sphinx_roles.py"
TREE = '''
"""Trees. :class:`Tree` and :func:`grow`."""
from pack.other import Wood

class Plant:
    """A base."""
    def water(self): "As :meth:`grow`."
    def grow(self): ...

class Tree(Plant):
    """A tree of :class:`Wood`; see :meth:`fell`, :meth:`water` and :meth:`Plant.grow`."""
    def fell(self): "Undo :meth:`.grow`, not :func:`pack.tree.grow`."

def grow(): ...
'''
OTHER = '''
class Wood:
    """What a :class:`~pack.tree.Tree` gives; :class:`torch.Tensor`, :mod:`pack.tree`, :func:`gone`."""
'''


@pytest.fixture(scope="module")
def roles() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sphinx_roles", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pack(roles: ModuleType) -> Iterator[griffe.Module]:
    extensions = griffe.load_extensions(roles.SphinxRoles())
    with griffe.temporary_visited_package(
        "pack", {"__init__.py": "", "tree.py": TREE, "other.py": OTHER}, extensions=extensions
    ) as package:
        yield package


def doc(pack: griffe.Module, path: str) -> str:
    docstring = pack[path].docstring
    assert docstring is not None
    return docstring.value


def reference(shown: str, path: str, canonical: str | None = None) -> str:
    slug = canonical or path
    return f'<autoref identifier="{path}" slug="{slug}" optional><code>{shown}</code></autoref>'


def test_a_module_sees_its_own_names(pack: griffe.Module) -> None:
    tree, grow = reference("Tree", "pack.tree.Tree"), reference("grow()", "pack.tree.grow")
    assert doc(pack, "tree") == f"Trees. {tree} and {grow}."


def test_a_class_sees_its_members_inherited_ones_and_imports(pack: griffe.Module) -> None:
    wood = reference("Wood", "pack.tree.Wood", "pack.other.Wood")
    fell = reference("fell()", "pack.tree.Tree.fell")
    water = reference("water()", "pack.tree.Tree.water", "pack.tree.Plant.water")
    grow = reference("Plant.grow()", "pack.tree.Plant.grow")
    assert doc(pack, "tree.Tree") == f"A tree of {wood}; see {fell}, {water} and {grow}."


def test_a_method_sees_its_class_before_its_module(pack: griffe.Module) -> None:
    assert doc(pack, "tree.Plant.water") == f"As {reference('grow()', 'pack.tree.Plant.grow')}."
    inherited = reference("grow()", "pack.tree.Tree.grow", "pack.tree.Plant.grow")
    absolute = reference("pack.tree.grow()", "pack.tree.grow")
    assert doc(pack, "tree.Tree.fell") == f"Undo {inherited}, not {absolute}."


def test_names_from_elsewhere_become_code(pack: griffe.Module) -> None:
    tree, module = reference("Tree", "pack.tree.Tree"), reference("pack.tree", "pack.tree")
    elsewhere = f"<code>torch.Tensor</code>, {module}, <code>gone()</code>"
    assert doc(pack, "other.Wood") == f"What a {tree} gives; {elsewhere}."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a :class:`grown up <Tree>` b",
            reference("grown up", "pack.tree.Tree").join(["a ", " b"]),
        ),
        (":py:func:`grow()`", reference("grow()", "pack.tree.grow")),
        (":func:`a<b`", ":func:`a<b`"),
        ("no role: `Tree`, ``:literal:``", "no role: `Tree`, ``:literal:``"),
    ],
)
def test_other_ways_to_write_a_role(
    roles: ModuleType, pack: griffe.Module, text: str, expected: str
) -> None:
    assert roles.replace_roles(text, pack["tree"]) == expected


def test_types_keep_the_bare_name(roles: ModuleType, pack: griffe.Module) -> None:
    text = """Do it.

    Parameters
    ----------
    tree : :class:`Tree` or str
        A :class:`Tree`.

    Returns
    -------
    :class:`Tree`

    Notes
    -----
    A :class:`Tree`."""
    text = text.replace("\n    ", "\n")
    tree = reference("Tree", "pack.tree.Tree")
    expected = text.replace("tree : :class:`Tree`", "tree : Tree")
    expected = expected.replace("\n:class:`Tree`\n", "\nTree\n").replace(":class:`Tree`", tree)
    assert roles.replace_roles(text, pack["tree"]) == expected
