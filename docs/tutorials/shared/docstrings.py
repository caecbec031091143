"""A cell that several tutorials share: the docstrings of installed packages, written to docs.csv."""

# %%
from tsenet.data import load_docstrings

docs = load_docstrings()
docs.to_csv("docs.csv", index=False)
print(f"{len(docs):,} documents")
docs.head(3)
