"""`warmup`: compile the kernels ahead of the first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsenet._system.packages import need_torch

if TYPE_CHECKING:
    from tsenet.expansion.wiring import Wiring


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
    finally:
        logger.setLevel(level)
    if network:
        need_torch("warmup() of the kernels that train networks")
        _warm_network()


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
    """Train and run a network on sparse and on dense rows."""
    import numpy as np
    from scipy.sparse import csr_array

    from tsenet.network.batches import Inputs
    from tsenet.network.initial_weights import set_principal_directions
    from tsenet.network.tsenet import TSENet
    from tsenet.training.engine import Engine
    from tsenet.training.losses import RegressionLoss

    values = np.eye(80, 40, dtype=np.float32)
    wiring = _tiny_wiring()
    for inputs in (Inputs(csr_array(values)), Inputs(values)):
        net = TSENet(wiring, 1, skip_units=2, feature_units=2)
        set_principal_directions(net, inputs)
        engine = Engine(net, inputs, RegressionLoss(), n_jobs=1)
        engine.step(np.arange(8), np.zeros(8), None, 0.01, 0)
        engine.outputs(inputs, np.arange(80))


def _tiny_wiring() -> Wiring:
    """Two levels whose links are so few that sparse kernels run them: unit u reads inputs 2u and 2u + 1."""
    from itertools import pairwise

    import numpy as np

    from tsenet.expansion.wiring import Wiring, WiringLayer

    sizes = (40, 20, 10)
    layers = tuple(
        WiringLayer(
            np.arange(n_upper + 1) * 2,
            np.arange(2 * n_upper, dtype=np.int32),
            np.zeros(2 * n_upper, bool),
            n_lower,
        )
        for n_lower, n_upper in pairwise(sizes)
    )
    names = tuple(tuple(f"{k}.{j}" for j in range(size)) for k, size in enumerate(sizes))
    return Wiring(layers, names, "random")
