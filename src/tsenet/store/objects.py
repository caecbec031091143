"""Objects as model files: which classes have a file form, and how they come back checked."""

from __future__ import annotations

import importlib
import os
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tsenet.errors import DataError, ModelFileError
from tsenet.store.container import MAX_BYTES, bytes_of, load_parts, save_parts

__all__ = ["KINDS", "Storable", "load", "save"]

_BLOCK = 1 << 20  # bytes compared at a time

#: Where the class of each kind lives. Strings, so that nothing is imported before it is needed and
#: this folder does not depend on those that come after it.
KINDS = {
    "LatentTree": "tsenet.skeleton.tree:LatentTree",
    "LatentTreeTransformer": "tsenet.estimators:LatentTreeTransformer",
    "TSENetClassifier": "tsenet.estimators:TSENetClassifier",
    "TSENetRegressor": "tsenet.estimators:TSENetRegressor",
    "TopicModel": "tsenet.estimators.topic_model:TopicModel",
    "Wiring": "tsenet.expansion.wiring:Wiring",
}


#: Kinds whose answers need no torch.
_LIGHT = ("TSENetClassifier", "TSENetRegressor")


@runtime_checkable
class Storable(Protocol):
    """What a class needs to be saved: fields for JSON and arrays, both ways.

    It also needs a class method ``from_parts(meta, arrays)``, the inverse of ``to_parts``, and
    may have ``validate()``, which is called on every loaded object.

    Examples
    --------
    >>> from tsenet import LatentTree
    >>> from tsenet.store import Storable
    >>> issubclass(LatentTree, Storable)
    True
    """

    def to_parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the JSON fields and the arrays that make up the object."""


def save(obj: Storable, path: str | os.PathLike[str]) -> None:
    """Write an object to a model file, atomically; equal objects give equal bytes.

    Parameters
    ----------
    obj : LatentTree, Wiring, LatentTreeTransformer, TopicModel, TSENetClassifier or TSENetRegressor
        What to save; an estimator has to be fitted.
    path : path
        File to write, usually ``something.tsenet``. An existing file is replaced at the end, in one step.

    Raises
    ------
    TypeError
        If the class has no file form.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree, load, save
    >>> tree = learn_tree(load_digits().data[:300], random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "digits.tsenet")
    ...     save(tree, path)
    ...     print(load(path) == tree)
    True
    """
    kind = type(obj).__name__
    if kind not in KINDS or not isinstance(obj, Storable):
        raise TypeError(f"a {kind} cannot be saved as a model file; these can: {', '.join(KINDS)}")
    meta, arrays = obj.to_parts()
    save_parts(path, kind, meta, arrays)


def load(
    path: str | os.PathLike[str],
    kind: str | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    runtime: Literal["full", "light", "plain"] = "full",
) -> Any:
    """Read an object from a model file and check it completely before returning it.

    Parameters
    ----------
    path : path
        File that ``save`` wrote.
    kind : str, optional
        Class name, such as ``"LatentTree"``; a file of another kind is refused.
    max_bytes : int, default=16 GiB
        Refuse a larger file before reading it. Raise it for a larger file that you trust.
    runtime : {"full", "light", "plain"}, default="full"
        ``"light"``: answers only, from a `TSENetClassifier` or `TSENetRegressor`; needs neither torch nor scikit-learn.
        ``"plain"``: the same without numba, from numpy and scipy: it starts at once and takes half the memory, but
        each row takes longer.

    Returns
    -------
    LatentTree, Wiring or fitted estimator
        The object, as it was saved; a :class:`tsenet.store.runtime.LightModel` with ``runtime="light"`` or ``"plain"``.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, altered, not a model file, or describes an object that
        its own ``validate()`` refuses. The message says what is wrong and what to do.
    DataError
        If ``runtime`` is not for objects of this kind.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import learn_tree, load
    >>> tree = learn_tree(load_digits().data[:300], random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "digits.tsenet")
    ...     tree.save(path)
    ...     print(load(path, kind="LatentTree").n_observed)
    64
    """
    found, meta, arrays = load_parts(path, max_bytes=max_bytes)
    if kind is not None and found != kind:
        raise ModelFileError(f"{os.fspath(path)} holds a {found}, but a {kind} is needed here")
    if found not in KINDS:
        raise ModelFileError(
            f"{os.fspath(path)} holds a {found}, which this tsenet does not know "
            f"(it knows {', '.join(KINDS)}): install a newer tsenet"
        )
    cls = _class_of(path, found, runtime)
    try:
        obj = cls.from_parts(meta, arrays)
        if hasattr(obj, "validate"):
            obj.validate()
        if runtime == "full":
            _check_nothing_lost(obj, meta, arrays)
    except (MemoryError, ImportError):
        raise  # the machine's or the installation's trouble, not the file's
    except Exception as error:
        # from_parts meets whatever a forged file holds, so any error there is the file's fault
        raise ModelFileError(
            f"{os.fspath(path)} does not describe a valid {found}: {error} "
            f"({type(error).__name__}). Write it again from its source"
        ) from error
    if runtime == "plain":
        obj.jit = False
    return obj


def _class_of(path: str | os.PathLike[str], kind: str, runtime: str) -> Any:
    """The class that reads files of this kind."""
    if runtime not in ("full", "light", "plain"):
        raise ValueError(f"runtime must be 'full', 'light' or 'plain', not {runtime!r}")
    if runtime != "full" and kind not in _LIGHT:
        raise DataError(
            f"{os.fspath(path)} holds a {kind}, which predicts nothing: runtime={runtime!r} is for "
            f"{' and '.join(_LIGHT)}"
        )
    home = KINDS[kind] if runtime == "full" else "tsenet.store.runtime:LightModel"
    module, _, name = home.partition(":")
    return getattr(importlib.import_module(module), name)


def _same_bytes(left: npt.NDArray[np.uint8], right: npt.NDArray[np.uint8]) -> bool:
    """Whether two arrays of one length hold the same bytes; block by block, since numpy notes every comparison."""
    return all(
        np.array_equal(left[start : start + _BLOCK], right[start : start + _BLOCK])
        for start in range(0, left.size, _BLOCK)
    )


def _holds(kept: Any, stored: Any) -> bool:
    """Whether all that was stored is kept: objects may have new keys, such as parameters of a later version."""
    if isinstance(kept, dict) and isinstance(stored, dict):
        return all(key in kept and _holds(kept[key], value) for key, value in stored.items())
    return bool(kept == stored)


def _check_nothing_lost(
    obj: Storable, meta: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> None:
    """Refuse fields the object ignored and arrays it had to convert: they are not as saved.

    The object may hold more than the file, so that new versions can read files of old ones.
    """
    kept_meta, kept_arrays = obj.to_parts()
    for name, value in meta.items():
        if name not in kept_meta or not _holds(kept_meta[name], value):
            raise ValueError(f"the field {name!r} is unknown or not in its normal form")
    for name, array in arrays.items():
        kept = kept_arrays.get(name)
        if (
            kept is None
            or kept.dtype != array.dtype
            or kept.shape != array.shape
            or not _same_bytes(bytes_of(kept), bytes_of(array))
        ):
            raise ValueError(f"the array {name!r} is unknown or has another type or shape")
