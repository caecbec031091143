"""Which tree a network grows from: one that HLTA learns, the topics of texts, or one that is given."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tsenet.data.binary import BinaryRule
from tsenet.data.blocks import Blocks
from tsenet.data.mixed import MixedReader
from tsenet.data.table import Table
from tsenet.data.text import vectorizer_of_words
from tsenet.errors import DataError, listed
from tsenet.progress import Progress
from tsenet.skeleton.tree import LatentTree, node_marginals

if TYPE_CHECKING:
    from tsenet.estimators.topic_model import TopicModel

#: The skeletons that are learned.
LEARNED = ("hlta", "topics")
# Topics of level 1 of skeleton="topics". In trials 300 wired a network better than 30 or 150; against HLTA's tree:
# docs/results/text.md.
_N_TOPICS = 300
_ROWS_OF_A_TOPIC = 10  # fewer documents have fewer topics
_FEWEST_TOPICS = 8  # where even so few cannot be learned, their number is left to the documents


def check_skeleton(skeleton: Any, wiring: Any) -> None:
    """Refuse what is no skeleton, before any rows are read."""
    if skeleton not in (None, "hlta") and wiring is not None:
        raise ValueError("a wiring has its skeleton already: give skeleton or wiring, not both")
    if isinstance(skeleton, LatentTree) or skeleton is None or skeleton in LEARNED:
        return
    if not is_topic_model(skeleton):
        raise ValueError(
            "skeleton must be 'hlta', 'topics', a fitted TopicModel or a LatentTree, "
            f"not {skeleton!r:.60}"
        )

    try:
        check_is_fitted(skeleton)
    except ValueError as error:
        raise DataError(
            "the TopicModel given as skeleton is not fitted: fit it first, "
            "as in skeleton=TopicModel().fit(texts)"
        ) from error


def is_topic_model(skeleton: Any) -> bool:
    """Whether a skeleton is a TopicModel, without importing one for those that are not."""
    return type(skeleton).__name__ == "TopicModel" and hasattr(skeleton, "topics_of")


def word_counter(skeleton: Any, vectorizer: Any) -> Any:
    """What counts the words of a given skeleton in texts; None for a skeleton that is to be learned.

    Parameters
    ----------
    skeleton : "hlta", "topics", TopicModel, LatentTree or None
    vectorizer : CountVectorizer or None
        How texts are split into words, if the skeleton does not know.
    """
    if isinstance(skeleton, LatentTree):
        words = skeleton.rule.names_in
    elif not is_topic_model(skeleton):
        return None
    elif skeleton.vectorizer_ is not None:
        return skeleton.vectorizer_
    else:
        words = skeleton.vocabulary_
    return vectorizer_of_words(words, vectorizer)


def tree_of_skeleton(
    skeleton: Any, rows: Table | Blocks, sample: Table, seed: Any, progress: Progress
) -> LatentTree | None:
    """The tree to expand; None if HLTA is to learn it.

    Parameters
    ----------
    skeleton : "hlta", "topics", TopicModel, LatentTree or None
    rows : Table or Blocks
    sample : Table
        The rows, or some of them if they are outside memory.
    seed : seed
        Of the documents from which topics are learned, if they are outside memory.
    progress : Progress

    Raises
    ------
    DataError
        If the tree is one over other columns, or topics were asked for of a table without words.
    """
    if skeleton in (None, "hlta"):
        return None

    if skeleton == "topics":
        if not sample.is_sparse:
            raise DataError(
                "skeleton='topics' needs texts, or a sparse table of the counts of words; "
                "the skeleton of other tables is 'hlta'"
            )
        return tree_of_topics(_learn_topics(rows, seed, progress))

    if isinstance(skeleton, LatentTree):
        _check_columns(skeleton.rule.names_in, sample)
        return skeleton

    _check_columns(skeleton.binary_rule_.names_in, sample)
    return tree_of_topics(skeleton, sample)


def tree_of_topics(model: TopicModel, rows: Table | None = None) -> LatentTree:
    """The tree of a fitted model of topics, in which each topic is called by its title.

    Where a word or another topic has the title already, the id follows it.

    Parameters
    ----------
    model : TopicModel
    rows : Table, optional
        Documents whose rates are the tree's probabilities; default: those the model was fitted on.
    """
    tree: LatentTree = model.to_tree(rows)
    topics = model.topics_
    title_of = dict(zip(topics["id"], topics["label"], strict=True))
    names = dict.fromkeys(tree.rule.names)  # the lowest topics come first
    for name in tree.latent_names:
        title = title_of.get(name) or name
        names[title if title not in names else f"{title} ({name})"] = None
    return replace(tree, names=tuple(names))


# ---- a text with columns beside it


def parts_of(table: Table, n_words: int) -> tuple[Table, Table]:
    """The words of a table, which come first, and the columns beside them."""
    words = Table(table.values[:, :n_words], table.names[:n_words], table.levels[:n_words])
    beside = Table(table.values[:, n_words:], table.names[n_words:], table.levels[n_words:])
    return words, beside


def mixed_tree(
    skeleton: Any,
    table: Table,
    reader: MixedReader,
    *,
    seed: Any,
    progress: Progress,
    max_top: int,
    n_jobs: int | None,
    **tree_options: Any,
) -> LatentTree:
    """The skeleton of the words, with groups of the columns beside them as further latents of level 1.

    Parameters
    ----------
    skeleton : "hlta", "topics", TopicModel, LatentTree or None
        Of the words.
    table : Table
        Rows as the reader gives them.
    reader : MixedReader
    seed, progress, max_top, n_jobs, **tree_options
        As for :func:`tsenet.learn_tree`.
    """
    from tsenet.skeleton.hlta import learn_tree

    words, beside = parts_of(table, reader.n_words)
    shared: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs, "progress": progress}
    tree = tree_of_skeleton(skeleton, words, words, seed, progress)
    if tree is None:
        options = {"piece_size": "auto", **tree_options}
        tree = learn_tree(words, max_top=max_top, **shared, **options)
    groups = learn_tree(beside, max_top=beside.n_columns, **shared)  # one level
    return joined(tree, groups, BinaryRule.learn(table), reader)


def joined(
    words: LatentTree, groups: LatentTree, rule: BinaryRule, reader: MixedReader
) -> LatentTree:
    """One tree over the words and the columns beside them, whose latents of level 1 come after those of the words.

    The groups have no parents: a reader of the topics finds them unchanged.
    """
    n_words, n_beside = words.n_observed, groups.n_observed
    n_lowest = words.layer_sizes[1] if words.n_levels else 0
    n_first = n_words + n_lowest  # words and the latents above them

    # The number in the new tree of each node of the two: levels one after the other, words first.
    of_words = np.arange(words.n_nodes)
    of_words[n_words:] += n_beside
    of_words[n_first:] += groups.n_latents
    of_groups = n_words + np.arange(groups.n_nodes)
    of_groups[n_beside:] += n_lowest

    n_nodes = words.n_nodes + groups.n_nodes
    parent = np.full(n_nodes, -1, np.int32)
    level = np.empty(n_nodes, np.int32)
    cpt = np.empty((n_nodes, 2, 2))
    for tree, number in ((words, of_words), (groups, of_groups)):
        has_parent = tree.parent >= 0
        parent[number[has_parent]] = number[tree.parent[has_parent]]
        level[number] = tree.level
        cpt[number] = tree.cpt

    alone = of_groups[n_beside:]  # links between groups are no part of a level below the top
    parent[alone] = -1
    cpt[alone] = node_marginals(groups.parent, groups.cpt)[n_beside:, None, :]

    names = dict.fromkeys([*rule.names, *words.latent_names])
    titles = []
    for members in groups.groups(1) if groups.n_levels else []:
        sources = dict.fromkeys(reader.steps.sources[members].tolist())
        title = ", ".join(reader.steps.rule.names_in[j] for j in sources)
        numbered = (f"{title} {number}" for number in count(2))  # a column may have several groups
        titles.append(next(name for name in chain([title], numbered) if name not in names))
        names[titles[-1]] = None

    lowest, higher = words.latent_names[:n_lowest], words.latent_names[n_lowest:]
    return LatentTree(parent, level, cpt, (*rule.names, *lowest, *titles, *higher), rule)


def words_alone(tree: LatentTree, n_words: int) -> LatentTree:
    """The tree over the words that :func:`joined` put columns beside."""
    is_word = np.ones(tree.n_nodes, bool)
    is_word[n_words : tree.n_observed] = False
    groups = tree.parent[n_words : tree.n_observed]
    is_word[groups[groups >= 0]] = False
    number = np.cumsum(is_word) - 1
    parent = tree.parent[is_word]
    rule = tree.rule
    words = BinaryRule(
        rule.names_in[:n_words],
        rule.thresholds[:n_words],
        rule.presence[:n_words],
        rule.levels[:n_words],
        rule.named,
    )
    return LatentTree(
        np.where(parent >= 0, number[parent], -1).astype(np.int32),
        tree.level[is_word],
        tree.cpt[is_word],
        tuple(np.array(tree.names, object)[is_word].tolist()),
        words,
    )


def _learn_topics(rows: Table | Blocks, seed: Any, progress: Progress) -> TopicModel:
    """Learn topics, as many as a network needs or the documents have."""
    from tsenet.estimators.topic_model import TopicModel  # numba: a loaded model does without it

    n_topics = min(_N_TOPICS, rows.n_rows // _ROWS_OF_A_TOPIC)
    while True:
        n_asked = n_topics if n_topics >= _FEWEST_TOPICS else None
        model = TopicModel(n_topics=n_asked, random_state=seed, progress=progress)
        try:
            with warnings.catch_warnings():  # of what a reader of the topics should do better
                warnings.simplefilter("ignore", UserWarning)
                return model.fit(rows)
        except DataError:
            if n_asked is None:
                raise
            n_topics //= 2


def _check_columns(names: Sequence[str], sample: Table) -> None:
    """Refuse a tree over other columns than those of the rows."""
    if tuple(names) == tuple(sample.names):
        return
    if not sample.named and len(names) == sample.n_columns:
        return  # the columns of an array have no names
    known, found = set(names), set(sample.names)
    missing = [name for name in names if name not in found]
    unknown = [name for name in sample.names if name not in known]
    parts = [f"the rows lack its {listed(missing, 3)}"] * bool(missing)
    parts += [f"it lacks their {listed(unknown, 3)}"] * bool(unknown)
    raise DataError(
        f"the skeleton is a tree over {len(names):,} columns, which are not the {sample.n_columns:,} of the rows: "
        f"{'; '.join(parts) or 'they are in another order'}"
    )
