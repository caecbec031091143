"""The scikit-learn face: thin estimators over the stages, no maths here. The first fit loads torch and numba."""

from tsenet._system.deferred import deferred

with deferred("pandas", "scipy.stats"):
    import sklearn.base
    import sklearn.feature_extraction.text  # noqa: F401  vectorizers of model files
