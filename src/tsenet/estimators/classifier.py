"""``TSENetClassifier``: two classes, many, or several labels at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from tsenet.estimators.network_estimator import NetworkClassifier
from tsenet.estimators.tsenet_estimator import TSENetEstimator

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

    from tsenet.expansion.wiring import Wiring


class TSENetClassifier(NetworkClassifier, TSENetEstimator):
    """Classifier whose sparse network has the structure of the data (tree skeleton expansion).

    ``fit`` learns a latent tree from ``X`` alone, adds links, and trains the network they make. Columns of a dense
    table are brought to mean 0 and deviation 1, a sparse one is scaled by one factor. The result does not depend on the
    order of the rows.

    Parameters
    ----------
    density : float or None, default=None
        Links of a unit, as a share of the layer below. None: 0.05 for dense rows, more if fewer than about four
        latents would read each column; for sparse rows so many that about eight units read each column. Lower it for
        a smaller, faster network.
    link_rule : {"balanced", "context", "top-k", "random", "tree"} or None, default=None
        How links are added to the tree; see :func:`tsenet.expand`. None: ``"context"`` for sparse rows, ``"balanced"``
        for dense ones. ``"top-k"`` is the paper's rule, ``"random"`` a control, ``"tree"`` adds none.
    max_top : int, default=500
        Levels are added until one has at most so many latents. Lower it for a deeper network.
    max_island : int, default=15
        Largest group of variables that one latent of the skeleton explains.
    correlation_test : bool, default=True
        Let a variable join a group only if they correlate significantly. The paper has no such test.
    structure_samples : int or None, default=None
        Learn the structure from so many rows, drawn at random; None takes all. Set it when structure learning is slow.
    weighting : {"tfidf", "counts"}, default="tfidf"
        What counts in sparse rows, such as word counts, become: tf-idf, in which English stop words have half their
        weight; or themselves, the paper's bag of words. It has no effect on other tables.
    skip_units : int or None, default=None
        Feature units that read each layer below the top, the input included. None: none, or 100 with
        ``init="random"``. 0, together with ``linear_skip=False``, is the paper's Backbone.
    feature_units : int, default=100
        Feature units that read the top layer.
    dropout : float or None, default=None
        Share of the units left out in each step of training. None: 0.3 for sparse rows, 0.1 for dense ones, 0.2 for
        dense ones with many latents.
    input_dropout : float or None, default=None
        Share of the values of a row left out in each step of training. None: 0.2 for dense rows with at least 100
        latents, such as images, else 0.
    activation : {"relu", "tanh", "sigmoid"}, default="relu"
        Non-linearity of all hidden units.
    units_per_latent : int or None, default=None
        Units of each latent. None: 2 for sparse rows; 8 for dense ones, more where the first level would have fewer
        than 128 units, fewer where it would have more than 2,048. 1 is the paper's.
    linear_skip : bool or "auto", default="auto"
        Linear skip connections: the outputs are a blend of the network and of a linear model of the input (wide and
        deep). False: the network alone. ``"auto"``: the blend, if rows that neither has seen clearly prefer it.
    init : {"random", "principal"}, default="principal"
        Initial weights, and how they are trained. ``"principal"``: each unit starts along a principal direction of the
        columns or units that it reads; the network learns from the labelled rows and, for the others, from the
        predictions of a linear model. ``"random"``: random weights, trained on labelled rows alone, as in the paper.
    learning_rate : float or None, default=None
        Adam's step size. None: 1e-3, or 3e-3 for dense rows with ``init="principal"``, where it falls to 0 in the end.
    batch_size : int or None, default=None
        Rows in a step. None: 256, fewer on small and on dense tables.
    max_epochs : int or None, default=None
        Passes over the training rows. None: at least 20, more on small tables; with ``init="random"`` at most 100.
    early_stopping : bool, default=True
        Hold out validation rows, stop when the loss on them no longer improves, and keep the best weights. It applies
        to sparse rows, and to all rows with ``init="random"``; dense rows are otherwise trained for a fixed number of
        epochs.
    validation_fraction : float, default=0.1
        Share of the labelled rows held out for early stopping. Duplicates of a row stay on one side.
    patience : int, default=5
        Epochs without progress after which training stops.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Weights of the classes in the loss; for several labels a dict of the weights of 0 and 1 for all, or one each.
    unlabeled : default=None
        A value in ``y`` that marks rows without a label, such as −1, scikit-learn's convention. None, NaN,
        ``pandas.NA`` and blank text always do.
    vectorizer : CountVectorizer or None, default=None
        How texts become counts of words; no effect on tables. None: the 10,000 most frequent words, in any script
        (:func:`tsenet.data.word_vectorizer`); of 10,000 texts or more, words that are in one alone are left out.
        Give scikit-learn's ``CountVectorizer`` for other words, such as ``CountVectorizer(ngram_range=(1, 2))``. It is
        saved with the model unless it holds functions of your own.
    wiring : Wiring or None, default=None
        A wiring to use instead of learning one, from :func:`tsenet.expand` or another model's ``wiring_``: one
        structure serves every fold, seed and target.
    device : str, default="auto"
        Where to train, as torch names it. ``"auto"``: a GPU if there is one, else the CPU.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result does not depend on it.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        Seed. The same int gives the same model.
    verbose : bool, callable or Progress, default=False
        Whether to show progress; a callable gets ``(stage, done, total)``.
    client : distributed.Client, str or None, default=None
        Dask cluster, or the address of its scheduler, whose workers learn the structure if :meth:`fit` is given a
        folder of shards or a Dask collection. Copies of the estimator share it; files and pickles do not hold it.

    Attributes
    ----------
    classes_ : ndarray
        The classes; for several labels their column numbers.
    tree_ : LatentTree or None
        The skeleton; None if ``wiring`` was given.
    wiring_ : Wiring
        Which unit reads which.
    net_ : TSENet
        The trained torch module, on the CPU, in evaluation mode.
    history_ : History
        Losses and scores of the epochs.
    cv_score_ : CrossValidatedScore or None
        Score of labelled rows that were held out in turn, with a 95 % interval: accuracy, or R² of a regressor. It
        costs no labels; the model itself is fitted to all of them. Where some rows have no label it is that of the
        linear teacher, which the network follows. None after ``init="random"``, ``linear_skip=False``, ``partial_fit``
        and in a loaded model.
    feature_importances_ : ndarray (V,)
        Share of each column in the network's answers.
    n_parameters_ : int
        Number of trained numbers.
    targets_ : Targets
        What the targets are: it encodes ``y`` and decodes raw outputs.
    binary_rule_ : BinaryRule
        How columns of a table become inputs of the network.
    scaling_ : Scaling
        How their values are scaled.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when ``fit`` saw a dataframe with string names.
    vectorizer_ : CountVectorizer or None
        The fitted vectorizer that counts the words of texts; None if the model was fitted on a table.
    source_ : dict or None
        The columns of the file that ``tsenet fit`` read, so that ``tsenet predict`` finds them again.

    Notes
    -----
    A 2-D ``y`` holds 0, 1 or NaN, unknown, for each of C labels. Rows without a label help to learn the structure and
    the first weights; :meth:`score` leaves them out.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import TSENetClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = TSENetClassifier(random_state=0, max_epochs=10).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.85)
    True
    """

    def __init__(
        self,
        *,
        density: float | None = None,
        link_rule: Literal["balanced", "context", "top-k", "random", "tree"] | None = None,
        max_top: int = 500,
        max_island: int = 15,
        correlation_test: bool = True,
        structure_samples: int | None = None,
        weighting: Literal["tfidf", "counts"] = "tfidf",
        skip_units: int | None = None,
        feature_units: int = 100,
        dropout: float | None = None,
        input_dropout: float | None = None,
        activation: Literal["relu", "tanh", "sigmoid"] = "relu",
        units_per_latent: int | None = None,
        linear_skip: bool | Literal["auto"] = "auto",
        init: Literal["random", "principal"] = "principal",
        learning_rate: float | None = None,
        batch_size: int | None = None,
        max_epochs: int | None = None,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        patience: int = 5,
        class_weight: Any = None,
        unlabeled: Any = None,
        vectorizer: CountVectorizer | None = None,
        wiring: Wiring | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = False,
        client: Any = None,
    ) -> None:
        self.density = density
        self.link_rule = link_rule
        self.max_top = max_top
        self.max_island = max_island
        self.correlation_test = correlation_test
        self.structure_samples = structure_samples
        self.weighting = weighting
        self.skip_units = skip_units
        self.feature_units = feature_units
        self.dropout = dropout
        self.input_dropout = input_dropout
        self.activation = activation
        self.units_per_latent = units_per_latent
        self.linear_skip = linear_skip
        self.init = init
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.class_weight = class_weight
        self.unlabeled = unlabeled
        self.vectorizer = vectorizer
        self.wiring = wiring
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.client = client

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch on some rows; the first call learns structure and scale from its rows.

        Parameters
        ----------
        X : table, (N, V)
        y : array-like, (N,) or (N, C)
        classes : array-like, default=None
            All classes there will be; needed in the first call unless ``y`` is 2-D.
        sample_weight : array-like (N,), default=None
            As for :meth:`fit`.

        Returns
        -------
        self
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows, which partial_fit never sees: give the weights as a dict"
            )
        if not hasattr(self, "history_") and classes is None and np.ndim(y) == 1:
            raise ValueError("classes must be passed on the first call to partial_fit")
        known = getattr(self, "classes_", None)
        if (
            known is not None
            and classes is not None
            and not np.array_equal(np.unique(classes), known)
        ):
            raise ValueError(f"classes is not the same as on the first call: {known}")
        return self._partial_fit(X, y, classes, sample_weight)
