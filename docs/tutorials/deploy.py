"""Source of the tutorial on deployment; ``make tutorials`` runs it."""

# %% [markdown]
# # Deploy without torch
#
# Train once, then predict where torch is not installed: from the model's own file, or as ONNX without Python. On the
# way, the network is pruned. You need `pip install '.[train,onnx,plot]'` to train and export.
#
# ## Train and save

# %%
from sklearn.datasets import load_digits

import tsenet

X, y = load_digits(return_X_y=True)
model = tsenet.TSENetClassifier(max_epochs=30, random_state=0).fit(X[:1200], y[:1200])
model.save("digits.tsenet")
print(f"{model.n_parameters_:,} parameters, {model.score(X[1200:], y[1200:]):.1%} on other images")

# %% [markdown]
# ## Prune it first
#
# `prune` removes the weakest weights and trains the others further. The file becomes smaller and predictions faster.

# %%
from pathlib import Path

import matplotlib.pyplot as plt

sizes, scores = [model.n_parameters_], [model.score(X[1200:1500], y[1200:1500])]
for budget in (8_000, 4_000, 2_000, 1_000):
    small = tsenet.load("digits.tsenet").prune(budget, X[:1200])
    small.save(f"digits-{budget}.tsenet")
    sizes.append(small.n_parameters_)
    scores.append(small.score(X[1200:1500], y[1200:1500]))
    print(
        f"{budget:>6,} parameters: {Path(f'digits-{budget}.tsenet').stat().st_size / 1000:.0f} kB"
    )

figure, axes = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
axes.semilogx(sizes, scores, "o-", color="#00796b")
_ = axes.set(xlabel="parameters", ylabel="accuracy on 300 images")  # Accuracy against parameters

# %% [markdown]
# We choose a size on these 300 images, and keep the other 297 for the final score.

# %%
chosen = tsenet.load("digits-4000.tsenet")
print(
    f"{chosen.n_parameters_:,} parameters: {chosen.score(X[1500:], y[1500:]):.1%} on the last images"
)

# %% [markdown]
# ## Without torch
#
# `tsenet.load(path)` reads a model, which predicts without torch. A new process shows what is loaded:

# %%
program = """
import sys
import numpy as np
import tsenet

model = tsenet.load("digits-4000.tsenet")
rows = np.load("rows.npy")
np.save("light.npy", model.predict(rows))
print("torch loaded:", "torch" in sys.modules)
"""
import numpy as np

Path("answer.py").write_text(program, encoding="utf-8")
np.save("rows.npy", X[1500:])

# %%
# !python answer.py

# %%
assert (np.load("light.npy") == chosen.predict(X[1500:])).all()
print("the same answers")

# %% [markdown]
# The same in the shell is `tsenet predict MODEL DATA`; [`examples/serve.py`](../guide/deploy.md#as-a-service) is a small HTTP service on
# a loaded model.
#
# ## ONNX
#
# Scaling and missing values are handled in the graph: the ONNX model takes rows as they are in your table.

# %%
import onnxruntime

chosen.to_onnx("digits.onnx")
session = onnxruntime.InferenceSession("digits.onnx")
label, probability = session.run(["label", "probabilities"], {"X": X[1500:].astype(np.float32)})
difference = np.abs(probability - chosen.predict_proba(X[1500:])).max()
print(f"digits.onnx: {Path('digits.onnx').stat().st_size / 1000:.0f} kB")
print(
    "the same labels:",
    bool((label == chosen.predict(X[1500:])).all()),
    "- largest difference below 1e-5:",
    bool(difference < 1e-5),
)

# %% [markdown]
# ## Where to go next
#
# - [Deployment](../guide/deploy.md): texts, a service, the limits of ONNX.
# - [File format](../file-format.md): what is in a `.tsenet` file, and why it is not a pickle.
# - [Small networks](../results/text.md#small-networks): pruning measured on AG's News, where pruned logistic regression is ahead at 20,000 parameters.
