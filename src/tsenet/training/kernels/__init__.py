"""Compiled kernels of training."""
