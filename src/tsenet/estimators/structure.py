"""The structure of a network: the tree it grows from and its wiring, learned with defaults that suit a table, or given.

The tree, or skeleton, is one that HLTA learns, the topics of texts, or one that is given.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tsenet.data.binary import BinaryRule
from tsenet.data.blocks import Blocks
from tsenet.data.mixed import MixedReader
from tsenet.data.table import Levels, Table
from tsenet.data.text import vectorizer_of_words
from tsenet.errors import DataError, listed
from tsenet.expansion.expand import expand
from tsenet.expansion.wiring import Wiring, WiringLayer
from tsenet.progress import Progress
from tsenet.skeleton.tree import LatentTree, node_marginals

if TYPE_CHECKING:
    from tsenet.estimators.topic_model import TopicModel

logger = logging.getLogger("tsenet")

#: The skeletons that are learned.
LEARNED = ("hlta", "topics")
# Topics of level 1 of skeleton="topics". In trials 300 wired a network better than 30 or 150; against HLTA's tree:
# docs/results/text.md.
_N_TOPICS = 300
# Of them, children of a topic of level 2, the top: the feature layer reads no other. With a third level of 20 topics 20
# Newsgroups loses a point, and a network without a linear skip 1.8 points in the mean of eight sets.
_CHILDREN = 4
_ROWS_OF_A_TOPIC = 10  # fewer documents have fewer topics
_FEWEST_TOPICS = 8  # where even so few cannot be learned, their number is left to the documents
# Units that read each column, if the user names no density. Sparse rows: fewer lose accuracy, more make any wiring as
# good as the learned one. Dense rows: in a small table the paper's density lets most units read two or three columns.
# Measurements: docs/decisions.md.
READERS_SPARSE = 8
READERS_DENSE = 4
MIN_DENSITY_DENSE = 0.05  # the paper's
MIN_DENSITY_SPARSE = 0.005
MAX_DENSITY_SPARSE = 0.2


class NetworkStructure(NamedTuple):
    """A tree (None if only the wiring is known), its wiring, and how a table's columns become its inputs."""

    tree: LatentTree | None
    wiring: Wiring
    rule: BinaryRule


def learn_structure(
    rows: Table | Blocks,
    *,
    tree: LatentTree | None = None,
    density: float | None,
    link_rule: Any,
    log_odds: bool = False,
    tree_seed: Any,
    wiring_seed: Any,
    n_jobs: int | None,
    progress: Progress,
    **tree_options: Any,
) -> NetworkStructure:
    """Learn a tree and expand it to a wiring (paper §3 and §4).

    Parameters
    ----------
    rows : Table or Blocks
    tree : LatentTree, optional
        A tree over the columns of the rows; by default one is learned.
    density : float or None
        As for :func:`tsenet.expand`; None for one that suits the table, see :func:`default_density`.
    link_rule : str or None
        As for :func:`tsenet.expand`; None for ``"context"`` on sparse rows and ``"balanced"`` on dense ones.
    log_odds : bool, default=False
        As for :func:`tsenet.expand`.
    tree_seed, wiring_seed : seeds
    n_jobs, progress
        As for :func:`tsenet.learn_tree`.
    **tree_options
        Other options of :func:`tsenet.learn_tree`. By default long documents are cut into pieces: the tree has fewer
        latents, and the network is trained faster with the same accuracy (docs/decisions.md).
    """
    from tsenet.skeleton.hlta import learn_tree  # numba: a loaded model does without it

    if tree is None:
        tree = learn_tree(
            rows,
            random_state=tree_seed,
            n_jobs=n_jobs,
            progress=progress,
            **{"piece_size": "auto", **tree_options},
        )

    if tree.n_levels == 0:
        logger.warning("no column of the table varies: there is no structure to learn")
        return NetworkStructure(tree, _one_unit_over_all(tree.names), tree.rule)

    wiring = expand(
        tree,
        rows,
        density=default_density(rows, tree) if density is None else density,
        link_rule=default_link_rule(rows) if link_rule is None else link_rule,
        log_odds=log_odds,
        random_state=wiring_seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    return NetworkStructure(tree, wiring, tree.rule)


def default_density(rows: Table | Blocks, tree: LatentTree) -> float:
    """The share of the layer below that a unit reads, if the user does not say.

    About eight units should read each column of sparse rows, however many units there are: fewer lose accuracy, more
    make any wiring as good as the learned one. Dense rows keep the paper's 0.05, but at least four latents read each
    column: in a small table most would read two or three columns. Measurements: docs/decisions.md.
    """
    n_latents = tree.layer_sizes[1]
    if not rows.is_sparse:
        return float(np.clip(READERS_DENSE / n_latents, MIN_DENSITY_DENSE, 1.0))
    return float(np.clip(READERS_SPARSE / n_latents, MIN_DENSITY_SPARSE, MAX_DENSITY_SPARSE))


def default_link_rule(rows: Table | Blocks) -> Literal["context", "balanced"]:
    """How links are chosen, if the user does not say (docs/decisions.md)."""
    return "context" if rows.is_sparse else "balanced"


def _one_unit_over_all(names: tuple[str, ...]) -> Wiring:
    """The wiring where no column varies: one unit over all inputs."""
    n_inputs = len(names)
    layer = WiringLayer(
        indptr=np.array([0, n_inputs]),
        indices=np.arange(n_inputs, dtype=np.int32),
        from_tree=np.zeros(n_inputs, bool),
        n_lower=n_inputs,
        log_odds=np.zeros(n_inputs, np.float32),
    )
    return Wiring((layer,), (names, ("Z1.0",)), "tree")


def structure_of_wiring(table: Table, wiring: Wiring) -> NetworkStructure:
    """Fit a given wiring to a table's columns: numbers are one input each, categories one per level it knows.

    Raises
    ------
    DataError
        If the wiring was made for other columns.
    """
    input_names = wiring.names[0]
    levels: list[Levels] = []
    n_matched = 0
    for j, (name, column_levels) in enumerate(zip(table.names, table.levels, strict=True)):
        first = input_names[n_matched] if n_matched < len(input_names) else ""
        if column_levels is None:
            # x3 is what a wiring calls the column 3 of a table without names
            is_numbered = first.split(" > ")[0] == f"x{j}"
            fits = is_numbered or first == name or first.startswith(f"{name} > ")
            levels.append(None)
            n_matched += 1
        else:
            prefix = f"{name}="
            fits = first.startswith(prefix)
            known_levels = []
            while n_matched < len(input_names) and input_names[n_matched].startswith(prefix):
                known_levels.append(input_names[n_matched].removeprefix(prefix))
                n_matched += 1
            levels.append(tuple(known_levels))

        if table.named and not fits:
            raise DataError(
                f"the wiring does not fit the table: {table.label(j)} does not match its input {first!r}"
            )

    if n_matched != len(input_names):
        raise DataError(
            f"the wiring has {len(input_names)} inputs, but the table gives {n_matched}: "
            f"{table.n_columns} columns, categories one input per level"
        )

    is_category = np.array([column_levels is not None for column_levels in levels])
    thresholds = np.where(is_category, np.nan, 0.0)
    rule = BinaryRule(table.names, thresholds, ~is_category, tuple(levels), table.named)
    return NetworkStructure(None, wiring, rule)


# ---- the tree


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
    with warnings.catch_warnings():  # that rows have no embeddings, which no network of words reads
        warnings.simplefilter("ignore", UserWarning)
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
    n_words = words.n_observed
    n_beside = groups.n_observed
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

    lowest = words.latent_names[:n_lowest]
    higher = words.latent_names[n_lowest:]
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
        levels = [n for n in (n_topics // _CHILDREN, n_topics) if n >= _FEWEST_TOPICS]
        model = TopicModel(levels=levels or None, random_state=seed, progress=progress)
        try:
            with warnings.catch_warnings():  # of what a reader of the topics should do better
                warnings.simplefilter("ignore", UserWarning)
                return model.fit(rows)
        except DataError:
            if not levels:
                raise
            n_topics //= 2


def _check_columns(names: Sequence[str], sample: Table) -> None:
    """Refuse a tree over other columns than those of the rows."""
    if tuple(names) == tuple(sample.names):
        return
    if not sample.named and len(names) == sample.n_columns:
        return  # the columns of an array have no names
    known = set(names)
    found = set(sample.names)
    missing = [name for name in names if name not in found]
    unknown = [name for name in sample.names if name not in known]
    parts = [f"the rows lack its {listed(missing, 3)}"] * bool(missing)
    parts += [f"it lacks their {listed(unknown, 3)}"] * bool(unknown)
    raise DataError(
        f"the skeleton is a tree over {len(names):,} columns, which are not the {sample.n_columns:,} of the rows: "
        f"{'; '.join(parts) or 'they are in another order'}"
    )
