"""``LatentTreeTransformer``: the skeleton alone, behind the face of a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tsenet.data.blocks import is_outside_memory
from tsenet.data.table import Table
from tsenet.estimators.base import (
    TREE_CONSTRAINTS,
    TableEstimator,
    check_columns,
    keep_columns,
    saved_params,
)
from tsenet.skeleton.hlta import learn_tree
from tsenet.skeleton.tree import LatentTree


class LatentTreeTransformer(TransformerMixin, TableEstimator):
    """Learn a hierarchical latent tree; turn rows into the probabilities of its latents.

    Parameters
    ----------
    max_island : int, default=15
        Largest group of variables that one latent explains.
    max_top : int, default=30
        Levels are added until one has at most this many latents. Lower it for a deeper tree.
    ud_threshold : float, default=3.0
        How much better two latents must be than one for a group to stop growing (δ of the test, paper §3.1). Raise it
        for larger groups.
    correlation_test : bool, default=True
        Let a variable join a group only if they correlate significantly. The paper has no such test.
    structure_samples : int or None, default=None
        Learn the structure from this many rows, drawn at random; None takes all.
    refine_steps : int, default=100
        Steps of stepwise EM over all parameters at the end; 0 for none.
    em_restarts : int, default=3
        Starting points of each local EM; the best one is continued.
    completion : {"island", "layer"}, default="island"
        What decides the states of a layer's latents: each one's own group, or the whole layer, as in the paper.
    piece_size : int, None or "auto", default="auto"
        Cut longer rows into pieces of at most this many variables, from which the tree is learned. "auto": 30 for a
        sparse table whose rows vary widely in length, so that latents are about topics and not about length. None
        keeps rows whole, as :func:`tsenet.learn_tree` does by default.
    ties : {"positive", "any"}, default="positive"
        Whether latents are grouped only if they tend to be on together, or whatever the sign, as in the paper.
    random_state : int, Generator, RandomState, SeedSequence or None, default=None
        Seed. The same int gives the same tree.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result does not depend on it.
    progress : bool, callable, Progress or None, default=None
        Whether to show progress; a callable gets ``(stage, done, total)``.

    Attributes
    ----------
    tree_ : LatentTree
        The learned tree.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of str
        Their names, when ``fit`` saw a dataframe with string names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tsenet import LatentTreeTransformer
    >>> pixels = load_digits().data
    >>> transformer = LatentTreeTransformer(random_state=0).fit(pixels)
    >>> transformer.transform(pixels[:2]).shape[1] == transformer.tree_.n_latents
    True
    """

    _parameter_constraints = TREE_CONSTRAINTS

    def __init__(
        self,
        *,
        max_island: int = 15,
        max_top: int = 30,
        ud_threshold: float = 3.0,
        correlation_test: bool = True,
        structure_samples: int | None = None,
        refine_steps: int = 100,
        em_restarts: int = 3,
        completion: Literal["island", "layer"] = "island",
        piece_size: int | Literal["auto"] | None = "auto",
        ties: Literal["positive", "any"] = "positive",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.max_island = max_island
        self.max_top = max_top
        self.ud_threshold = ud_threshold
        self.correlation_test = correlation_test
        self.structure_samples = structure_samples
        self.refine_steps = refine_steps
        self.em_restarts = em_restarts
        self.completion = completion
        self.piece_size = piece_size
        self.ties = ties
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the tree of ``X``, a table, a folder or :class:`tsenet.data.Blocks`; ``y`` is ignored."""
        self._validate_params()
        self.tree_ = learn_tree(X, **self.get_params(deep=False))
        keep_columns(self, self.tree_.rule.names_in, self.tree_.rule.named)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """P(z=1|x) of every latent: (rows, latents), level by level."""
        return self.tree_.posterior(self._rows(X), n_jobs=self.n_jobs)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Exact ln P(x) of each row under the tree: (rows,)."""
        return self.tree_.log_likelihood(self._rows(X), n_jobs=self.n_jobs)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of :meth:`score_samples`; ``y`` is ignored."""
        return float(self.score_samples(X).mean())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the latents, one for each column that :meth:`transform` gives."""
        check_is_fitted(self)
        return np.array(self.tree_.latent_names, dtype=object)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The file form: parameters and tree. A random state is kept only if it is a plain value."""
        check_is_fitted(self)
        tree, arrays = self.tree_.to_parts()
        return {"params": saved_params(self), "tree": tree}, arrays

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild a transformer from :meth:`to_parts`."""
        transformer = cls._with_params(meta["params"])
        transformer.tree_ = LatentTree.from_parts(meta["tree"], arrays)
        rule = transformer.tree_.rule
        keep_columns(transformer, rule.names_in, rule.named)
        return transformer

    def _rows(self, X: Any) -> Any:
        """New rows as the tree takes them, after scikit-learn's checks of names and number of features."""
        check_is_fitted(self)
        if is_outside_memory(X):
            return X
        table = Table.of(X, columns=self.tree_.rule.names_in)
        check_columns(self, table)
        return table
