"""Progressive EM on three or four binary variables (paper §3.1; ALGORITHM §2).

The models are small, so the data enter as joint counts: 8 cells for three variables, 16 for four. A latent's
distribution is ``prior`` = P(Y=1); a child's table is ``[P(x=1|Y=0), P(x=1|Y=1)]``. Each M-step adds ``smooth`` to
every count, so no probability is ever 0 or 1. Each step raises the log-likelihood plus the log of the corresponding
Beta prior.
"""

from __future__ import annotations

import numpy as np

from tsenet._system.jit import Array, kernel

MAX_STEPS = 50
TRIAL_STEPS = 2
TOLERANCE = 0.01


@kernel
def random_unit(key: int, index: int) -> float:
    """Number in (0, 1) that depends on (key, index) alone: splitmix64's finaliser on a counter."""
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(index + 1)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (np.float64(z >> np.uint64(12)) + 0.5) * 2.0**-52


@kernel
def copy_table(source: Array, target: Array) -> None:
    """Copy rows of two numbers."""
    for k in range(source.shape[0]):
        target[k, 0] = source[k, 0]
        target[k, 1] = source[k, 1]


@kernel
def _seed_step(counts: Array, share: Array, table: Array, smooth: float) -> float:
    """M-step of the seed model from ``share`` = P(Y=1|cell) (8,); fills ``table`` (3, 2), returns P(Y=1)."""
    total = 0.0
    on = 0.0
    for c in range(8):
        total += counts[c]
        on += counts[c] * share[c]
    for v in range(3):
        with_on = 0.0
        with_off = 0.0
        for c in range(8):
            if (c >> v) & 1:
                with_on += counts[c] * share[c]
                with_off += counts[c] * (1.0 - share[c])
        table[v, 0] = (with_off + smooth) / (total - on + 2.0 * smooth)
        table[v, 1] = (with_on + smooth) / (on + 2.0 * smooth)
    return (on + smooth) / (total + 2.0 * smooth)


@kernel
def _seed_posterior(counts: Array, prior: float, table: Array, share: Array) -> float:
    """E-step of the seed model: fills ``share`` (8,), returns the log-likelihood."""
    loglik = 0.0
    for c in range(8):
        off = 1.0 - prior
        on = prior
        for v in range(3):
            if (c >> v) & 1:
                off *= table[v, 0]
                on *= table[v, 1]
            else:
                off *= 1.0 - table[v, 0]
                on *= 1.0 - table[v, 1]
        share[c] = on / (on + off)
        if counts[c] > 0:
            loglik += counts[c] * np.log(on + off)
    return loglik


@kernel
def fit_seed(
    counts: Array, restarts: int, key: int, smooth: float, table: Array
) -> tuple[float, float]:
    """Latent class model Y → three variables, from their 8 joint counts (bit v of the cell is variable v).

    The first start sets P(Y=1|cell) by the share of the three variables that are on; the others weight the variables
    at random. Fills ``table`` (3, 2); returns P(Y=1) and the log-likelihood.
    """
    share = np.empty(8)
    weight = np.empty(3)
    trial = np.empty((3, 2))
    best_loglik = -np.inf
    best_prior = 0.5
    for start in range(restarts):
        total = 0.0
        for v in range(3):
            weight[v] = 1.0 if start == 0 else -np.log(random_unit(key, 3 * start + v))
            total += weight[v]
        for c in range(8):
            on = 0.0
            for v in range(3):
                on += weight[v] * ((c >> v) & 1)
            share[c] = 0.05 + 0.9 * on / total
        prior = 0.5
        for _ in range(TRIAL_STEPS):
            prior = _seed_step(counts, share, trial, smooth)
            loglik = _seed_posterior(counts, prior, trial, share)
        if loglik > best_loglik:
            best_loglik = loglik
            best_prior = prior
            copy_table(trial, table)
    prior = best_prior
    loglik = _seed_posterior(counts, prior, table, share)
    for _ in range(MAX_STEPS):
        prior = _seed_step(counts, share, table, smooth)
        new_loglik = _seed_posterior(counts, prior, table, share)
        if new_loglik - loglik <= TOLERANCE:
            loglik = new_loglik
            break
        loglik = new_loglik
    return prior, loglik


@kernel
def fit_join(fixed: Array, counts: Array, smooth: float, table: Array) -> float:
    """Model M1: X is a child of Y. Only P(X|Y) is estimated: the likelihood is concave, so one start is enough.

    Parameters
    ----------
    fixed : (2, 4), P(Y=y, f) for the four values f of the pair whose tables are fixed.
    counts : (4, 4), joint counts of f and (W, X), the second index being 2·W + X; W is summed out.
    table : (2,), filled with P(X=1|Y=y).

    Returns
    -------
    Log-likelihood on these cells.
    """
    by_x = np.zeros((4, 2))
    total = 0.0
    on = 0.0
    for f in range(4):
        for wx in range(4):
            by_x[f, wx & 1] += counts[f, wx]
            total += counts[f, wx]
        on += by_x[f, 1]
    rate = (on + smooth) / (total + 2.0 * smooth)
    table[0] = rate
    table[1] = rate
    loglik = -np.inf
    for _ in range(MAX_STEPS):
        new_loglik = 0.0
        count_on = np.zeros(2)
        count_all = np.zeros(2)
        for f in range(4):
            for x in range(2):
                count = by_x[f, x]
                if count == 0:
                    continue
                off = fixed[0, f] * (table[0] if x else 1.0 - table[0])
                on = fixed[1, f] * (table[1] if x else 1.0 - table[1])
                new_loglik += count * np.log(on + off)
                share = count * on / (on + off)
                count_all[1] += share
                count_all[0] += count - share
                if x:
                    count_on[1] += share
                    count_on[0] += count - share
        if new_loglik - loglik <= TOLERANCE:
            return new_loglik
        loglik = new_loglik
        for y in range(2):
            table[y] = (count_on[y] + smooth) / (count_all[y] + 2.0 * smooth)
    return loglik


@kernel
def _split_step(fixed: Array, counts: Array, smooth: float, table: Array) -> float:
    """One EM step of M2 in place; ``table`` rows: P(Z=1|Y), P(W=1|Z), P(X=1|Z). Returns the old log-likelihood."""
    loglik = 0.0
    z_of_y = np.zeros((2, 2))
    on_w = np.zeros(2)
    on_x = np.zeros(2)
    joint = np.empty((2, 2))
    for wx in range(4):
        w = wx >> 1
        x = wx & 1
        child_0 = (table[1, 0] if w else 1.0 - table[1, 0]) * (
            table[2, 0] if x else 1.0 - table[2, 0]
        )
        child_1 = (table[1, 1] if w else 1.0 - table[1, 1]) * (
            table[2, 1] if x else 1.0 - table[2, 1]
        )
        for f in range(4):
            count = counts[f, wx]
            if count == 0:
                continue
            total = 0.0
            for y in range(2):
                joint[y, 0] = fixed[y, f] * (1.0 - table[0, y]) * child_0
                joint[y, 1] = fixed[y, f] * table[0, y] * child_1
                total += joint[y, 0] + joint[y, 1]
            loglik += count * np.log(total)
            scale = count / total
            for y in range(2):
                for z in range(2):
                    share = joint[y, z] * scale
                    z_of_y[y, z] += share
                    on_w[z] += w * share
                    on_x[z] += x * share
    for y in range(2):
        table[0, y] = (z_of_y[y, 1] + smooth) / (z_of_y[y, 0] + z_of_y[y, 1] + 2.0 * smooth)
    for z in range(2):
        total = z_of_y[0, z] + z_of_y[1, z] + 2.0 * smooth
        table[1, z] = (on_w[z] + smooth) / total
        table[2, z] = (on_x[z] + smooth) / total
    return loglik


@kernel
def fit_split(
    fixed: Array, counts: Array, restarts: int, key: int, smooth: float, table: Array
) -> float:
    """Model M2: a new latent Z under Y with children W and X; P(Z|Y), P(W|Z), P(X|Z) are estimated.

    Parameters
    ----------
    fixed : (2, 4), P(Y=y, f) for the four values f of the pair whose tables are fixed.
    counts : (4, 4), joint counts of f and (W, X), the second index being 2·W + X.
    table : (3, 2), filled with P(Z=1|Y=y), P(W=1|Z=z), P(X=1|Z=z).

    Returns
    -------
    Log-likelihood on these cells.
    """
    total = 0.0
    mean_w = 0.0
    mean_x = 0.0
    for f in range(4):
        for wx in range(4):
            total += counts[f, wx]
            mean_w += counts[f, wx] * (wx >> 1)
            mean_x += counts[f, wx] * (wx & 1)
    mean_w = (mean_w + smooth) / (total + 2.0 * smooth)
    mean_x = (mean_x + smooth) / (total + 2.0 * smooth)
    best_loglik = -np.inf
    trial = np.empty((3, 2))
    for start in range(restarts):
        # Z follows Y closely in the first start and to a random degree in the others; W and X follow Z.
        follow = 0.9 if start == 0 else random_unit(key, 4 * start)
        lift_w = 0.8 if start == 0 else random_unit(key, 4 * start + 1)
        lift_x = 0.8 if start == 0 else random_unit(key, 4 * start + 2)
        rare = min(mean_w, mean_x)
        trial[0, 0] = (1.0 - follow) * rare + 1e-3
        trial[0, 1] = follow
        trial[1, 0] = mean_w * (1.0 - lift_w)
        trial[1, 1] = mean_w + (1.0 - mean_w) * lift_w
        trial[2, 0] = mean_x * (1.0 - lift_x)
        trial[2, 1] = mean_x + (1.0 - mean_x) * lift_x
        loglik = -np.inf
        for _ in range(TRIAL_STEPS + 1):
            loglik = _split_step(fixed, counts, smooth, trial)
        if loglik > best_loglik:
            best_loglik = loglik
            copy_table(trial, table)
    loglik = -np.inf
    for _ in range(MAX_STEPS):
        new_loglik = _split_step(fixed, counts, smooth, table)
        if new_loglik - loglik <= TOLERANCE:
            return new_loglik
        loglik = new_loglik
    return loglik
