"""`warmup`: compile the kernels ahead of the first use."""

from __future__ import annotations

from tsenet.errors import need_torch


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
    import numpy as np
    from scipy.sparse import csr_array

    from tsenet.expansion.expand import expand
    from tsenet.skeleton.hlta import learn_tree

    if network:
        need_torch("warmup() of the kernels that train networks")
    rng = np.random.default_rng(0)
    cause = rng.random((200, 8)) < 0.3
    rows = np.repeat(cause, 4, axis=1) * (0.5 + rng.random((200, 32)))
    on = rows * (rng.random(rows.shape) < 0.7) > 0
    tree = learn_tree(on, piece_size=5, refine_steps=1, random_state=0)
    tree.log_likelihood(on[:2])
    tree.posterior(on[:2])
    for link_rule in ("balanced", "context"):
        expand(tree, on, density=0.3, link_rule=link_rule)
    if network:
        from tsenet.estimators.classifier import TSENetClassifier

        for values in (csr_array(rows), rows):
            model = TSENetClassifier(max_epochs=1, random_state=0)
            model.fit(values, cause[:, 0]).predict(values)
