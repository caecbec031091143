"""Documents in, topics out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tsenet.data.rows import BinaryRows
from tsenet.data.table import Table
from tsenet.data.text import word_vectorizer
from tsenet.estimators import topic_facts
from tsenet.estimators.document_topics import DocumentTopics
from tsenet.estimators.outside_memory import UsesCluster, is_outside_memory, opened
from tsenet.estimators.parameters import check_parameters
from tsenet.estimators.texts import are_texts, fill_vectorizer, vectorizer_parts
from tsenet.estimators.topic_words import learn_words, seed_groups, topics_of_seeds
from tsenet.progress import as_progress
from tsenet.skeleton.hlta import learn_tree
from tsenet.skeleton.pieces import automatic_size, cut_into_pieces, size_for
from tsenet.skeleton.tree import LatentTree
from tsenet.store.files import arrays_under

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

__all__ = ["TopicModel"]

_TREE_OPTIONS = (
    *("max_island", "max_top", "ud_threshold", "correlation_test", "structure_samples"),
    *("refine_steps", "em_restarts", "piece_size", "leftovers", "full_depth"),
)
# Below this share of words in topics, fit() warns.
_FEW_GROUPED = 0.05


class TopicModel(UsesCluster, DocumentTopics):
    """A hierarchy of topics, learned from documents.

    A topic is a latent of the tree (:class:`tsenet.LatentTree`): it is on in some documents and makes its words more
    likely there. Topics of level 1 are directly above the words; each higher level groups topics that occur together.
    The number of topics is found, not given. The same ``random_state`` gives the same topics, on any number of
    threads.

    Parameters
    ----------
    n_words : int or None, default=10_000
        Size of the vocabulary; None keeps all words.
    stop_words : str, collection of str, or None, default="english"
        Words to leave out, as for :func:`tsenet.data.word_vectorizer`; None or "none" keeps all.
    min_documents : int, default=2
        Leave out words that occur in fewer documents.
    vectorizer : CountVectorizer or None, default=None
        Any other choice of words, such as n-grams: scikit-learn's own, or :func:`tsenet.data.word_vectorizer`. The
        three parameters above then have no effect.
    select : {"frequency", "tfidf"}, default="frequency"
        Which ``n_words`` words to keep, or ``max_features`` of the vectorizer: the most frequent ones, or those with
        the highest mean tf-idf, as in the HLTA papers (arXiv 1605.06650).
    seed_words : mapping of str to list of str, or list of lists of str, optional
        Guided topics: words that shall be in one topic of level 1, at least two for each. The keys of a mapping become
        the labels of these topics, which are always shown. The other topics are found as usual.
    top_words : int, default=10
        Most words that describe a topic.
    min_size : int or float, default=0.001
        Do not show topics that are present in fewer documents: a number of documents (int) or a share (float).
    min_coherence : float, default=0.05
        Do not show topics of level 1 whose words hardly occur together (NPMI within 10 words of text); −1 shows all.
    max_island : int, default=15
        Most words in a group.
    max_top : int, default=30
        Levels are added until one has at most so many topics.
    ud_threshold : float, default=3.0
        How much better two topics must be than one for a group to be split. Raise it for larger groups.
    correlation_test : bool, default=True
        Let a word join a group only if they correlate significantly.
    structure_samples : int or None, default=None
        Learn the structure from so many documents, drawn at random; None takes all.
    refine_steps : int, default=100
        Steps of stepwise EM over all parameters at the end.
    em_restarts : int, default=3
        Starts of each local EM.
    piece_size : int, None or "auto", default="auto"
        Cut longer documents into pieces of at most this many words, from which the tree is learned. None or 0 learns
        from whole documents; "auto" cuts where lengths vary widely.
    leftovers : {"auto", "leave", "attach"}, default="auto"
        Whether words without a significant tie to a group stay in none or are attached to the closest one.
    full_depth : bool or "auto", default="auto"
        Whether to add levels down to ``max_top`` even if their topics are hardly correlated.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        Seed.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result does not depend on it.
    progress : bool, callable, Progress or None, default=None
        Whether to show progress.
    client : distributed.Client, str or None, default=None
        Dask cluster, or the address of its scheduler, whose workers do the passes over the data if :meth:`fit` is given
        a folder of shards or a Dask collection. Copies share it; files and pickles do not hold it.

    Attributes
    ----------
    tree_ : LatentTree
        The model itself, with all topics, also those that are not shown.
    topics_ : pandas.DataFrame
        The topics shown, one in each row: id, level, parent, label, words, size, coherence, documents. The size is the
        share of the documents in which the topic is *present*: it is more likely on than off, and at least one of the
        words below it occurs.
    vocabulary_ : tuple of str
        The words.
    ungrouped_ : tuple of str
        The words in no topic shown, most frequent first: most of them have no significant tie to any group.
    vectorizer_ : CountVectorizer or None
        The fitted vectorizer that counts the words of texts; None if ``fit`` was given a table.
    n_documents_ : int
        Documents seen.

    See Also
    --------
    tsenet.learn_tree : Learns the tree.
    tsenet.explain.topic_tree : Describes the topics of any tree.

    Examples
    --------
    >>> import numpy as np
    >>> from tsenet import TopicModel
    >>> rng = np.random.default_rng(0)
    >>> subjects = ["goal team referee", "orbit moon rocket", "senate ballot voters"]
    >>> texts = [
    ...     " ".join(word for word in subjects[i % 3].split() if rng.random() < 0.8)
    ...     for i in range(300)
    ... ]
    >>> model = TopicModel(random_state=0).fit(texts)
    >>> sorted(" ".join(sorted(word for word, _ in words)) for words in model.topics_["words"])
    ['ballot senate voters', 'goal referee team', 'moon orbit rocket']
    >>> model.topics_of("the moon and the orbit")["label"].tolist() == [
    ...     label for label in model.topics_["label"] if "moon" in label
    ... ]
    True
    """

    _piece_size: int | None  # words of the pieces that the tree was learned from
    _n_pieces: int

    def __init__(
        self,
        *,
        n_words: int | None = 10_000,
        stop_words: Any = "english",
        min_documents: int = 2,
        vectorizer: CountVectorizer | None = None,
        select: Literal["frequency", "tfidf"] = "frequency",
        seed_words: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None = None,
        top_words: int = 10,
        min_size: float = 0.001,
        min_coherence: float = 0.05,
        max_island: int = 15,
        max_top: int = 30,
        ud_threshold: float = 3.0,
        correlation_test: bool = True,
        structure_samples: int | None = None,
        refine_steps: int = 100,
        em_restarts: int = 3,
        piece_size: int | Literal["auto"] | None = "auto",
        leftovers: Literal["auto", "leave", "attach"] = "auto",
        full_depth: bool | Literal["auto"] = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
        client: Any = None,
    ) -> None:
        self.n_words = n_words
        self.stop_words = stop_words
        self.min_documents = min_documents
        self.vectorizer = vectorizer
        self.select = select
        self.seed_words = seed_words
        self.top_words = top_words
        self.min_size = min_size
        self.min_coherence = min_coherence
        self.max_island = max_island
        self.max_top = max_top
        self.ud_threshold = ud_threshold
        self.correlation_test = correlation_test
        self.structure_samples = structure_samples
        self.refine_steps = refine_steps
        self.em_restarts = em_restarts
        self.piece_size = piece_size
        self.leftovers = leftovers
        self.full_depth = full_depth
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.client = client

    # ---- learning

    def fit(self, texts: Any, y: Any = None) -> Self:
        """Learn the topics of documents.

        Parameters
        ----------
        texts : sequence of str, Documents, table, or a folder of shards
            The documents; or a sparse table of word counts whose columns have names (a :class:`tsenet.Table`). Of a
            folder that need not fit into memory (path, URL, ``ShardFolder`` or :class:`tsenet.scale.Shards`), the
            topics are learned from all documents and described by 20,000 of them, drawn at random.
        y : ignored

        Returns
        -------
        TopicModel
            The model itself.

        Raises
        ------
        DataError
            If there are no documents, or no words remain, or seed words cannot form a topic.
        """
        check_parameters(self.get_params(deep=False))
        if is_outside_memory(texts):
            with opened(self, texts) as shards, as_progress(self.progress) as report:
                described = shards.drawn_documents(self.random_state, report)
                self.vectorizer_ = shards.folder.vectorizer()
                return self.fit_counts(described, data=shards)
        texts = list(texts) if isinstance(texts, Iterator) else texts
        self.vectorizer_, table = learn_words(
            texts, self._new_vectorizer(), self.select, self.progress
        )
        return self.fit_counts(table, texts if are_texts(texts) else None)

    def _new_vectorizer(self) -> CountVectorizer:
        """The vectorizer that the parameters describe."""
        if self.vectorizer is not None:
            return self.vectorizer
        return word_vectorizer(
            n_words=self.n_words, stop_words=self.stop_words, min_documents=self.min_documents
        )

    def fit_counts(
        self,
        table: Table,
        texts: Any = None,
        *,
        data: Any = None,
    ) -> Self:
        """Learn the topics of documents whose words are counted by ``vectorizer_``, which has to be set.

        Parameters
        ----------
        table : Table
            The counts.
        texts : sequence of str, optional
            The documents, for the coherence of the topics; without them it is of whole documents.
        data : Shards, optional
            All documents, from which the tree is learned. ``table`` is then a part of them that fits into memory,
            from which the topics are described: sizes, coherence and typical documents.

        Returns
        -------
        TopicModel
            The model itself.
        """
        check_parameters(self.get_params(deep=False))
        seeds = seed_groups(self.seed_words, table.names)
        options = {name: getattr(self, name) for name in _TREE_OPTIONS}
        if data is not None:
            options["structure_samples"] = data.structure_rows(self.structure_samples)
        self.tree_ = learn_tree(
            table if data is None else data,
            **options,
            seed_groups=[group for _, group in seeds],
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        rows = self.tree_.binary(table)
        is_bag = table.is_sparse and self.correlation_test
        size = (
            None
            if self.piece_size == 0 or (self.piece_size == "auto" and not is_bag)
            else self.piece_size
        )
        self._piece_size, self._n_pieces = _size_and_number_of_pieces(size, rows, data)
        self.n_documents_ = rows.n_rows if data is None else data.n_rows
        self._warn_of_unused_words()
        self._labels, self._seeded = topics_of_seeds(self.tree_, seeds, table.names)
        self._selection = None
        self._rows = rows
        self._probabilities = None
        probabilities = self._probabilities_of(None)
        self._facts = topic_facts.Facts.of(self.tree_, rows, probabilities, self.n_jobs)
        self._measure(table, texts)
        self._forget()
        return self

    def _warn_of_unused_words(self) -> None:
        """Warn if nearly all words are in no group, as with few documents."""
        n_words, n_unused = self.tree_.n_observed, len(self.tree_.ungrouped)
        if n_words - n_unused < _FEW_GROUPED * n_words:
            warnings.warn(
                f"only {n_words - n_unused:,} of {n_words:,} words are in a topic; the others have no significant tie "
                f"to any word in these {self.n_documents_:,} documents. More documents give more topics; a smaller "
                "vocabulary (n_words, min_documents) leaves out words that are too rare to tell",
                stacklevel=4,  # where fit() was called
            )

    def partial_fit(self, texts: Any, y: Any = None) -> Self:
        """Update the probabilities with new documents; vocabulary and topics stay.

        Each document weighs as much as each document before. Sizes follow; coherence and the typical documents stay
        those of ``fit``.

        Parameters
        ----------
        texts : sequence of str, Documents, or table
            The new documents. A model that is not fitted yet is fitted on them.
        y : ignored

        Returns
        -------
        TopicModel
            The model itself.
        """
        if not hasattr(self, "tree_"):
            return self.fit(texts)
        from tsenet.skeleton.update import update_tree

        rows = self.tree_.binary(self._table(texts))
        self.tree_, self._n_pieces = update_tree(
            self.tree_,
            rows,
            n_seen=self._n_pieces,
            piece_size=self._piece_size,
            n_jobs=self.n_jobs,
        )
        new = topic_facts.Facts.of(self.tree_, rows, None, self.n_jobs)
        weight = rows.n_rows / max(1, self.n_documents_ + rows.n_rows)
        self._facts = self._facts.mixed_with(new.presence, weight)
        self.n_documents_ += rows.n_rows
        self._probabilities = None
        if self._rows is not None:
            self._rows = BinaryRows.concatenate([self._rows, rows])
        self._forget()
        return self

    # ---- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a ``.tsenet`` file, which :func:`tsenet.load` reads. The file holds no documents.

        Parameters
        ----------
        path : path
            The file; an existing one is replaced.
        """
        from tsenet.store import save

        save(self, path)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form: parameters, tree, words, labels and the description of the topics."""
        check_is_fitted(self, "tree_")
        tree, arrays = self.tree_.to_parts()
        params = topic_facts.plain_parameters(self.get_params(deep=False))
        del params["client"]
        meta = {
            # How it was run is no part of the model: the same topics are the same file.
            "params": {**params, "n_jobs": None, "progress": None},
            "tree": tree,
            **vectorizer_parts(self, self.vocabulary_),
            "labels": dict(self._labels),
            "seeded": list(self._seeded),
            "selection": None if self._selection is None else list(self._selection),
            "n_documents": int(self.n_documents_),
            "n_pieces": int(self._n_pieces),
            "piece_size": self._piece_size,
        }
        arrays = {f"tree.{name}": array for name, array in arrays.items()}
        return meta, {**arrays, **self._facts.to_arrays()}

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild a model from :meth:`to_parts`."""
        model = cls(**meta["params"])
        check_parameters(model.get_params(deep=False))
        tree = model.tree_ = LatentTree.from_parts(meta["tree"], arrays_under("tree", arrays))
        fill_vectorizer(model, meta, model.vocabulary_)
        chosen = meta["selection"]
        model._labels = {str(name): str(label) for name, label in meta["labels"].items()}
        model._seeded = tuple(meta["seeded"])
        model._selection = None if chosen is None else tuple(chosen)
        model.n_documents_ = int(meta["n_documents"])
        model._n_pieces = int(meta["n_pieces"])
        model._piece_size = meta["piece_size"]
        model._rows = model._probabilities = None
        model._facts = topic_facts.Facts.from_arrays(arrays, tree)
        unknown = {*model._labels, *model._seeded, *(model._selection or ())} - set(
            tree.latent_names
        )
        if unknown:
            raise ValueError(f"there is no topic {sorted(unknown)[0]!r}")
        return model


def _size_and_number_of_pieces(
    size: int | Literal["auto"] | None, rows: BinaryRows, data: Any
) -> tuple[int | None, int]:
    """The pieces of documents that :func:`learn_tree` learned from: ``data``, or the rows if it is None."""
    if data is None:
        size = automatic_size(rows) if size == "auto" else size
        return size, cut_into_pieces(rows, size, 0).n_rows
    size = size_for(data.lengths(), data.n_columns) if size == "auto" else size
    return size, data.pieces(size, 0).n_rows
