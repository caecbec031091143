"""Numba kernels of the network: plain functions on arrays."""
