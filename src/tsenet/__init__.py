"""tsenet: learn the wiring of a sparse deep network from unlabelled data, train it, and say what every unit means.

Public names are loaded on first use, so ``import tsenet`` is quick and loads neither torch nor numba.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsenet._system.warmup import warmup as warmup
    from tsenet.data.binary import BinaryRule as BinaryRule
    from tsenet.data.table import Table as Table
    from tsenet.errors import DataError as DataError
    from tsenet.errors import ModelFileError as ModelFileError
    from tsenet.errors import TSENetError as TSENetError
    from tsenet.estimators.classifier import TSENetClassifier as TSENetClassifier
    from tsenet.estimators.regressor import TSENetRegressor as TSENetRegressor
    from tsenet.estimators.topic_model import TopicModel as TopicModel
    from tsenet.estimators.tree_transformer import LatentTreeTransformer as LatentTreeTransformer
    from tsenet.expansion.expand import expand as expand
    from tsenet.expansion.wiring import Wiring as Wiring
    from tsenet.network.tsenet import TSENet as TSENet
    from tsenet.progress import Progress as Progress
    from tsenet.skeleton.hlta import learn_tree as learn_tree
    from tsenet.skeleton.tree import LatentTree as LatentTree
    from tsenet.store import load as load
    from tsenet.store import save as save

__version__ = "0.1.0"

_HOME = {
    "BinaryRule": "tsenet.data.binary",
    "DataError": "tsenet.errors",
    "LatentTree": "tsenet.skeleton.tree",
    "LatentTreeTransformer": "tsenet.estimators.tree_transformer",
    "ModelFileError": "tsenet.errors",
    "Progress": "tsenet.progress",
    "TSENet": "tsenet.network.tsenet",
    "TSENetClassifier": "tsenet.estimators.classifier",
    "TSENetError": "tsenet.errors",
    "TSENetRegressor": "tsenet.estimators.regressor",
    "Table": "tsenet.data.table",
    "TopicModel": "tsenet.estimators.topic_model",
    "Wiring": "tsenet.expansion.wiring",
    "expand": "tsenet.expansion.expand",
    "learn_tree": "tsenet.skeleton.hlta",
    "load": "tsenet.store",
    "save": "tsenet.store",
    "warmup": "tsenet._system.warmup",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tsenet' has no attribute {name!r}")
    if name == "TSENet":
        from tsenet.errors import need_torch

        need_torch("TSENet")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
