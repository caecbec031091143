"""Model files and the formats of other programs.

:func:`save` and :func:`load` handle tsenet's own files, :func:`write_bif` exports a tree to other
programs for graphical models, :func:`read_hlta_tuples` reads HLTA's sparse data.
"""

from __future__ import annotations

from tsenet._system.atomic import atomic_folder, atomic_write
from tsenet.store.bif import write_bif
from tsenet.store.container import load_parts, save_parts
from tsenet.store.hlta_text import read_hlta_tuples
from tsenet.store.objects import load, save

__all__ = [
    "atomic_folder",
    "atomic_write",
    "load",
    "load_parts",
    "read_hlta_tuples",
    "save",
    "save_parts",
    "write_bif",
]
