"""The program ``tsenet``, also as ``python -m tsenet``."""

from __future__ import annotations

from tsenet._system.interrupts import leave_with_signal_code

__all__ = ["main"]


def main() -> None:
    """Run the program; signals are handled before anything large is imported."""
    with leave_with_signal_code():
        from tsenet.cli.app import app

        app(prog_name="tsenet")


if __name__ == "__main__":
    main()
