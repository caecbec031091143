"""Benchmarks: ``python -m benchmarks NAME``; ``python -m benchmarks list`` names them.

Figures are CPU seconds of all threads, taken after JIT warm-up, and ratios. A heavy run has a process of its own, so
that its peak memory is its own too.
"""
