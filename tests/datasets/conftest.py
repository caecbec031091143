from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folders(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Give each test its own cache, and the real data only to tests marked ``data``."""
    monkeypatch.setenv("TSENET_CACHE", str(tmp_path / "cache"))
    if request.node.get_closest_marker("data") is None:
        monkeypatch.delenv("TSENET_DATA", raising=False)
    return tmp_path / "cache"
