"""Source of the tutorial on few labels; ``make tutorials`` runs it."""

# %% [markdown]
# # Classify with few labels
#
# Labels cost time; rows are often free. Here a classifier learns from about 800 texts, 40 of them labelled, and we compare it with
# logistic regression, which can only use those 40. You need `pip install '.[train,plot,text]'`.
#
# ## The task
#
# The texts are docstrings of SciPy and scikit-learn, installed with tsenet; the label is the module a docstring belongs to.

# %% include docstrings

# %% [markdown]
# We keep the modules with at least 40 documents, and set 300 documents aside as a test set.

# %%
import numpy as np

counts = docs["module"].value_counts()
classes = counts[counts >= 40].index.tolist()
chosen = docs[docs["module"].isin(classes)]
texts, y = chosen["text"].to_numpy(object), chosen["module"].to_numpy(object)

order = np.random.default_rng(0).permutation(len(texts))
test, train = order[:300], order[300:]
print(
    f"{len(train)} documents to learn from, {len(test)} to test, {len(classes)} classes:", *classes
)

# %% [markdown]
# Five labels for each class. A row without a label has `None`, `NaN` or an empty string.


# %%
def hide_labels(per_class):
    """The labels of the training rows, all but the first few of each class blank."""
    known = np.concatenate([train[y[train] == name][:per_class] for name in classes])
    partly = np.full(len(y), None, dtype=object)
    partly[known] = y[known]
    return partly[train], known


partly, known = hide_labels(5)
print(len(known), "labels")

# %% [markdown]
# ## Fit
#
# A list of strings is enough: the estimator counts the words, learns the tree from all documents, adds links, and trains the network.

# %%
import tsenet

model = tsenet.TSENetClassifier(random_state=0).fit(list(texts[train]), partly)
print(f"TSE-Net, {len(known)} labels and all texts: {model.score(list(texts[test]), y[test]):.1%}")

# %% [markdown]
# For comparison: tf-idf and logistic regression on the labelled texts.

# %%
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline


def rival():
    """Logistic regression on tf-idf."""
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    return make_pipeline(words, LogisticRegression(C=10, max_iter=1000))


baseline = rival().fit(texts[known], y[known])
print(f"logistic regression, {len(known)} labels: {baseline.score(texts[test], y[test]):.1%}")

# %% [markdown]
# ## How many labels are worth it?
#
# The structure needs no labels, so it is learned once: `learned_wiring_` and `vectorizer_` serve every other number of labels.

# %%
import matplotlib.pyplot as plt

from tsenet.data import count_words

vectorizer, wiring = model.vectorizer_, model.learned_wiring_
counts, test_counts = (count_words(list(texts[part]), vectorizer) for part in (train, test))
scores = {"TSE-Net": [], "logistic regression": []}
sizes = (2, 5, 20)
for per_class in sizes:
    partly, known = hide_labels(per_class)
    network = tsenet.TSENetClassifier(wiring=wiring, random_state=0).fit(counts, partly)
    scores["TSE-Net"].append(network.score(test_counts, y[test]))
    scores["logistic regression"].append(
        rival().fit(texts[known], y[known]).score(texts[test], y[test])
    )

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, values in scores.items():
    axes.plot(sizes, values, "o-", label=name)
axes.set(xlabel="labels for each class", ylabel="accuracy on 300 documents", xticks=sizes)
_ = axes.legend()  # Accuracy against the number of labels

# %% [markdown]
# One draw of labels, one corpus: a hint, not a measurement. On 300 documents a difference of two points is within chance.
# [Few labels](../results/text.md) has repeated runs on public sets, with rivals that learn from rows without labels too: on AG's News
# EM naive Bayes and the linear teacher alone are level with the network at 100 labels, on 20 Newsgroups only the latter is.
#
# ## Why this prediction?

# %%
from tsenet.explain import explain_prediction

position = int(np.flatnonzero(model.predict(list(texts[test])) == y[test])[3])
print(texts[test][position][:160], "…")
explain_prediction(model, texts[test][position], n=4)

# %% [markdown]
# ## Where to go next
#
# - [Few labels, many rows](../guide/few-labels.md): what happens inside, other ways to mark unlabelled rows, and when not to use it.
# - [Classification and regression](../guide/classify.md): everything about the estimator.
# - [Read a model in the explorer](explorer.md), and [deploy it without torch](deploy.md).
