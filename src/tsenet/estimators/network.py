"""How a network is fitted: its parameters, the rows it reads, the structure, the training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils._param_validation import Interval, StrOptions

from tsenet._system.seeds import seed_sequence
from tsenet.data.blocks import folder_of, in_blocks, is_outside_memory
from tsenet.data.mixed import MixedReader, split_frame
from tsenet.data.order import canonical_order, duplicate_groups, repeats_of
from tsenet.data.scaling import Scaling, Weighting
from tsenet.data.table import Table
from tsenet.data.text import are_texts, as_counts, count_words, vectorize, word_vectorizer
from tsenet.errors import DataError, need_torch
from tsenet.estimators.base import (
    NON_NEGATIVE,
    POSITIVE,
    THREADS,
    TREE_CONSTRAINTS,
    check_columns,
    keep_columns,
)
from tsenet.estimators.checked_rows import (
    CheckedRows,
    check_length,
    checked_embeddings,
    checked_weights,
    labels_of,
)
from tsenet.estimators.fitted_network import FittedNetwork
from tsenet.estimators.structure import (
    check_skeleton,
    learn_structure,
    mixed_tree,
    parts_of,
    structure_of_wiring,
    tree_of_skeleton,
    word_counter,
)
from tsenet.expansion.expand import LinkRule
from tsenet.expansion.wiring import Wiring
from tsenet.network.inputs import Inputs
from tsenet.network.topology import Activation
from tsenet.progress import Progress, as_progress
from tsenet.skeleton.tree import LatentTree
from tsenet.training.examples import Examples
from tsenet.training.scores import cross_validated_score, score_of
from tsenet.training.targets import (
    ParsedTargets,
    is_known,
    learn_targets,
    read_targets,
    warn_if_marker,
    warn_of_quantity,
)

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

    from tsenet.estimators.topic_model import TopicModel
    from tsenet.training.recipe import Recipe, RunSeeds, TrainedNetwork

_EPOCHS_BETWEEN, _LAST_EPOCHS = 2, 10  # between the rounds of pruning, and after the last
_IMPORTANCE_ROWS = 200  # from which the importances of columns are computed
_PAPERS_TREE = {
    "correlation_test": False,
    "structure_samples": 10_000,
    "ties": "any",
    "piece_size": None,
}
_MANY_TEXTS = 10_000  # from this many texts on, words that occur in only one are left out


class TSENetEstimator(FittedNetwork):
    """An estimator whose network has the structure of its data; the base of classifier and regressor."""

    _parameter_constraints = {  # noqa: RUF012
        "skeleton": "no_validation",  # check_skeleton knows more than types
        "density": [Interval(Real, 0, 1, closed="right"), None],
        "link_rule": [StrOptions(set(get_args(LinkRule))), None],
        "max_top": [POSITIVE],
        "tree_options": [dict, None],
        "weighting": [StrOptions(set(get_args(Weighting)))],
        "skip_units": [NON_NEGATIVE, None],
        "feature_units": [POSITIVE],
        "dropout": [Interval(Real, 0, 1, closed="left"), None],
        "units_per_latent": [POSITIVE, None],
        "linear_skip": ["boolean", StrOptions({"auto"})],
        "skip_dropout": [Interval(Real, 0, 1, closed="left")],
        "activation": [StrOptions(set(get_args(Activation)))],
        "init": [StrOptions({"principal", "log-odds", "random"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "batch_size": [POSITIVE, None],
        "max_epochs": [POSITIVE, None],
        "text": [str, None],
        "wiring": [Wiring, None],
        "device": [str],
        "n_jobs": THREADS,
    }

    def __init__(
        self,
        *,
        skeleton: Literal["hlta", "topics"] | TopicModel | LatentTree | None = None,
        density: float | None = None,
        link_rule: LinkRule | None = None,
        max_top: int = 500,
        tree_options: dict[str, Any] | None = None,
        weighting: Weighting = "tfidf",
        skip_units: int | None = None,
        feature_units: int = 100,
        dropout: float | None = None,
        units_per_latent: int | None = None,
        linear_skip: bool | Literal["auto"] = "auto",
        skip_dropout: float = 0.0,
        activation: Activation = "relu",
        init: Literal["principal", "log-odds", "random"] = "principal",
        learning_rate: float | None = None,
        batch_size: int | None = None,
        max_epochs: int | None = None,
        class_weight: Any = None,
        unlabeled: Any = None,
        vectorizer: CountVectorizer | None = None,
        text: str | None = None,
        wiring: Wiring | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: Any = None,
    ) -> None:
        """Set the parameters; ``fit`` checks them.

        Parameters
        ----------
        skeleton : {"hlta", "topics"}, TopicModel, LatentTree or None, default=None
            The tree that the network grows from. ``"hlta"``: a latent tree of the columns, as in the paper.
            ``"topics"``: a hierarchy of topics with up to 300 on its lowest level, for texts and counts of words. A
            fitted :class:`tsenet.TopicModel`: its topics, as they were merged, renamed or seeded; texts are then
            counted by its words. A :class:`tsenet.LatentTree`: any other tree over the columns. Topics become units
            that are called by their titles. None: ``"hlta"``.
        density : float or None, default=None
            Links of a unit, as a share of the layer below. None: for sparse rows, the share at which about eight
            latents read each column; for dense rows 0.05, or more if fewer than four latents would read each column.
            Lower it for a smaller, faster network.
        link_rule : {"balanced", "context", "top-k", "informative", "random", "tree"} or None, default=None
            How links are added to the tree; see :func:`tsenet.expand`. None: ``"context"`` for sparse rows,
            ``"balanced"`` for dense ones. ``"top-k"`` is the paper's rule, ``"informative"`` that of :meth:`informed`,
            ``"random"`` a control, ``"tree"`` adds none.
        max_top : int, default=500
            Levels are added until one has at most this many latents. Lower it for a deeper network. It has no effect on
            other skeletons than ``"hlta"``; nor have ``tree_options``.
        tree_options : dict or None, default=None
            Other options of :func:`tsenet.learn_tree`, such as ``{"structure_samples": 10_000}`` where structure
            learning is slow, ``{"max_island": 30}`` for larger groups of columns, or ``{"correlation_test": False}``,
            the paper's rule.
        weighting : {"tfidf", "log-counts", "counts"}, default="tfidf"
            How counts in sparse rows, such as word counts, are weighted: tf-idf, in which English stop words have half
            their weight; 1 + ln count; or not at all, the paper's bag of words. Rows of the first two are scaled to
            length 1. It has no effect on other tables.
        skip_units : int or None, default=None
            Feature units that read each layer below the top, including the input. None: 100 with ``init="random"``;
            for texts without a linear skip, 32 that read each level but not the input; else 0. 0, together with
            ``linear_skip=False``, is the paper's Backbone.
        feature_units : int, default=100
            Feature units that read the top layer. Lower it for a smaller network.
        dropout : float or None, default=None
            Share of the units dropped in each training step. None: 0.3 for sparse rows, 0.1 for dense rows, 0.2 for
            dense rows with 100 or more latents. Raise it if the network overfits.
        units_per_latent : int or None, default=None
            Units of each latent. None: 2 for sparse rows; 8 for dense rows, more if the first level would have fewer
            than 128 units, fewer if it would have more than 2,048. The paper has 1.
        linear_skip : bool or "auto", default="auto"
            Linear skip from the input to the outputs: predictions are a blend of the network and a linear model, as in
            wide-and-deep networks. False: the network alone. ``"auto"``: the blend, unless all rows are labelled and
            it does not clearly help on held-out rows.
        skip_dropout : float, default=0.0
            Share of the training steps in which all skip units give 0, so that the backbone learns to do without them.
        activation : {"relu", "tanh", "sigmoid"}, default="relu"
            The non-linearity of all hidden units. The paper names all three and uses ReLU, which trains fastest.
        init : {"principal", "log-odds", "random"}, default="principal"
            Initial weights, and how the network is trained. ``"principal"``: each unit starts along a principal
            direction of the columns or units that it reads; the network learns from the labelled rows and, on the
            others, from the predictions of a linear teacher. ``"random"``: random weights, trained only on labelled
            rows with early stopping, as in the paper. ``"log-odds"``: trained in the same way, but each unit starts as
            the probability of its latent, see :meth:`informed`. A given ``wiring`` then needs log-odds.
        learning_rate : float or None, default=None
            Adam's learning rate. None: 1e-3, or 3e-3 with ``init="principal"``, where it falls to 0 during training.
        batch_size : int or None, default=None
            Rows per step. None: 512 for sparse rows, 128 for dense rows, 256 with ``init="random"``; fewer for small
            tables. Raise it on a GPU.
        max_epochs : int or None, default=None
            Maximum number of passes over the training rows. None: depends on the number of rows, usually 15 to 20 and
            more for small tables; 100 with ``init="random"``. Training stops earlier, when held-out rows show no
            progress for at least five epochs, with ``init="random"`` and on sparse rows that are all labelled.
        class_weight : dict, list of dict, "balanced" or None, default=None
            Classifier only: weights of the classes in the loss. For multi-label targets: one dict of the weights of 0
            and 1 for all labels, or one dict per label.
        unlabeled : default=None
            A value in ``y`` that marks rows without a target, such as −1, scikit-learn's convention. None, NaN,
            ``pandas.NA`` and blank text always mark them.
        vectorizer : CountVectorizer or None, default=None
            How texts become counts of words; no effect on tables. None: the 10,000 most frequent words, in any script
            (:func:`tsenet.data.word_vectorizer`); from 10,000 texts on, words that occur in only one are left out.
            Pass scikit-learn's ``CountVectorizer`` for other words, such as ``CountVectorizer(ngram_range=(1, 2))``.
            It is saved with the model, unless it contains your own functions: such a model cannot be saved.
        text : str or None, default=None
            The column of a data frame that holds texts; the others are numbers and categories that predictions read
            too. Numbers are cut at their deciles. None: rows are texts, or tables without texts.
        wiring : Wiring or None, default=None
            A wiring to use instead of learning one, from :func:`tsenet.expand` or another model's ``wiring_``: one
            structure serves every fold, seed and target.
        device : str, default="auto"
            Torch device for training. ``"auto"``: a GPU if there is one, else the CPU.
        n_jobs : int or None, default=None
            Threads; None for all cores. The result does not depend on it.
        random_state : int, Generator, RandomState, SeedSequence or None, default=None
            Seed. The same int gives the same model.
        progress : bool, callable, Progress or None, default=None
            Whether to show progress; a callable gets ``(stage, done, total)``.
        """
        self.skeleton = skeleton
        self.density = density
        self.link_rule = link_rule
        self.max_top = max_top
        self.tree_options = tree_options
        self.weighting = weighting
        self.skip_units = skip_units
        self.feature_units = feature_units
        self.dropout = dropout
        self.units_per_latent = units_per_latent
        self.linear_skip = linear_skip
        self.skip_dropout = skip_dropout
        self.activation = activation
        self.init = init
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.vectorizer = vectorizer
        self.text = text
        self.wiring = wiring
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def __sklearn_clone__(self) -> Self:
        """A copy that is not fitted; a fitted TopicModel given as skeleton is a value of it, and stays fitted."""
        copy: Self = super().__sklearn_clone__()
        copy.skeleton = self.skeleton
        return copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The paper's own recipe: raw word counts, groups without a correlation test, top-k links, plain weights.

        Of texts, English stop words are dropped and the 10,000 most frequent other words counted. The tree has at most
        500 latents on top; each layer is completed in its linked model. Each unit reads 5 % of the layer below; a
        latent is one rectified unit, with dropout 0.5, trained by Adam. There is no linear skip, and rows without a
        label serve the structure alone. ``paper(skip_units=0)`` is the paper's Backbone. The paper trains one network
        for each of Tox21's tasks: give ``fit`` one column of labels at a time. Where each statement of the paper is:
        docs/method/paper.md. How the defaults differ: docs/results/paper.md.

        What the paper leaves open, and what is taken here:

        - δ of the test is 3, which it calls usual, and a group has at most 15 variables (PEM-HLTA's limit);
        - progressive EM adds 1 to each count, as the authors' program does;
        - a variable is tested from the fourth of a group on, as in PEM-HLTA;
        - the structure is learned from at most 10,000 rows ("a subset"), the links from all;
        - dense columns become binary by a threshold each, chosen by :class:`tsenet.BinaryRule`;
        - 100 feature units read the top layer and each layer below ("a small number"): its Table 3 implies it, since
          TSE-Net has 1.11 to 1.13 million parameters more than the Backbone, about 100 for each of the 10,000 words
          and 1,080 to 1,320 latents;
        - first weights by He's rule, Adam's rate 0.001, batches of 256 rows (fewer of small tables);
        - a tenth of the labelled rows is held out; training stops after five epochs without progress there, at least
          200 steps, and at the latest after 100. ``cv_score_`` is the score on these rows;
        - the list of stop words, and what a word is: :func:`tsenet.data.word_vectorizer`.

        Parameters
        ----------
        **changes
            Other parameters, or other values of these.
        """
        recipe: dict[str, Any] = {
            "vectorizer": word_vectorizer(stop_words="english"),
            "skeleton": "hlta",
            "density": 0.05,
            "link_rule": "top-k",
            "max_top": 500,
            "tree_options": {**_PAPERS_TREE, "completion": "layer"},
            "weighting": "counts",
            "skip_units": 100,
            "feature_units": 100,
            "units_per_latent": 1,
            "dropout": 0.5,
            "linear_skip": False,
            "init": "random",
            "learning_rate": 1e-3,
        }
        return cls(**{**recipe, **changes})

    @classmethod
    def informed(cls, **changes: Any) -> Self:
        """The paper's network, started as the probability that each unit stands for.

        The paper defines a unit as p(h|x), the probability of its latent given the units that it is linked to, and then
        trains from random weights. Here each unit starts there: what the tree knows of all rows, labelled or not, is
        not thrown away. With few labels this makes the difference (docs/guide/few-labels.md).

        As :meth:`paper`, but for these choices:

        - ``weighting="log-counts"``: a count becomes 1 + ln count, and rows are scaled to length 1, so that long
          documents are no louder than short ones;
        - ``completion="island"``, which finds planted trees better (docs/method/paper.md);
        - ``link_rule="informative"`` and ``density=0.02``: each unit reads 2 % of the layer below, the units with the
          most information relative to their entropy, positively associated ones first;
        - ``init="log-odds"``: the first weight of a link is the log-odds of the lower unit given the upper one, counted
          in the completed rows; then each unit is scaled to mean 0 and deviation 1;
        - ``skip_units=10``: the skip groups are narrow, and ``skip_dropout=0.5``: they are off in half of the steps;
        - with fewer than 3,000 labels none is held out: the network takes 800 steps on all of them.

        The log-odds are part of the wiring, so one structure with its weights serves every task:
        ``TSENetClassifier.informed(wiring=other.learned_wiring_)``.

        Parameters
        ----------
        **changes
            Other parameters, or other values of these.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from tsenet import TSENetClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> first = TSENetClassifier.informed(random_state=0, max_epochs=5).fit(X, y)
        >>> is_even = TSENetClassifier.informed(wiring=first.learned_wiring_, max_epochs=5)
        >>> is_even.fit(X[:200], y[:200] % 2 == 0).classes_
        array([False,  True])
        """
        recipe: dict[str, Any] = {
            "tree_options": _PAPERS_TREE,
            "weighting": "log-counts",
            "density": 0.02,
            "link_rule": "informative",
            "init": "log-odds",
            "skip_units": 10,
            "skip_dropout": 0.5,
        }
        return cls.paper(**{**recipe, **changes})

    # ---- reading

    def _check_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        report: Progress,
        *,
        reset: bool,
        classes: Any = None,
        embeddings: Any = None,
    ) -> CheckedRows:
        """Check the user's rows; repeat them by whole weights; put them in the canonical order.

        With ``reset``, the names of the columns and the kind of targets are learned from these rows.
        """
        X = self._count_words(X, report) if reset else as_counts(X, self.reader_)
        known = None if reset else getattr(self, "feature_names_in_", None)
        table = Table.of(X, columns=known)
        name = type(self).__name__
        if y is None:
            raise DataError(f"{name} requires y to be passed, but the target y is None")

        if reset:
            keep_columns(self, table.names, table.named)
        else:
            check_columns(self, table)

        given = self._read_targets(y)
        check_length("y", given.values, table.n_rows)
        if table.n_rows < 2 and reset:
            raise DataError(f"{name} needs at least two rows, got n_samples = {table.n_rows}")
        vectors = weights = None
        if embeddings is not None:
            vectors = checked_embeddings(embeddings, table.n_rows)

        if sample_weight is not None:
            weights = checked_weights(sample_weight, table.n_rows)
            repeated = repeats_of(weights)
            chosen = np.flatnonzero(weights) if repeated is None else repeated
            weights = weights[chosen] if repeated is None else None
            table, given = table.take(chosen), given.take(chosen)
            vectors = None if vectors is None else vectors[chosen]

        targets = self._learn_targets(given, classes) if reset else self.targets_.encode(given)
        order = canonical_order(table.values, targets, *(() if weights is None else (weights,)))
        weights = None if weights is None else weights[order]
        vectors = None if vectors is None else vectors[order]
        return CheckedRows(table.take(order), targets[order], weights, vectors)

    def _count_words(self, X: Any, report: Progress) -> Any:
        """The word counts of texts, whose vocabulary is learned; anything else as it is."""
        X = list(X) if isinstance(X, Iterator) else X
        if isinstance(X, list | tuple) and not X:
            raise DataError("X is empty: there are no rows and no texts")
        self.vectorizer_ = self._mixed = None
        counter = word_counter(self.skeleton, self.vectorizer)
        if self.text is not None:
            given = split_frame(X, self.text)
            if counter is None:
                counter = self._new_vectorizer(given.n_rows)
            self._mixed, table = MixedReader.learn(given, self.text, counter, report)
            self.vectorizer_ = counter
            return table

        if not are_texts(X):
            return X

        if counter is not None:
            self.vectorizer_ = counter
            table = count_words(X, counter)
            if not table.values.nnz:
                raise DataError("the texts have none of the words of the skeleton")
            return table

        self.vectorizer_ = self._new_vectorizer(len(X))
        return vectorize(X, self.vectorizer_, progress=report)

    def _new_vectorizer(self, n_texts: int) -> CountVectorizer:
        """An unfitted vectorizer for this number of texts."""
        if self.vectorizer is not None:
            return clone(self.vectorizer, safe=False)
        return word_vectorizer(min_documents=1 if n_texts < _MANY_TEXTS else 2)

    def _learn_scaling(self, table: Table) -> None:
        """Learn how the network's inputs are scaled."""
        if self._mixed is None:
            self.scaling_ = Scaling.learn(table, self.weighting)
            return
        words, beside = parts_of(table, self._mixed.n_words)
        if self.weighting == "counts":
            self.scaling_ = Scaling.learn(words, "counts")
            return
        n_on = beside.values.nnz / beside.n_rows
        n_with = np.bincount(words.values.indices, minlength=words.n_columns)
        scaling = Scaling.of_counts(table.n_rows, n_with, words.names, self.weighting)
        scaling = scaling.with_columns_beside(beside.n_columns, n_on)
        self.scaling_ = scaling

    def _read_targets(self, y: Any) -> ParsedTargets:
        """Check targets; those missing, or marked by the parameter ``unlabeled``, are not known."""
        return read_targets(y, is_classifier(self), self.unlabeled)

    def _learn_targets(self, given: ParsedTargets, classes: Any = None) -> NDArray[Any]:
        """Learn what the targets are, and encode them."""
        self.targets_: Any = learn_targets(given, is_classifier(self), classes)
        if is_classifier(self):
            warn_of_quantity(given)
            if self.unlabeled is None:
                warn_if_marker(given)
        return self.targets_.encode(given)

    def _labelled(self, checked: CheckedRows) -> Examples:
        """The rows with a target, and all rows as the network reads them."""
        table = checked.table
        if table.is_sparse and self.scaling_.centres:
            raise DataError("the network was first fitted on dense rows: continue with dense ones")
        rows = np.flatnonzero(is_known(checked.targets))
        if not rows.size:
            raise DataError("no row has a label to train on")
        targets, weights = checked.targets[rows], checked.weights
        weights = None if weights is None else weights[rows]
        of_class = self.targets_.class_weights(targets, self.class_weight)
        if weights is None or of_class is None:
            weights = of_class if weights is None else weights
        else:
            weights = weights.reshape(-1, *[1] * (of_class.ndim - 1)) * of_class

        inputs = Inputs.of(self.scaling_.apply(table), self.binary_rule_)
        return Examples(inputs, rows, targets, weights, duplicate_groups(table.values)[rows])

    def _recipe(self) -> Recipe:
        """The parameters of training, checked."""
        from tsenet.training.recipe import Recipe

        self._validate_params()
        check_skeleton(self.skeleton, self.wiring)
        return Recipe(**{field.name: getattr(self, field.name) for field in fields(Recipe)})

    # ---- learning

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        embeddings: Any = None,
        inputs: Literal["words", "both"] = "words",
        eval_set: Any = None,
        eval_metric: Any = None,
    ) -> Self:
        """Learn the structure from ``X`` alone, then fit the network to ``X`` and ``y``.

        Parameters
        ----------
        X : array, sparse matrix, dataframe, list of rows or Table, (N, V); or N texts; or a folder
            The words of texts are counted by ``vectorizer``; the model keeps the fitted one (``vectorizer_``), so that
            it predicts texts too. A folder of shards (path, ``ShardFolder`` or
            :class:`tsenet.data.Blocks`) or a Dask array or dataframe need not fit into memory: the structure is
            learned from all rows, on a cluster with ``Blocks(X, client=client)``. The network is trained in this
            process on a stream of the rows that have a label, without the linear teacher.
        y : array-like, (N,) or (N, C); for a folder also the names of its label columns
            None, NaN, ``pandas.NA`` and blank text are unknown targets, as is a classifier's ``unlabeled``. Structure
            and first weights are learned from rows without a known target too. Default for a folder: its label column.
        sample_weight : array-like (N,), default=None
            Whole numbers count as repetitions of a row, as long as the rows do not become more than tenfold.
            Other weights count in the loss; the structure then takes all rows alike. 0 removes a row.
        embeddings : array-like (N, d), default=None
            Vectors of the rows from a pretrained encoder, such as :func:`tsenet.data.embed`. They are used while
            learning only: the linear teacher reads them too, so it teaches the network more about the rows without a
            target. Predictions need none. They have no effect where every row has a target.
        inputs : {"words", "both"}, default="words"
            What predictions read. ``"both"``: the embeddings of their rows too, so :meth:`predict` and others need
            ``embeddings``. The teacher's linear model of the embeddings is then added to the network's outputs.
        eval_set : tuple (X, y), default=None
            Rows to score the network on after each epoch; ``history_`` holds the scores. The weights of the best epoch
            are kept, and with ``init="random"`` these rows tell when to stop, in place of a part of the others.
        eval_metric : str or callable, default=None
            Score of validation rows. ``"accuracy"`` or ``"auc"``; for a regressor ``"r2"``, ``"mae"`` or ``"rmse"``,
            the last two with a minus sign; or a function of the true targets and of the probabilities or values
            predicted, higher is better. None: minus the loss.

        Returns
        -------
        self
        """
        need_torch("training")
        from tsenet.training.recipe import NetworkFit

        recipe = self._recipe()
        if inputs not in ("words", "both") or (inputs == "both" and embeddings is None):
            raise DataError(
                f'inputs must be "words", or "both" together with embeddings, not {inputs!r}'
            )

        if is_outside_memory(X):
            if not all(each is None for each in (sample_weight, embeddings, eval_set, eval_metric)):
                raise DataError(
                    "sample_weight, embeddings, eval_set and eval_metric are not supported for a folder: load the "
                    "rows, or leave them out"
                )
            return self._fit_folder(X, y, recipe)

        with as_progress(self.progress) as report:
            checked = self._check_rows(
                X, y, sample_weight, report, reset=True, embeddings=embeddings
            )
            others = None if eval_set is None else self._check_eval_set(eval_set, report)
            score = score_of(eval_metric, self.targets_)
            seed = seed_sequence(self.random_state)
            self._learn_structure(checked.table, checked.table, seed, report)
            self._learn_scaling(checked.table)
            labelled = self._labelled(checked)
            trained = NetworkFit(
                self.targets_.loss,
                recipe,
                self._next_seeds(seed),
                report,
                labelled,
                self.wiring_,
                embeddings=checked.embeddings,
                keep_embeddings=inputs == "both",
                validation=None if others is None else self._labelled(others),
                score=score,
            ).run()
            self._keep(trained, labelled.inputs)
            self._of_embeddings = trained.of_embeddings

        return self

    def _fit_folder(self, X: Any, y: Any, recipe: Recipe) -> Self:
        """Fit to rows outside memory: the structure to all rows, the network to a stream of them."""
        from tsenet.training.folder import FolderRows
        from tsenet.training.recipe import RunSeeds, Trainer

        if self.text is not None:
            raise DataError(
                "text= names a column of a data frame, and a folder has none: leave it out"
            )
        if self.weighting == "counts":
            raise DataError(
                "rows of a folder are scaled to length 1: weighting must be 'tfidf' or 'log-counts'"
            )
        if self.linear_skip is True:
            raise DataError(
                "linear_skip=True needs all rows in memory: leave it at 'auto', which trains the "
                "network alone on a folder"
            )

        with as_progress(self.progress) as report, in_blocks(X) as blocks:
            folder = folder_of(blocks)
            labels = labels_of(folder, y)
            if np.shape(labels)[:1] != (folder.n_rows,):
                raise DataError(
                    f"y must have one label for each of the {folder.n_rows:,} rows of "
                    f"{folder.path}, or name a label column of it, but has the shape {np.shape(y)}"
                )

            given = self._read_targets(labels)
            targets = self._learn_targets(given)
            del given  # may be a text for each row
            known, weights = is_known(targets), None
            of_class = self.targets_.class_weights(targets[known], self.class_weight)

            if of_class is not None:
                weights = np.ones((len(targets), *of_class.shape[1:]))
                weights[known] = of_class

            seed = seed_sequence(self.random_state)
            split = RunSeeds.of(seed, 0).split
            rows = FolderRows(blocks, targets, weights, split, report, self.weighting)
            self._learn_structure(blocks, rows.sample, seed, report)
            trainer = Trainer(self.targets_.loss, recipe, self._next_seeds(seed), report)
            trained = trainer.fit_folder(rows, self.wiring_)
            self.scaling_, self.vectorizer_ = rows.scaling, folder.vectorizer()
            keep_columns(self, folder.names, folder.named)
            self._keep(trained, rows.inputs)

        return self

    def _check_eval_set(self, eval_set: Any, report: Progress) -> CheckedRows:
        """The rows to validate on; those without a target are left out."""
        pair = eval_set[0] if isinstance(eval_set, list) and len(eval_set) == 1 else eval_set
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError("eval_set must be a tuple (X, y) of rows to validate on")
        return self._check_rows(*pair, None, report, reset=False)

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """One epoch over new rows; the first call builds the network."""
        need_torch("training")
        from tsenet.training.recipe import Trainer

        if self._of_embeddings is not None:
            raise ValueError(
                'partial_fit cannot continue a model that was fitted with inputs="both"'
            )

        recipe, seed = self._recipe(), seed_sequence(self.random_state)
        first = not hasattr(self, "history_")
        with as_progress(self.progress) as report:
            checked = self._check_rows(X, y, sample_weight, report, reset=first, classes=classes)
            if first:
                self._learn_structure(checked.table, checked.table, seed, report)
                self._learn_scaling(checked.table)

            labelled = self._labelled(checked)
            trainer = Trainer(self.targets_.loss, recipe, self._next_seeds(seed), report)
            if first:
                skip = bool(self.linear_skip)
                self.net_ = trainer.init_network(self.wiring_, labelled.inputs, skip)

            trained = trainer.one_epoch(self.net_, labelled, self._pruned, self._adam)
            self._keep(trained, labelled.inputs)
            self._adam = trained.adam

        return self

    def _learn_structure(
        self, rows: Any, sample: Table, seed: np.random.SeedSequence, report: Progress
    ) -> None:
        """Learn the structure of rows, in memory or not, or take a given wiring for the columns of a sample.

        What was fitted to another structure is forgotten.
        """
        options = self.tree_options or {}
        allowed = [name for name in TREE_CONSTRAINTS if name not in ("max_top", "n_jobs")]
        if unknown := [name for name in options if name not in allowed]:
            raise ValueError(f"tree_options has {unknown[0]!r}; it may have {', '.join(allowed)}")

        if self.wiring is not None:
            structure = structure_of_wiring(sample, self.wiring)
        else:
            tree_seed, wiring_seed = seed_sequence(seed).spawn(2)
            if self._mixed is None:
                tree = tree_of_skeleton(self.skeleton, rows, sample, tree_seed, report)
            else:
                tree = mixed_tree(
                    self.skeleton,
                    sample,
                    self._mixed,
                    seed=tree_seed,
                    progress=report,
                    max_top=self.max_top,
                    n_jobs=self.n_jobs,
                    **options,
                )

            structure = learn_structure(
                rows,
                tree=tree,
                density=self.density,
                link_rule=self.link_rule,
                log_odds=self.init == "log-odds",
                max_top=self.max_top,
                n_jobs=self.n_jobs,
                tree_seed=tree_seed,
                wiring_seed=wiring_seed,
                progress=report,
                **options,
            )

        self.tree_, self.wiring_, self.binary_rule_ = structure
        self._learned_wiring = self.wiring_
        self._pruned, self._adam, self._n_runs, self.source_ = False, None, 0, None
        self._of_embeddings = None

    def _next_seeds(self, seed: np.random.SeedSequence) -> RunSeeds:
        """Seeds of the next training."""
        from tsenet.training.recipe import RunSeeds

        self._n_runs += 1
        return RunSeeds.of(seed, self._n_runs - 1)

    def _keep(self, trained: TrainedNetwork, inputs: Inputs) -> None:
        """Keep a trained network."""
        chosen = inputs.evenly_spaced(_IMPORTANCE_ROWS)
        self._importance_rows = Inputs(inputs.values[chosen])
        self._importances = None
        self.net_, self.history_ = trained.net, trained.history
        self.cv_score_ = None
        if trained.held_out is not None:
            self.cv_score_ = cross_validated_score(self.targets_, trained.held_out)
        self._network_options = trained.net.options

    def prune(self, n_parameters: int, X: Any) -> Self:
        """Remove the weakest weights of all layers, in place and in rounds; train the others after each round.

        The strength of a weight is its size, times the root mean square of what it reads, times how strongly the
        outputs depend on the unit it leads to. Every output keeps a path from the input. The remaining weights are
        trained to reproduce the predictions of the whole network, so no labels are needed. Removed weights are 0 and
        stay 0 in all further training. Latents, links and feature units that no output reads any more leave the
        network and its wiring, so files become smaller and predictions faster.

        Parameters
        ----------
        n_parameters : int
            Maximum number of trained parameters to keep.
        X : table, (N, V), or texts
            Rows like those the model was fitted on.

        Returns
        -------
        self
        """
        from tsenet.network.compact import drop_unused
        from tsenet.training.pruning import pruning_sizes, remove_weakest
        from tsenet.training.recipe import Trainer

        inputs = next(iter(self.network_inputs(X)))
        sizes = pruning_sizes(self.net_, inputs, n_parameters)
        loss, recipe = self.targets_.loss, self._recipe()
        answers = loss.soft_targets(self._predictor.outputs(inputs, None, self.n_jobs))
        rows = Examples(inputs, np.arange(len(inputs)), answers)

        with as_progress(self.progress) as report:
            for size in sizes:
                remove_weakest(self.net_, inputs, size)
                self._pruned, self._adam = True, None
                self.net_ = drop_unused(self.net_)
                self.wiring_ = self.net_.wiring
                seeds = self._next_seeds(seed_sequence(self.random_state))
                n_epochs = _LAST_EPOCHS if size == n_parameters else _EPOCHS_BETWEEN
                trainer = Trainer(loss, recipe, seeds, report)
                trained = trainer.distill(self.net_, rows, n_epochs)
                self._keep(trained, inputs)

        return self
