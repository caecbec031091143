"""The scikit-learn face: thin estimators over the stages, no maths here. The first fit loads torch and numba."""
