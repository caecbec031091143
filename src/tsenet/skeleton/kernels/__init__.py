"""Compiled loops of structure learning: plain functions on arrays, numpy and numba only."""
