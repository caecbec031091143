"""A cell that several tutorials share: the prose of installed docstrings, written to docs.csv."""

# %%
import csv
import importlib
import inspect
import re

MODULES = """
scipy.cluster.hierarchy scipy.fft scipy.integrate scipy.interpolate scipy.linalg scipy.ndimage scipy.optimize scipy.signal
scipy.sparse scipy.sparse.csgraph scipy.sparse.linalg scipy.spatial scipy.spatial.distance scipy.special scipy.stats
sklearn.cluster sklearn.covariance sklearn.datasets sklearn.decomposition sklearn.ensemble sklearn.feature_extraction.text
sklearn.feature_selection sklearn.linear_model sklearn.manifold sklearn.metrics sklearn.model_selection sklearn.naive_bayes
sklearn.neighbors sklearn.preprocessing sklearn.svm sklearn.tree sklearn.utils
""".split()


def prose(docstring):
    """The opening and the notes of a docstring, without parameters, examples and a table that many share."""
    sections = re.split(r"\n(?=\w[\w ]+\n---)", docstring)
    text = "\n".join(sections[:1] + [part for part in sections if part.startswith("Notes")])
    return text.partition("Array API Standard Support")[0]


found = {}  # a function that two modules have counts once
for module in MODULES:
    for name, member in vars(importlib.import_module(module)).items():
        if callable(member) and not name.startswith("_"):
            text = prose(inspect.getdoc(member) or "")
            if len(text.split()) >= 20:
                found.setdefault(text, (f"{module}.{name}", module))

with open("docs.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow(["name", "module", "text"])
    writer.writerows([name, module, text] for text, (name, module) in found.items())
print(f"{len(found):,} documents")
