"""Settings of all tests, and which are slow: `make check` leaves those out, `make test` runs all.

Besides the modules and folders named here, single tests are marked with ``pytest.mark.slow``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The networks are so small that torch's threads would only wait for each other. Read when torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A busy machine must not fail a test: no deadline per example.
settings.register_profile("tsenet", deadline=None)
settings.load_profile("tsenet")

#: Folders whose tests start processes, browsers or whole experiments.
SLOW_FOLDERS = {"benchmarks", "browser", "examples", "reliability", "reproduce"}
#: Modules that fit many networks, or flip every bit of a file.
SLOW_MODULES = {
    "store/test_files.py",
    "training/test_pruning.py",
    "test_docs.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root = Path(__file__).parent
    for item in items:
        if not item.path.is_relative_to(root):
            continue
        module = item.path.relative_to(root)
        if module.parts[0] in SLOW_FOLDERS or module.as_posix() in SLOW_MODULES:
            item.add_marker(pytest.mark.slow)
