"""Source of the tutorial on data beyond memory; ``make tutorials`` runs it."""

# %% [markdown]
# # More rows than memory
#
# Write the rows once as a folder of shards, and pass that folder instead of the table: to one process with little memory, or to
# several on a Dask cluster. The result is the same tree, bit for bit. You need `pip install '.[dask,text]'`.
#
# The corpus below is small, so that everything runs in seconds; nothing in the code would change for a larger one.

# %% include docstrings

# %% [markdown]
# ## 1. Shards
#
# `tsenet shard` reads the file twice, for the vocabulary and for the counts; it never loads all of it. `--label` keeps a column along
# with the rows.

# %%
# !tsenet shard docs.csv --out shards --words 2000 --stop-words english --set min_documents=5 --label module --quiet
# !ls shards

# %%
from tsenet.data import open_shards

folder = open_shards("shards")
print(folder.shape, "rows and words;", len(folder.shards), "shards")

# %% [markdown]
# ## 2. One process, little memory
#
# Pass the name of the folder instead of a table. `Blocks` opens it once for several calls. One shard is in memory at a time, and the
# rows from which the groups are learned: at most 200,000, or `structure_samples=`.

# %%
import tsenet
from tsenet.data import Blocks

with Blocks("shards") as rows:
    tree = tsenet.learn_tree(rows, random_state=0)
    wiring = tsenet.expand(tree, rows)
    likelihood = tree.log_likelihood(rows).mean()
print(tree, f"mean ln P(row) = {likelihood:.2f}", sep="\n")

# %% [markdown]
# ## 3. Several processes
#
# Any `distributed.Client` will do: here two processes on this machine; on a cluster, the address of its scheduler. All workers must
# reach the folder under the same name.

# %%
from distributed import Client, LocalCluster

with (
    LocalCluster(2, threads_per_worker=1, dashboard_address=None, silence_logs="ERROR") as cluster,
    Client(cluster) as client,
):
    from_cluster = tsenet.learn_tree("shards", client=client, random_state=0)
print("the same tree:", from_cluster == tree)

# %% [markdown]
# And the same as from the table in memory:

# %%
from tsenet.data import read_data, vectorize, word_vectorizer

words = word_vectorizer(n_words=2000, stop_words="english", min_documents=5)
counts = vectorize(read_data("docs.csv").texts("text"), words)
print("the same tree:", tsenet.learn_tree(counts, random_state=0) == tree)

# %% [markdown]
# ## 4. A network on top
#
# `tsenet fit` also reads a folder of shards, a batch at a time. It needs the extra `train`.

# %%
# !tsenet fit shards --target module --out model.tsenet --set max_epochs=5 --quiet
# !tsenet predict model.tsenet docs.csv --out predictions.csv --quiet && head -n 3 predictions.csv | cut -c 1-90

# %% [markdown]
# ## Where to go next
#
# - [When one machine is not enough](../guide/scale.md): what happens if a worker dies, and what each pass reads.
# - [Shard format](../shard-format.md): plain Parquet, to write from other programs.
