"""Source of the tutorial on the explorer; ``make tutorials`` runs it."""

# %% [markdown]
# # Read a model in the explorer
#
# A trained network, unit by unit: which inputs a unit responds to, which classes it supports, and what the added links do. You need
# `pip install '.[train,plot]'`; the explorer itself is one HTML file that needs nothing.
#
# ## A model of digits
#
# 1,797 images of 8 × 8 pixels, which scikit-learn ships. Nothing tells the model where in the image a pixel lies.

# %%
from sklearn.datasets import load_digits

import tsenet

X, y = load_digits(return_X_y=True)
model = tsenet.TSENetClassifier(max_top=10, max_epochs=30, random_state=0).fit(X[:1300], y[:1300])
print(f"accuracy on {len(X) - 1300} other images: {model.score(X[1300:], y[1300:]):.1%}")
model.net_.summary()

# %% [markdown]
# ## Write the page

# %%
from pathlib import Path

model.report("digits.html", X[1300:], y[1300:], title="Digits")
print(f"digits.html: {Path('digits.html').stat().st_size / 1000:.0f} kB")

# %% [markdown]
# Open it in a browser: it works offline and makes no requests. [The page of a model of texts](../explorer.md) is part of this site. In
# it,
#
# 1. the **map** shows the topics of the top level by size, the **tree** next to it what they consist of: click a dot to open it;
# 2. a click on a unit opens its **panel**: the inputs of its group, the inputs it correlates with after training, the classes it
#    supports and opposes, the rows that activate it most;
# 3. dashed lines are the links that expansion added to the tree;
# 4. **Classes** lists the units for and against each class; *show in the tree* colours tree and map by it.
#
# ## The same facts in Python
#
# What the page shows about a unit is what `describe_units` returns.

# %%
from tsenet.explain import describe_units

units = describe_units(model, X[:1300], n_features=64)
first = units["Z1.0"]
print(first.label)
print(
    {
        str(name): round(float(effect), 2)
        for name, effect in zip(units.class_names, first.classes, strict=True)
    }
)

# %% [markdown]
# For pixels a picture says more. These are the correlations of three units with all pixels, orange positive and violet
# negative; pixels linked to a unit are framed.

# %%
import matplotlib.pyplot as plt

from tsenet.explain.plots import plot_receptive_field

figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
for number, axes in enumerate(panels):
    plot_receptive_field(units, f"Z1.{number}", (8, 8), ax=axes)
_ = figure.suptitle("Units of level 1")  # Receptive fields of three units of level 1

# %% [markdown]
# ## How training went

# %%
import pandas as pd

losses = pd.Series(model.history_.train_loss)
_ = losses.plot(figsize=(6.5, 3.5), xlabel="epoch", ylabel="loss")  # Losses by epoch

# %% [markdown]
# ## Where to go next
#
# - [The explorer of a model of texts](../explorer.md), live.
# - [The explorer](../guide/report.md): every part of the page, reports from the shell, security.
# - [What a network has learned](../guide/explain.md): why this prediction, scores of topics, plots.
