"""The models of progressive EM in NumPy: joint distributions from the definition, one EM step each."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tests.builders import Floats, all_states

SMOOTH = 1.0
CELLS3 = all_states(3).astype(int)  # bit v of the cell's number is variable v


def bernoulli(on: Floats, state: NDArray[np.int64] | int) -> Floats:
    """P(state) for probabilities of being on."""
    return np.where(state, on, 1.0 - on)


def belief(*probabilities: Floats | float) -> float:
    """What the pseudo-counts add to the log-likelihood: each probability is drawn to one half."""
    return SMOOTH * sum(float(np.sum(np.log(p) + np.log1p(-np.asarray(p)))) for p in probabilities)


def seed_joint(prior: float, table: Floats) -> Floats:
    """P(Y, cell) of Y with three children: (2, 8)."""
    weight = np.array([1.0 - prior, prior])[:, None]
    return weight * bernoulli(table.T[:, None, :], CELLS3[None]).prod(axis=2)


def seed_step(counts: Floats, prior: float, table: Floats) -> tuple[float, Floats]:
    joint = seed_joint(prior, table)
    expected = counts * joint / joint.sum(axis=0)  # (2, 8)
    of_y = expected.sum(axis=1)
    on = expected @ CELLS3  # (2, 3)
    new = (on + SMOOTH) / (of_y[:, None] + 2 * SMOOTH)
    return (of_y[1] + SMOOTH) / (counts.sum() + 2 * SMOOTH), new.T


def join_joint(fixed: Floats, table: Floats) -> Floats:
    """P(Y, f, X): (2, 4, 2)."""
    return fixed[:, :, None] * np.stack([1 - table, table], axis=1)[:, None, :]


def join_step(fixed: Floats, counts: Floats, table: Floats) -> Floats:
    joint = join_joint(fixed, table)
    expected = counts * joint / joint.sum(axis=0)
    return (expected[:, :, 1].sum(axis=1) + SMOOTH) / (expected.sum(axis=(1, 2)) + 2 * SMOOTH)


def split_joint(fixed: Floats, table: Floats) -> Floats:
    """P(Y, Z, f, W, X): (2, 2, 4, 2, 2)."""
    joint = np.empty((2, 2, 4, 2, 2))
    for y, z, f, w, x in itertools.product(range(2), range(2), range(4), range(2), range(2)):
        joint[y, z, f, w, x] = (
            fixed[y, f]
            * (table[0, y] if z else 1 - table[0, y])
            * (table[1, z] if w else 1 - table[1, z])
            * (table[2, z] if x else 1 - table[2, z])
        )
    return joint


def split_step(fixed: Floats, counts: Floats, table: Floats) -> Floats:
    joint = split_joint(fixed, table)
    expected = counts.reshape(4, 2, 2) * joint / joint.sum(axis=(0, 1))
    of_yz = expected.sum(axis=(2, 3, 4))
    of_z = of_yz.sum(axis=0)
    w_on = expected[:, :, :, 1, :].sum(axis=(0, 2, 3))
    x_on = expected[:, :, :, :, 1].sum(axis=(0, 2, 3))
    return np.stack(
        [
            (of_yz[:, 1] + SMOOTH) / (of_yz.sum(axis=1) + 2 * SMOOTH),
            (w_on + SMOOTH) / (of_z + 2 * SMOOTH),
            (x_on + SMOOTH) / (of_z + 2 * SMOOTH),
        ]
    )


def seed_loglik(counts: Floats, prior: float, table: Floats) -> float:
    return float(counts @ np.log(seed_joint(prior, table).sum(axis=0)))


def join_loglik(fixed: Floats, counts: Floats, table: Floats) -> float:
    return float((counts * np.log(join_joint(fixed, table).sum(axis=0))).sum())


def split_loglik(fixed: Floats, counts: Floats, table: Floats) -> float:
    return float(
        (counts.ravel() * np.log(split_joint(fixed, table).sum(axis=(0, 1)).ravel())).sum()
    )
