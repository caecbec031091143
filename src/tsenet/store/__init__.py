"""Model files and the formats of other programs.

``save`` and ``load`` write and read tsenet's own files, ``write_bif`` exports a tree to other programs for graphical
models, ``write_onnx`` a classifier or regressor to ONNX runtimes, ``read_hlta_tuples`` reads HLTA's sparse data.
``save_parts`` and ``load_parts`` are the layer below: JSON fields and arrays, without classes.
"""

from __future__ import annotations

from tsenet.store.bif import write_bif
from tsenet.store.container import load_parts, save_parts
from tsenet.store.hlta_text import read_hlta_tuples
from tsenet.store.objects import Storable, load, save
from tsenet.store.onnx_export import write_onnx

__all__ = [
    "Storable",
    "load",
    "load_parts",
    "read_hlta_tuples",
    "save",
    "save_parts",
    "write_bif",
    "write_onnx",
]
