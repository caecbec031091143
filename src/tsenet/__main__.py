"""``python -m tsenet`` is the same as ``tsenet``."""

from __future__ import annotations

from tsenet.cli.app import main

if __name__ == "__main__":
    main()
