"""`warmup`: compile the kernels ahead of the first use."""

from __future__ import annotations

from tsenet._system.packages import need_torch


def warmup(*, network: bool = True) -> None:
    """Compile every numba kernel now, by running each stage once on tiny data.

    The first use on a machine compiles for about half a minute; numba keeps the result in its cache on disk, which
    later processes read. Call this when you build an image or start a service: the first fit and the first prediction
    then compile nothing.

    Parameters
    ----------
    network : bool, default=True
        Whether to compile the kernels that train and run networks too. Set it to False if you learn latent trees only:
        torch is then not loaded.

    Examples
    --------
    >>> import tsenet
    >>> tsenet.warmup(network=False)
    """
    import logging

    logger = logging.getLogger("tsenet")
    level = logger.level
    logger.setLevel(logging.WARNING)  # the tiny tree is of no interest to the user
    try:
        _warm_structure()
        if network:
            need_torch("warmup() of the kernels that train networks")
            _warm_network()
    finally:
        logger.setLevel(level)


def _warm_structure() -> None:
    """Learn a tree, ask it questions and expand it."""
    import numpy as np

    from tsenet.expansion.expand import expand
    from tsenet.skeleton.hlta import learn_tree

    rng = np.random.default_rng(0)
    cause = rng.random((200, 6)) < 0.3
    rows = np.repeat(cause, 5, axis=1) & (rng.random((200, 30)) < 0.7)
    tree = learn_tree(rows, piece_size=5, refine_steps=1, random_state=0)
    tree.log_likelihood(rows[:2])
    tree.posterior(rows[:2])
    for link_rule in ("balanced", "context"):
        expand(tree, rows, density=0.3, link_rule=link_rule)


def _warm_network() -> None:
    """Train a network on sparse and on dense rows, and predict."""
    import numpy as np
    from scipy.sparse import csr_array

    from tsenet.estimators.network import TSENetClassifier

    rng = np.random.default_rng(0)
    cause = rng.random((200, 8)) < 0.3
    rows = np.repeat(cause, 4, axis=1) * (0.5 + rng.random((200, 32)))
    for values in (csr_array(rows), rows):
        model = TSENetClassifier(max_epochs=1, random_state=0)
        model.fit(values, cause[:, 0]).predict(values)
