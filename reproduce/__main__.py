"""``python -m reproduce NAME``: the command line of the experiments."""

from __future__ import annotations

from reproduce.commands import app

if __name__ == "__main__":
    app(prog_name="python -m reproduce")
