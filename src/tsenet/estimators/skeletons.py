"""Which tree a network grows from: one that HLTA learns, the topics of texts, or one that is given."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from tsenet.data.blocks import Blocks
from tsenet.data.table import Table
from tsenet.data.text import vectorizer_of_words
from tsenet.errors import DataError, listed
from tsenet.progress import Progress
from tsenet.skeleton.tree import LatentTree

if TYPE_CHECKING:
    from tsenet.estimators.topic_model import TopicModel

#: The skeletons that are learned.
LEARNED = ("hlta", "topics")
# Topics of level 1 of skeleton="topics". On nine settings of eight text sets 300 wired the network better than HLTA's
# tree (mean +.8 points), 30 and 150 no better (docs/decisions.md).
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
