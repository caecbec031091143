"""Export of a tree to the Bayesian-network interchange format, BIF 0.15.

The dialect is the plain one that bnlearn, pgmpy, Weka-style parsers and the Bayesian Network
Repository share: one declaration per line, unquoted names of letters, digits and underscores,
``( parent | child )`` spaced as bnlearn's patterns expect, everything ASCII.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from tsenet._system.atomic import atomic_write

if TYPE_CHECKING:
    from tsenet.skeleton.tree import LatentTree

# pgmpy finds these keywords even inside names, but only in lower case.
_KEYWORDS = re.compile(r"property|(table|default)(?=[0-9eE])")


def write_bif(tree: LatentTree, path: str | os.PathLike[str]) -> None:
    """Write the tree as a Bayesian network that other programs can read, atomically.

    Every node becomes a binary variable with the states ``s0`` (off) and ``s1`` (on). BIF names
    are narrow, so a variable is called by its number and its name in ASCII, such as ``n17_goal``, and a line
    ``property original_name = ...;`` keeps the real name, percent-encoded as in a URL. A second
    property gives the level: 0 for observed variables.

    Numbers are written with at most 17 significant digits, so reading them gives the same bits.

    Parameters
    ----------
    tree : LatentTree
        The tree to export.
    path : path
        File to write, usually ``something.bif``. An existing file is replaced at the end, in one step.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree
    >>> from tsenet.store import write_bif
    >>> tree = learn_tree(load_digits().data[:300], random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "digits.bif")
    ...     write_bif(tree, path)
    ...     print(path.read_text().splitlines()[0])
    network latent_tree {
    """
    names = bif_names(tree.names)
    parents = tree.parent.tolist()
    levels = tree.level.tolist()
    tables = tree.cpt.tolist()  # [node][state of the parent][state of the node]
    with atomic_write(path, "w") as file:
        file.write("network latent_tree {\n}\n")
        for name, original, level in zip(names, tree.names, levels, strict=True):
            encoded = quote(original, safe="", errors="surrogatepass")
            file.write(
                f"variable {name} {{\n"
                "  type discrete [ 2 ] { s0, s1 };\n"
                f"  property original_name = {encoded};\n"
                f"  property level = {level};\n"
                "}\n"
            )

        for name, parent, (off, on) in zip(names, parents, tables, strict=True):
            if parent < 0:
                file.write(f"probability ( {name} ) {{\n  table {off[0]!r}, {off[1]!r};\n}}\n")
            else:
                file.write(
                    f"probability ( {name} | {names[parent]} ) {{\n"
                    f"  (s0) {off[0]!r}, {off[1]!r};\n"
                    f"  (s1) {on[0]!r}, {on[1]!r};\n"
                    "}\n"
                )


def bif_names(names: Sequence[str]) -> list[str]:
    """Turn names into different BIF identifiers: ``n``, their number, and the name in ASCII, such as ``n17_goal``."""
    safe = (re.sub(r"[^A-Za-z0-9_]", "_", name) for name in names)
    plain = (_KEYWORDS.sub(lambda found: found[0].capitalize(), name) for name in safe)
    return [f"n{number}_{name}" for number, name in enumerate(plain)]
