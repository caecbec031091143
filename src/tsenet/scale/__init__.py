"""Rows in blocks: tables in memory, Parquet folders beyond memory, and both on a Dask cluster.

:class:`Blocks` is accepted in place of a table by :func:`tsenet.learn_tree`, :func:`tsenet.expand` and the estimators.
The guide "When one machine is not enough" shows how.
"""

from __future__ import annotations

from tsenet.scale.blocks import Blocks

__all__ = ["Blocks"]
