"""Data beyond the memory of one machine: folders of shards, worked on here or on a Dask cluster.

:class:`Shards` stands for a table in :func:`tsenet.learn_tree` and :func:`tsenet.expand`; :func:`learn_tree` and
:func:`expand` of this package make one of a folder. The guide "When one machine is not enough" shows how.
"""

from __future__ import annotations

from tsenet.scale.learn import expand, learn_tree
from tsenet.scale.report import Report
from tsenet.scale.shards import Shards

__all__ = ["Report", "Shards", "expand", "learn_tree"]
