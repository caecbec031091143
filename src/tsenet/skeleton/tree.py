"""The latent tree: the skeleton of the network, and a probabilistic model of the data (paper §3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRows, BinaryRule
from tsenet.data.blocks import Blocks, in_blocks, is_outside_memory
from tsenet.data.table import Table, equal_fields, exact_array
from tsenet.errors import DataError, MissingDependencyError

if TYPE_CHECKING:
    import networkx

    from tsenet.skeleton.inference import Inference


@dataclass(frozen=True, eq=False, repr=False)
class LatentTree:
    """A hierarchical latent tree over V observed binary variables; all latents are binary too.

    Nodes are numbered level by level: the observed variables 0..V−1, then the latents of level 1, of level 2, and so
    on; M in all. The parent of a node lies one level up. Only the latents of the top level are linked to each other,
    as a Chow–Liu tree. A node may have no parent: a variable that is constant or tied to no group, or a latent tied to
    no other. Such nodes, with all below them, are independent of each other in the model.
    :func:`tsenet.learn_tree` makes such a tree from data.

    Parameters
    ----------
    parent : ndarray of int32, shape (M,)
        Parent of each node; −1 for none.
    level : ndarray of int32, shape (M,)
        0 for observed variables, 1 for the latents above them, and so on.
    cpt : ndarray of float64, shape (M, 2, 2)
        ``cpt[v, t, s] = P(v = s | parent of v = t)``; a node without a parent has its marginal in both rows.
    names : tuple of str, length M
        Name of every node.
    rule : BinaryRule
        How rows of the user's table become the V binary variables.

    Raises
    ------
    ValueError
        If the arrays are not a tree with proper probabilities; see :meth:`validate`.

    Examples
    --------
    Two words under one latent. The latent is on in 30 % of the rows, and both words are likely only then:

    >>> import numpy as np
    >>> from tsenet import BinaryRule, LatentTree, Table
    >>> rule = BinaryRule.learn(Table.of([[0, 1], [1, 0]], names=["goal", "referee"]))
    >>> word, latent = [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.7, 0.3]]
    >>> tree = LatentTree(
    ...     parent=[2, 2, -1],
    ...     level=[0, 0, 1],
    ...     cpt=[word, word, latent],
    ...     names=(*rule.names, "Z1.0"),
    ...     rule=rule,
    ... )
    >>> tree
    LatentTree(2-1, 5 parameters)
    >>> tree.posterior([[1, 1], [0, 0]]).round(3).tolist()
    [[0.965], [0.021]]
    """

    parent: NDArray[np.int32]
    level: NDArray[np.int32]
    cpt: NDArray[np.float64]
    names: tuple[str, ...]
    rule: BinaryRule

    def __post_init__(self) -> None:
        for name in ("parent", "level", "cpt"):
            dtype = np.float64 if name == "cpt" else np.int32
            array = exact_array(getattr(self, name), dtype, name)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "names", tuple(self.names))
        self.validate()

    # ---- structure

    @property
    def n_nodes(self) -> int:
        """Number of nodes M, observed and latent."""
        return int(self.parent.size)

    @property
    def n_observed(self) -> int:
        """Number of observed binary variables V."""
        return int((self.level == 0).sum())

    @property
    def n_latents(self) -> int:
        """Number of latents."""
        return self.n_nodes - self.n_observed

    @property
    def layer_sizes(self) -> tuple[int, ...]:
        """Number of nodes in each layer, observed first."""
        return tuple(np.bincount(self.level).tolist())

    @property
    def n_levels(self) -> int:
        """Number of latent levels."""
        return len(self.layer_sizes) - 1

    @property
    def latent_names(self) -> tuple[str, ...]:
        """Names of the latents, in the order of the columns of :meth:`posterior`."""
        return self.names[self.n_observed :]

    @property
    def ungrouped(self) -> NDArray[np.intp]:
        """Observed variables in no group, ascending: constant ones and those without a significant tie to a group."""
        return np.flatnonzero(self.parent[: self.n_observed] < 0)

    def layer(self, level: int) -> slice:
        """Nodes of one level.

        Parameters
        ----------
        level : int
            0 for the observed variables, up to :attr:`n_levels`.

        Returns
        -------
        slice
            Into all arrays over nodes, and :attr:`names`.

        Raises
        ------
        ValueError
            If there is no such level.
        """
        if not 0 <= level <= self.n_levels:
            raise ValueError(
                f"level {level} does not exist: this tree has levels 0 to {self.n_levels}"
            )
        start = sum(self.layer_sizes[:level])
        return slice(start, start + self.layer_sizes[level])

    def groups(self, level: int) -> list[NDArray[np.intp]]:
        """Children of each latent of a level.

        Parameters
        ----------
        level : int
            From 1 up to :attr:`n_levels`.

        Returns
        -------
        list of ndarray of int
            For each latent, the positions of its children within the layer below, ascending.

        Raises
        ------
        ValueError
            If there is no such level of latents.
        """
        if level < 1:
            raise ValueError(
                "level 0 holds the observed variables, which have no children: ask from 1 up"
            )
        latents = self.layer(level)
        parent = self.parent[self.layer(level - 1)] - latents.start  # negative for none
        order = np.argsort(parent, kind="stable")
        starts = np.searchsorted(parent[order], np.arange(latents.stop - latents.start + 1))
        return [order[start:stop] for start, stop in pairwise(starts.tolist())]

    def children(self, node: int) -> NDArray[np.intp]:
        """Children of a node.

        Parameters
        ----------
        node : int
            Number of the node among all M.

        Returns
        -------
        ndarray of int
            Numbers of the nodes, ascending.
        """
        return np.flatnonzero(self.parent == node)

    def ancestors(self, level: int) -> NDArray[np.int64]:
        """The ancestor of each observed variable in a level.

        Parameters
        ----------
        level : int
            From 0 up to :attr:`n_levels`.

        Returns
        -------
        ndarray of int64, shape (V,)
            Position of the ancestor within the level; −1 for a variable in no group.

        Raises
        ------
        ValueError
            If there is no such level.
        """
        first = self.layer(level).start
        node = np.arange(self.n_observed, dtype=np.int64)
        for _ in range(level):
            node = np.where(node >= 0, self.parent[node], -1)
        return np.where(node >= 0, node - first, -1)

    # ---- probability

    @cached_property
    def _inference(self) -> Inference:
        from tsenet.skeleton.inference import Inference  # numba loads only when needed

        return Inference.of(self.parent, self.cpt, self.n_observed)

    def binary(self, X: Any) -> BinaryRows:
        """Turn a table into rows of this tree's binary variables.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows, Table or BinaryRows
            The table, with the columns the tree was learned from. Binary rows are returned unchanged.

        Returns
        -------
        BinaryRows
            N rows of V variables.

        Raises
        ------
        DataError
            If the columns are not those of the tree.
        """
        rows: BinaryRows = X
        if not isinstance(X, BinaryRows):
            rows = self.rule.apply(Table.of(X, columns=self.rule.names_in))
        if rows.n_columns != self.n_observed:
            raise DataError(f"the rows have {rows.n_columns} variables, the tree {self.n_observed}")
        return rows

    @contextmanager
    def binary_blocks(self, X: Any, client: Any = None) -> Iterator[Blocks]:
        """Rows of this tree's binary variables, in blocks: of a table, or outside memory.

        Parameters
        ----------
        X : table, BinaryRows, folder of shards, Dask collection or Blocks
        client : distributed.Client or str or None, default=None
            The cluster to work on.
        """
        outside = isinstance(X, Blocks) or is_outside_memory(X)
        with in_blocks(X if outside else self.binary(X), client) as blocks:
            yield blocks.map_lazily(self.binary)

    def log_likelihood(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Exact ln P(x) of every row, summed over all states of the latents.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows, Table, folder of shards or Blocks, shape (N, V)
            The rows.
        n_jobs : int or None, default=None
            Threads; None or −1 for all cores.

        Returns
        -------
        ndarray of float64, shape (N,)

        Raises
        ------
        DataError
            If the columns are not those of the tree.
        """
        return self._of_blocks("log_likelihood", X, n_jobs)

    def posterior(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Exact P(z = 1 | x) of every latent in every row.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows, Table, folder of shards or Blocks, shape (N, V)
            The rows.
        n_jobs : int or None, default=None
            Threads; None or −1 for all cores.

        Returns
        -------
        ndarray of float64, shape (N, n_latents)
            Columns in the order of :attr:`latent_names`.

        Raises
        ------
        DataError
            If the columns are not those of the tree.
        """
        return self._of_blocks("posterior", X, n_jobs)

    def _of_blocks(self, what: str, X: Any, n_jobs: int | None) -> NDArray[np.float64]:
        with self.binary_blocks(X) as rows:
            results = list(rows.map(partial(_of_block, self, what, rows.threads(n_jobs))))
        return results[0] if len(results) == 1 else np.concatenate(results)

    def complete(self, X: Any, *, n_jobs: int | None = None) -> list[BinaryRows]:
        """Completed data: all nodes of every row, with each latent in its more probable state.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows or Table, shape (N, V)
            The rows.
        n_jobs : int or None, default=None
            Threads; None or −1 for all cores.

        Returns
        -------
        list of BinaryRows
            One for each level, the observed variables first.

        Raises
        ------
        DataError
            If the columns are not those of the tree.
        """
        rows = self.binary(X)
        with Workers(n_jobs) as workers:
            on = self._inference.likelier_states(rows, workers)
        starts = np.cumsum([0, *self.layer_sizes[1:]])
        return [rows, *(on.columns(a, b) for a, b in pairwise(starts.tolist()))]

    def marginals(self) -> NDArray[np.float64]:
        """P(v = 1) of every node.

        Returns
        -------
        ndarray of float64, shape (M,)
        """
        return node_marginals(self.parent, self.cpt)[:, 1]

    @property
    def n_parameters(self) -> int:
        """Free parameters: one for a node without a parent, two for every other."""
        return int(np.where(self.parent < 0, 1, 2).sum())

    # ---- soundness, display, files

    def validate(self) -> None:
        """Check that this is a tree with proper probabilities; done whenever one is made.

        Raises
        ------
        ValueError
            If it is not; the message names the node and what is wrong with it.
        """
        # One entry for each node in every array.
        m = self.parent.size
        shapes = self.parent.shape, self.level.shape, (len(self.names),), self.cpt.shape
        if shapes != ((m,), (m,), (m,), (m, 2, 2)):
            raise ValueError(
                f"arrays disagree on the number of nodes: parent {self.parent.shape}, level {self.level.shape}, "
                f"cpt {self.cpt.shape}, names {len(self.names)}"
            )
        if m == 0:
            raise ValueError("a tree needs at least one node")
        jumps = ~np.isin(np.diff(self.level.astype(np.int64), prepend=0), (0, 1))
        jumps[0] = self.level[0] != 0
        rule = "nodes go by level, from level 0 (observed) up without gaps"
        self._refuse(jumps, f"{{}} is out of order: {rule}")

        # Names.
        if len(set(self.names)) != m:
            repeated = Counter(self.names).most_common(1)[0][0]
            raise ValueError(f"names of nodes must be unique, but {repeated!r} occurs twice")

        if not all(isinstance(name, str) for name in self.names):
            raise ValueError("names of nodes must be strings")
        if self.rule.names != self.names[: self.n_observed]:
            raise ValueError("the observed variables are not named as the rule names them")

        # Links: one level up; only the latents of the top level are linked to each other.
        is_outside = (self.parent < -1) | (self.parent >= m)
        self._refuse(is_outside, "the parent of {} is not a node")
        has_parent = self.parent >= 0
        is_top = self.level == self.level.max()
        step = np.where(is_top, 0, 1)
        is_wrong = has_parent & (self.level[self.parent] - self.level != step)
        is_wrong |= has_parent & is_top & (self.level == 0)
        self._refuse(is_wrong, "the parent of {} is not one level up")
        is_cyclic = is_top & (_depths(self.parent) < 0)
        self._refuse(is_cyclic, "the links of {} form a cycle")

        # Probabilities.
        is_improper = ~(np.isfinite(self.cpt) & (self.cpt >= 0)).all(axis=(1, 2))
        is_improper |= ~np.isclose(self.cpt.sum(axis=2), 1.0, rtol=0, atol=1e-9).all(axis=1)
        self._refuse(is_improper, "the table of {} is no conditional distribution")
        differs = ~has_parent & (self.cpt[:, 0] != self.cpt[:, 1]).any(axis=1)
        self._refuse(differs, "{} has no parent, so both rows of its table must be equal")

    def _refuse(self, marked: NDArray[np.bool_], problem: str) -> None:
        """Raise an error that names the first marked node, if there is one."""
        if marked.any():
            raise ValueError(problem.format(repr(self.names[int(np.argmax(marked))])))

    def __repr__(self) -> str:
        sizes = "-".join(str(size) for size in self.layer_sizes)
        alone = f", {self.ungrouped.size} in no group" if self.ungrouped.size else ""
        return f"LatentTree({sizes}, {self.n_parameters} parameters{alone})"

    __eq__ = equal_fields
    __hash__ = None  # type: ignore[assignment]  # holds arrays; Python spells "unhashable" so

    def __reduce__(self) -> tuple[Any, ...]:
        return LatentTree, (self.parent, self.level, self.cpt, self.names, self.rule)

    def to_networkx(self) -> networkx.DiGraph[str]:
        """Return the tree as a directed graph, from parents to children.

        Returns
        -------
        networkx.DiGraph
            Nodes are names, with the attributes ``level`` and ``cpt``.

        Raises
        ------
        MissingDependencyError
            If networkx is not installed: ``pip install networkx``.
        """
        try:
            import networkx
        except ImportError as error:
            message = "to_networkx needs networkx: pip install networkx"
            raise MissingDependencyError(message) from error
        graph: networkx.DiGraph[str] = networkx.DiGraph()
        for node, name in enumerate(self.names):
            graph.add_node(name, level=int(self.level[node]), cpt=self.cpt[node].tolist())
        children = np.flatnonzero(self.parent >= 0).tolist()
        graph.add_edges_from((self.names[self.parent[v]], self.names[v]) for v in children)
        return graph

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file stores of the tree.

        Returns
        -------
        meta : dict
            JSON-able fields.
        arrays : dict of str to ndarray
        """
        meta = {"names": list(self.names), "rule": self.rule.to_dict()}
        return meta, {"parent": self.parent, "level": self.level, "cpt": self.cpt}

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> LatentTree:
        """Rebuild a tree from what :meth:`to_parts` returned.

        Parameters
        ----------
        meta : dict
            JSON-able fields.
        arrays : dict of str to ndarray

        Returns
        -------
        LatentTree

        Raises
        ------
        KeyError, ValueError
            If a part is missing or wrong.
        """
        n_observed = int(np.count_nonzero(arrays["level"] == 0))
        rule = BinaryRule.from_dict(meta["rule"], n_observed)
        return cls(arrays["parent"], arrays["level"], arrays["cpt"], tuple(meta["names"]), rule)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the tree to a ``.tsenet`` file, which :func:`tsenet.load` reads.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.
        """
        import tsenet  # the public face knows the file format; the skeleton does not

        tsenet.save(self, path)


def _depths(parent: NDArray[np.int32]) -> NDArray[np.int64]:
    """Number of ancestors of each node, −1 for a node whose ancestors form a cycle: (M,).

    Each step doubles how far up a node looks, so that a chain of M nodes takes log₂ M steps.
    """
    depth = (parent >= 0).astype(np.int64)
    ancestor = parent.astype(np.int64)
    for _ in range(int(parent.size).bit_length()):
        nodes = np.flatnonzero(ancestor >= 0)
        depth[nodes] += depth[ancestor[nodes]]
        ancestor[nodes] = ancestor[ancestor[nodes]]
    return np.where(ancestor >= 0, -1, depth)


def nodes_by_depth(parent: NDArray[np.int32]) -> list[NDArray[np.intp]]:
    """All nodes, grouped by their number of ancestors, roots first."""
    depth = _depths(parent)
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.cumsum(np.bincount(depth))[:-1])


def node_marginals(parent: NDArray[np.int32], cpt: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(v = s) of every node: (M, 2)."""
    marginal = cpt[:, 0].copy()
    for nodes in nodes_by_depth(parent)[1:]:
        marginal[nodes] = (marginal[parent[nodes], :, None] * cpt[nodes]).sum(axis=1)
    return marginal


def _of_block(tree: LatentTree, what: str, n_jobs: int | None, rows: BinaryRows) -> Any:
    """What ``log_likelihood`` or ``posterior`` is for one block."""
    with Workers(n_jobs) as workers:
        return getattr(tree._inference, what)(rows, workers)


def latent_names(level: NDArray[np.int32], taken: set[str]) -> list[str]:
    """Names for the latents: ``Z1.0``, ``Z1.1``, …, with a longer letter run if a column already has one."""
    sizes = np.bincount(level).tolist()
    names = [f"Z{k}.{number}" for k in range(1, len(sizes)) for number in range(sizes[k])]
    while not taken.isdisjoint(names):
        names = [f"Z{name}" for name in names]
    return names


def is_numbered(name: str) -> bool:
    """Whether a latent has no name but a number, such as ``Z1.0``."""
    return re.fullmatch(r"Z+\d+\.\d+", name) is not None
