"""The report of a model: one HTML page to explore the tree, its units and their meaning (the explorer)."""

from __future__ import annotations

from tsenet.explain.report.page import write_report
from tsenet.explain.report.payload import report_payload

__all__ = ["report_payload", "write_report"]
