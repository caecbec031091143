"""Experiments with tsenet: data sets, rivals, one run loop, one analysis (``python -m reproduce --help``)."""

#: The recipe that last changed what is measured, by what it changed. When a change alters results on purpose
#: (``tests/test_canaries.py`` fails then), write the next number beside what it alters, and describe it under "Recipes"
#: in docs/guide/reproduce.md.
CHANGED = {
    "default": 7,  # TSENetClassifier() of texts and its parts, such as the linear teacher alone
    "default-tables": 7,  # the same of tables and images
    "informed": 7,  # TSENetClassifier.informed()
    "paper": 6,  # TSENetClassifier.paper() and the tree of its options
    "rivals": 1,
    "texts": 5,  # how texts become words, for everything that reads them
    "tables": 1,
}

#: Every stored run carries this number. A run is stale, and repeated when its experiment is next run, if its number is
#: lower than that of something it depends on (:func:`reproduce.runs.last_change`).
RECIPE = max(CHANGED.values())
