"""The paper's tables and figures (§6) and further experiments: definitions that can be run, stopped and resumed."""

#: Version of what is measured. Raise it by hand when a change alters results on purpose (``tests/test_canaries.py``
#: fails then), and describe it under "Recipes" in docs/guide/reproduce.md. Every stored run carries the number it was
#: measured with; runs of another number are stale, and are done again when their experiment is next executed.
RECIPE = 2
