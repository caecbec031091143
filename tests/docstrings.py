"""Run the examples in docstrings, and find public names that have none."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any


def modules_of(package: str) -> list[str]:
    """The names of a package and of its modules."""
    found = importlib.import_module(package)
    if not hasattr(found, "__path__"):
        return [package]
    return [
        package,
        *(f"{package}.{module.name}" for module in pkgutil.iter_modules(found.__path__)),
    ]


def run_examples(module: str) -> doctest.TestResults:
    """Run the examples of one module; failures are written to stdout."""
    return doctest.testmod(
        importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )


def without_example(module: ModuleType) -> list[str]:
    """Public classes, functions and methods of a module's ``__all__`` whose docstring has no example."""
    missing = []
    for name in module.__all__:
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        missing += [name] if not _has_example(value) else []
        if inspect.isclass(value):
            missing += [
                f"{name}.{method}"
                for method, function in vars(value).items()
                if not method.startswith("_")
                and _is_method(function)
                and not _has_example(function)
            ]
    return missing


def _is_method(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, classmethod | staticmethod)


def _has_example(value: Any) -> bool:
    return ">>> " in (value.__doc__ or "")
