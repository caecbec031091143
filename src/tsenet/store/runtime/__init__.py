"""Answers of saved models without torch and scikit-learn: what ``tsenet.load(path, runtime="light")`` gives."""

from __future__ import annotations

from tsenet.store.runtime.predictor import LightModel

__all__ = ["LightModel"]
