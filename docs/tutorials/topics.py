"""Source of the tutorial on topics; ``make tutorials`` runs it."""

# %% [markdown]
# # Topics of a corpus
#
# From a file of texts to a tree of topics that you can read, search and use: in the shell with one command, in Python with one class.
# Everything here runs in a few seconds on a laptop. You need `pip install '.[plot,text]'`.
#
# ## The corpus
#
# This tutorial runs offline, so it needs texts that every reader has. The documentation of SciPy and scikit-learn is installed with
# tsenet: each public function and class has a docstring. We take what it says first, and the module as a label that we do **not** use for learning.

# %% include docstrings

# %% [markdown]
# ## One command
#
# `--words 2000 --set min_documents=5` keeps the 2,000 most frequent words that are in at least five documents: in a small corpus, rarer ones
# cannot be told from noise.

# %%
# !tsenet topics docs.csv --text text --words 2000 --set min_documents=5 --out topics --quiet
# !head -n 24 topics/topics.md | cut -c 1-110

# %% [markdown]
# Each line is a topic: the share of documents in which it is present, the words that set it apart, and its name. Indented below are the
# topics that it consists of. The folder also has `topics.html`, the [explorer](../explorer.md) for the browser.
#
# ## The same in Python

# %%
import tsenet
from tsenet.data import read_data

documents = read_data("docs.csv").texts("text")
model = tsenet.TopicModel(n_words=2000, min_documents=5, random_state=0).fit(documents)
model.topics_[["id", "level", "label", "share", "coherence"]].head(8).round(3)

# %% [markdown]
# `coherence` is the NPMI of a topic's words in the documents: 1 if they always occur together, 0 if they are independent. Words
# that do not go with any others are in no topic:

# %%
print(model)
print(len(model.ungrouped_), "words in no topic, such as", ", ".join(model.ungrouped_[:8]))

# %% [markdown]
# ## A picture of the hierarchy

# %%
from tsenet.explain.plots import plot_hierarchy, plot_per_class

_ = plot_hierarchy(model)  # The largest topics of the top level, and those below them

# %% [markdown]
# ## Which topics does a text have?
#
# This also works for texts that the model has not seen.

# %%
question = "Fit a smoothing spline through noisy samples, choosing the knots automatically."
model.topics_of(question).head(5)

# %% [markdown]
# The other direction: the documents in which its topic of level 1 is strongest.

# %%
topics = model.topics_
low = model.topics_of(question).query("level == 1")["id"].iloc[0]
for document in model.documents_of(low, n_documents=5)["document"]:
    print(docs["name"][document])

# %% [markdown]
# ## Topics and labels
#
# The modules were not used. Do the topics follow them nevertheless? `per_class` gives the share of each class's documents in which a
# topic is present.

# %%
table = model.per_class(docs["module"], level=topics["level"].max())
_ = plot_per_class(table)  # Topics of the top level by module

# %% [markdown]
# ## Keep it
#
# A saved model includes its vocabulary and tokenizer, so it reads texts; it contains no documents.

# %%
model.save("docstrings.tsenet")
again = tsenet.load("docstrings.tsenet")
assert again.topics_.equals(model.topics_)

# %% [markdown]
# ## Where to go next
#
# - [Topics of documents](../guide/topics.md): fewer topics, guided topics, topics over time, all options.
# - [Texts](../guide/text.md): other files, scripts and languages.
# - [Classify with few labels](few-labels.md): the same corpus, and 40 labels.
# - [Topics and hierarchy](../results/topics.md): comparisons with other topic models.
