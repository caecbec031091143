"""Source of the tutorial on tables; ``make tutorials`` runs it."""

# %% [markdown]
# # A table of measurements
#
# tsenet reads any table: numbers, categories, missing values. Here it groups 30 measurements of cells, classifies tumours, and shows
# which groups of measurements decided. You need `pip install '.[train,plot,text]'`.
#
# ## The rows
#
# scikit-learn ships the Wisconsin breast cancer data: 569 samples with ten properties of their cells; for each property the table has the
# mean, the standard error and the worst value.

# %%
import numpy as np
from sklearn.datasets import load_breast_cancer

data = load_breast_cancer(as_frame=True)
X, y = data.data, np.where(data.target == 0, "malignant", "benign")
X.iloc[:3, :5]

# %% [markdown]
# ## Which columns belong together?
#
# The tree is learned from the rows alone, without labels and without the names of the columns.

# %%
import tsenet

tree = tsenet.learn_tree(X, max_top=4, random_state=0)
for latent, group in zip(tree.names[tree.layer(1)], tree.groups(1), strict=True):
    print(f"{latent}: {', '.join(tree.names[column] for column in group)}")

# %% [markdown]
# The means and worst values of radius, perimeter and area, which measure size, are in two groups; mean and worst texture share one, and so
# do mean and worst smoothness. (The thresholds are those at which a column counts as *on* for the tree; the network reads the values.)
# The correlation matrix, its columns in the order of the tree, shows the groups as blocks:

# %%
import matplotlib.pyplot as plt

order = np.concatenate(tree.groups(1))
edges = np.cumsum([len(group) for group in tree.groups(1)])[:-1] - 0.5
figure, axes = plt.subplots(figsize=(7.5, 6.5), layout="constrained")
image = axes.imshow(X.iloc[:, order].corr(), cmap="RdBu_r", vmin=-1, vmax=1)
axes.set_xticks([])
axes.set_yticks(range(len(order)), X.columns[order], fontsize=8)
axes.hlines(edges, -0.5, len(order) - 0.5, color="black", linewidth=0.8)
axes.vlines(edges, -0.5, len(order) - 0.5, color="black", linewidth=0.8)
_ = figure.colorbar(image, label="correlation")  # Correlations in the order of the tree's groups

# %% [markdown]
# The tree is also a probability model: a row with a low likelihood is unusual.

# %%
surprise = -tree.log_likelihood(X)
print("least probable rows:", surprise.argsort()[::-1][:5])

# %% [markdown]
# ## Classify, with gaps in the table
#
# A tenth of all values is removed. Missing values need not be filled in.

# %%
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

rng = np.random.default_rng(0)
gaps = X.mask(rng.random(X.shape) < 0.1)
folds = StratifiedKFold(4, shuffle=True, random_state=0)
for name, estimator in {
    "TSE-Net": tsenet.TSENetClassifier(max_epochs=30, random_state=0),
    "boosted trees": HistGradientBoostingClassifier(random_state=0),
}.items():
    scores = cross_val_score(estimator, gaps, y, cv=folds)
    print(f"{name}: {scores.mean():.1%} (folds {', '.join(f'{score:.1%}' for score in scores)})")

# %% [markdown]
# With so few rows the two are level: the difference of the means is smaller than that between folds.
#
# ## Why this sample?
#
# What the columns add, with a start, is the probability of the predicted class.

# %%
from tsenet.explain import explain_prediction

half = np.arange(len(X)) % 2 == 0
model = tsenet.TSENetClassifier(max_epochs=30, random_state=0).fit(X[half], y[half])
print(f"accuracy on the other half: {model.score(X[~half], y[~half]):.1%}")
explain_prediction(model, X.iloc[[1]], n=4)

# %% [markdown]
# ## Which columns matter overall?

# %%
share = model.feature_importances_
first = share.argsort()[::-1][:10]
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.barh(X.columns[first][::-1], share[first][::-1], color="#00796b")
_ = axes.set_xlabel(
    "share of what all columns add to the outputs"
)  # The ten most important columns

# %% [markdown]
# ## Where to go next
#
# - [Any table](../guide/tables.md): how columns become binary, categories, errors and what to do about them.
# - [Tables and images](../results/tables.md): other tables, on some of which boosted trees are ahead of tsenet.
# - [What a network has learned](../guide/explain.md): units, contributions, plots.
# - Molecules: [data sets](../guide/reproduce.md#data-sets) has Tox21, whose rows are compounds (they need rdkit).
