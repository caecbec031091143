"""`need_torch`: a clear error where the optional package is missing."""

from __future__ import annotations

from importlib.util import find_spec

from tsenet.errors import MissingDependencyError


def need_torch(what: str) -> None:
    """Refuse to go on without torch, before any work is done.

    Parameters
    ----------
    what : str
        What needs it; the error's first words.

    Raises
    ------
    MissingDependencyError
        If torch is not installed.
    """
    if find_spec("torch") is None:
        raise MissingDependencyError(
            f"{what} needs torch: pip install 'tsenet[train]'. Saved classifiers and regressors predict without it: "
            "tsenet.load(path) or tsenet predict"
        )
