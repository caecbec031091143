"""``warmup``: compile the kernels ahead of the first use."""

from __future__ import annotations


def warmup() -> None:
    """Compile every numba kernel now, by learning a tiny tree.

    The first use on a machine compiles for some seconds; later processes read numba's cache. Call this when
    building an image or starting a service, so that the first user does not wait.
    """
    import logging

    import numpy as np

    from tsenet.skeleton.hlta import learn_tree

    rng = np.random.default_rng(0)
    cause = rng.random((200, 6)) < 0.3
    sparse = np.repeat(cause, 5, axis=1) & (rng.random((200, 30)) < 0.7)
    logger = logging.getLogger("tsenet")
    level = logger.level
    logger.setLevel(logging.WARNING)  # nobody wants to read about this tree
    try:
        tree = learn_tree(sparse, refine_steps=1, random_state=0)
    finally:
        logger.setLevel(level)
    tree.log_likelihood(sparse[:2])
    tree.posterior(sparse[:2])
