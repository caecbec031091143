"""The wiring: which units of a layer are linked to which units of the layer below (the paper's PGM core, §4)."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tsenet.data.table import equal_fields, exact_array

_TYPES: dict[str, type[np.generic]] = {
    "indptr": np.int64,
    "indices": np.int32,
    "from_tree": np.bool_,
    "log_odds": np.float32,
}


@dataclass(frozen=True, eq=False, repr=False)
class WiringLayer:
    """Links between U units and the D units of the layer below, as a CSR pattern.

    Parameters
    ----------
    indptr : ndarray of int64, shape (U + 1,)
        Unit u has the links ``indptr[u]:indptr[u + 1]``.
    indices : ndarray of int32, shape (E,)
        Lower end of each link, strictly ascending within a unit.
    from_tree : ndarray of bool, shape (E,)
        Whether the link is part of the tree; expansion added the others.
    n_lower : int
        Number of units D of the layer below.
    log_odds : ndarray of float32, shape (E,), or None
        How much the state of the unit above tells of each linked unit: the first weights of a network with
        ``init="log-odds"`` (see :func:`tsenet.expand`). None if they were not computed.

    Examples
    --------
    Two units over three lower ones; the second unit has one added link, to lower unit 0:

    >>> from tsenet.expansion.wiring import WiringLayer
    >>> WiringLayer([0, 2, 4], [0, 1, 0, 2], [True, True, False, True], 3)
    WiringLayer(3→2, 4 links, 1 added, density 66.7 %)
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    from_tree: NDArray[np.bool_]
    n_lower: int
    log_odds: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        for name in self.array_names:
            array = exact_array(getattr(self, name), _TYPES[name], name)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def array_names(self) -> list[str]:
        """Names of the arrays that the layer has: all of them, or all but ``log_odds``."""
        return [name for name in _TYPES if getattr(self, name) is not None]

    @property
    def n_upper(self) -> int:
        """Number of units U."""
        return int(self.indptr.size) - 1

    @property
    def n_edges(self) -> int:
        """Number of links E."""
        return int(self.indices.size)

    @property
    def density(self) -> float:
        """Number of links as a share of all U · D possible ones."""
        return self.n_edges / max(1, self.n_upper * self.n_lower)

    def upper_ends(self) -> NDArray[np.int32]:
        """Upper end of each link.

        Returns
        -------
        ndarray of int32, shape (E,)
        """
        return np.repeat(np.arange(self.n_upper, dtype=np.int32), np.diff(self.indptr))

    def validate(self) -> None:
        """Check that the arrays describe a valid pattern; called by :class:`Wiring`.

        Raises
        ------
        ValueError
            If they do not; the message says why.
        """
        if self.indices.ndim != 1:
            raise ValueError("indices must be 1-D")
        if self.from_tree.shape != self.indices.shape:
            raise ValueError("from_tree needs one entry per link")
        if self.log_odds is not None and (
            self.log_odds.shape != self.indices.shape or not np.isfinite(self.log_odds).all()
        ):
            raise ValueError("log_odds needs one finite number per link")

        start = self.indptr
        # neighbours are compared, not subtracted: 2⁶³ − 1 followed by −2⁶³ would have the difference 1
        falls = start.ndim != 1 or start.size < 2 or (start[1:] < start[:-1]).any()
        if falls or start[0] != 0 or start[-1] != self.n_edges:
            raise ValueError("indptr falls or does not run from 0 to the number of links")
        if self.n_edges and (self.indices.min() < 0 or self.indices.max() >= self.n_lower):
            raise ValueError(f"a link leads outside the {self.n_lower} units below")
        upper = self.upper_ends()
        if ((self.indices[1:] <= self.indices[:-1]) & (upper[1:] == upper[:-1])).any():
            raise ValueError("a unit's links are not in strictly ascending order")
        if (np.bincount(self.indices[self.from_tree], minlength=self.n_lower) > 1).any():
            raise ValueError("a lower unit has two tree links")

    __eq__ = equal_fields
    __hash__ = None  # type: ignore[assignment]  # holds arrays; Python spells "unhashable" so

    def __repr__(self) -> str:
        added = int((~self.from_tree).sum())
        return (
            f"WiringLayer({self.n_lower}→{self.n_upper}, {self.n_edges} links, "
            f"{added} added, density {100 * self.density:.3g} %)"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Wiring:
    """Which units of each layer read which units of the layer below; there are no links within a layer.

    :func:`tsenet.expand` makes a wiring from a tree. Pass it to an estimator (``TSENetClassifier(wiring=…)``) to train
    several networks on one structure.

    Parameters
    ----------
    layers : tuple of WiringLayer
        The links of each layer, from the input up.
    names : tuple of tuple of str
        Names of the units of each layer, input first.
    link_rule : str
        How links were added: ``"balanced"``, ``"context"``, ``"top-k"``, ``"informative"``, ``"random"`` or
        ``"tree"``.

    Raises
    ------
    ValueError
        If the layers do not fit each other or the names.

    Examples
    --------
    >>> from tsenet import Wiring
    >>> from tsenet.expansion.wiring import WiringLayer
    >>> layer = WiringLayer([0, 2, 3], [0, 1, 2], [True, True, True], 3)
    >>> wiring = Wiring((layer,), (("goal", "referee", "senate"), ("Z1.0", "Z1.1")), "tree")
    >>> wiring
    Wiring(3-2, 3 links, density 50 %, link_rule 'tree')
    >>> wiring.layer_sizes
    (3, 2)
    """

    layers: tuple[WiringLayer, ...]
    names: tuple[tuple[str, ...], ...]
    link_rule: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "names", tuple(tuple(names) for names in self.names))
        self.validate()

    @property
    def layer_sizes(self) -> tuple[int, ...]:
        """Number of units in each layer, input first."""
        return tuple(len(names) for names in self.names)

    @property
    def n_edges(self) -> int:
        """Number of links in all layers."""
        return sum(layer.n_edges for layer in self.layers)

    @property
    def has_log_odds(self) -> bool:
        """Whether the layers have ``log_odds``, the first weights of a network with ``init="log-odds"``."""
        return all(layer.log_odds is not None for layer in self.layers)

    def validate(self) -> None:
        """Check every layer, and that the layers and names fit each other.

        Raises
        ------
        ValueError
            If they do not; the message says why.
        """
        if len(self.names) != len(self.layers) + 1 or not self.layers:
            raise ValueError("a wiring needs names for the input and for each of its layers")
        if not all(isinstance(name, str) for names in self.names for name in names):
            raise ValueError("names of units must be strings")
        if not isinstance(self.link_rule, str):
            raise ValueError(f"link_rule must be a string, not {self.link_rule!r}")
        for k, layer in enumerate(self.layers):
            layer.validate()
            if (layer.n_lower, layer.n_upper) != self.layer_sizes[k : k + 2]:
                raise ValueError(
                    f"layer {k + 1} links {layer.n_lower} to {layer.n_upper} units, "
                    f"but {self.layer_sizes[k]} and {self.layer_sizes[k + 1]} are named"
                )

    __eq__ = equal_fields
    __hash__ = None  # type: ignore[assignment]  # holds arrays; Python spells "unhashable" so

    def __repr__(self) -> str:
        sizes = "-".join(str(size) for size in self.layer_sizes)
        share = ", ".join(f"{100 * layer.density:.3g}" for layer in self.layers)
        return f"Wiring({sizes}, {self.n_edges} links, density {share} %, link_rule {self.link_rule!r})"

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file stores of the wiring.

        Returns
        -------
        meta : dict
            JSON-able fields.
        arrays : dict of str to ndarray
            The arrays of all layers.
        """
        arrays: dict[str, NDArray[Any]] = {
            f"{k}.{name}": getattr(layer, name)
            for k, layer in enumerate(self.layers)
            for name in layer.array_names
        }
        return {"names": [list(names) for names in self.names], "link_rule": self.link_rule}, arrays

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Wiring:
        """Rebuild a wiring from what :meth:`to_parts` returned.

        Parameters
        ----------
        meta : dict
            JSON-able fields.
        arrays : dict of str to ndarray
            The arrays of all layers.

        Returns
        -------
        Wiring

        Raises
        ------
        KeyError, ValueError
            If a part is missing or wrong.
        """
        names = tuple(tuple(layer) for layer in meta["names"])
        layers = tuple(
            WiringLayer(
                indptr=arrays[f"{k}.indptr"],
                indices=arrays[f"{k}.indices"],
                from_tree=arrays[f"{k}.from_tree"],
                n_lower=len(names[k]),
                log_odds=arrays.get(f"{k}.log_odds"),
            )
            for k in range(len(names) - 1)
        )
        return cls(layers, names, meta["link_rule"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the wiring to a ``.tsenet`` file, which :func:`tsenet.load` reads.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.
        """
        import tsenet  # the public face knows the file format; expansion does not

        tsenet.save(self, path)
