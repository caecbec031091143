"""Modules that other packages import, and that wait until something in them is used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """Stands for a module and imports it when an attribute of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        _remove(self)
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Let what is imported in a block have these modules without loading them.

    scikit-learn imports pandas and ``scipy.stats`` wherever it is imported, for functions that predictions do not
    call: 100 of its 175 MB. Modules that are loaded already stay as they are, and an ``import`` after the block gives
    the module itself.
    """
    waiting = [_Deferred(name) for name in names if name not in sys.modules]
    for module in waiting:
        sys.modules[module.__name__] = module
    try:
        yield
    finally:
        for module in waiting:
            _remove(module)


def _remove(module: ModuleType) -> None:
    """Let the next import of this name load the module itself."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
