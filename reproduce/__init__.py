"""Experiments with tsenet: data sets, rivals, one run loop, one analysis (``python -m reproduce --help``)."""

#: Version of what is measured. Raise it by hand when a change alters results on purpose (``tests/test_canaries.py``
#: fails then), and describe it under "Recipes" in docs/guide/reproduce.md. Every stored run carries the number it was
#: measured with; runs with another number are stale and are repeated when their experiment is next run.
RECIPE = 5
