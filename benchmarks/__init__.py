"""Benchmarks: ``python -m benchmarks NAME``; figures are CPU seconds and ratios measured side by side in one run."""
