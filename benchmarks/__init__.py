"""Speed, memory and quality as ratios, side by side in one run: ``python -m benchmarks --help``."""
