"""Model files and the formats of other programs.

``save`` and ``load`` write and read tsenet's own files, ``write_bif`` exports a tree to other programs for graphical
models, ``write_onnx`` a classifier or regressor to ONNX runtimes. ``save_parts`` and ``load_parts`` are the layer below
``save`` and ``load``: JSON fields and arrays, without classes.
"""

from __future__ import annotations

from tsenet.store.bif import write_bif
from tsenet.store.files import Storable, load, load_parts, save, save_parts
from tsenet.store.onnx_export import write_onnx

__all__ = [
    "Storable",
    "load",
    "load_parts",
    "save",
    "save_parts",
    "write_bif",
    "write_onnx",
]
