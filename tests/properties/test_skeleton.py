"""What holds for every table: information, counts, learned trees and their probabilities."""

from __future__ import annotations

from typing import Literal

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.builders import all_states, random_tree
from tsenet._system.threads import Workers
from tsenet.data.binary import BinaryRows
from tsenet.progress import Progress
from tsenet.skeleton.hlta import in_order, learn_tree
from tsenet.skeleton.information import PairCounter, pair_information
from tsenet.skeleton.kernels import pair_kernels
from tsenet.skeleton.tree import LatentTree

quietly = settings(
    deadline=None,
    derandomize=True,
    max_examples=150,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@st.composite
def tables(
    draw: st.DrawFn, max_rows: int = 40, max_columns: int = 9, min_rows: int = 2
) -> NDArray[np.bool_]:
    """0/1 tables of any density, often with constant, equal and opposite columns."""
    n_rows = draw(st.integers(min_rows, max_rows))
    n_columns = draw(st.integers(1, max_columns))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rate = draw(
        st.lists(
            st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.9, 1.0]), min_size=n_columns, max_size=n_columns
        )
    )
    on = rng.random((n_rows, n_columns)) < rate
    for k in draw(st.lists(st.integers(0, n_columns - 1), max_size=n_columns)):
        source = on[:, draw(st.integers(0, n_columns - 1))]
        on[:, k] = ~source if draw(st.booleans()) else source
    return on


@st.composite
def tree_shapes(draw: st.DrawFn) -> tuple[int, ...]:
    """Layer sizes, observed first, at most 8 observed variables."""
    sizes = [draw(st.integers(2, 8))]
    for _ in range(draw(st.integers(1, 3))):
        sizes.append(draw(st.integers(1, min(4, sizes[-1]))))
    return tuple(sizes)


# ---- information


@quietly
@given(st.integers(1, 300), st.data())
def test_information_is_symmetric_bitwise_and_never_negative(
    n_rows: int, data: st.DataObject
) -> None:
    n_i = data.draw(st.integers(0, n_rows))
    n_j = data.draw(st.integers(0, n_rows))
    n11 = data.draw(st.integers(max(0, n_i + n_j - n_rows), min(n_i, n_j)))
    n = np.arange(n_rows + 1.0)
    xlogx = n * np.log(np.maximum(n, 1.0))
    e_i, e_j = (xlogx[k] + xlogx[n_rows - k] for k in (n_i, n_j))

    one = pair_kernels.information(n11, n_i, n_j, xlogx)
    other = pair_kernels.information(n11, n_j, n_i, xlogx)

    assert one == other  # to the last bit
    assert one >= 0.0
    # Bounded by the smaller entropy, N·H = xlogx[N] − entropy.
    assert one <= xlogx[n_rows] - max(e_i, e_j) + 1e-9


@quietly
@given(tables())
def test_partners_name_each_other_with_the_same_gain(on: NDArray[np.bool_]) -> None:
    counter = PairCounter(BinaryRows.of_dense(on))
    with Workers(1) as workers:
        lists = pair_information(counter, on.shape[1], workers, Progress())

    gain: dict[tuple[int, int], float] = {}
    for i, (partners, values) in enumerate(zip(*lists, strict=True)):
        assert (values >= 0).all()
        assert (np.diff(values) <= 0).all()
        gain.update({(i, int(j)): v for j, v in zip(partners, values, strict=True) if j >= 0})
    assert all(gain[j, i] == value for (i, j), value in gain.items())
    varying = np.flatnonzero(counter.varies)
    assert len(gain) == varying.size * (varying.size - 1)


# ---- counts


@quietly
@given(tables(), tables(), st.integers(0, 2**32 - 1))
def test_counts_of_a_concatenation_are_the_sum_of_counts(
    first: NDArray[np.bool_], second: NDArray[np.bool_], seed: int
) -> None:
    n_columns = min(first.shape[1], second.shape[1])
    parts = [BinaryRows.of_dense(part[:, :n_columns]) for part in (first, second)]
    whole = BinaryRows.concatenate(parts)

    np.testing.assert_array_equal(whole.counts(), parts[0].counts() + parts[1].counts())
    counters = [PairCounter(rows) for rows in (*parts, whole)]
    np.testing.assert_array_equal(counters[2].n_on, counters[0].n_on + counters[1].n_on)
    np.testing.assert_array_equal(counters[2].work, counters[0].work + counters[1].work)

    tree = random_tree(np.random.default_rng(seed), (n_columns, 1))
    with Workers(1) as workers:
        expected = [
            tree._inference.expected_counts(rows, np.arange(rows.n_rows), workers)
            for rows in (*parts, whole)
        ]
    for one, two, both in zip(*expected, strict=True):
        np.testing.assert_allclose(both, one + two, rtol=1e-9, atol=1e-9)


# ---- learned trees


def assert_tree(tree: LatentTree, on: NDArray[np.bool_]) -> None:
    tree.validate()
    varies = on.any(axis=0) & ~on.all(axis=0)
    grouped = tree.parent[: tree.n_observed] >= 0
    assert not (grouped & ~varies).any()
    assert grouped.any() == varies.any()
    np.testing.assert_allclose(tree.cpt.sum(axis=2), 1.0, rtol=0, atol=1e-12)
    assert ((tree.cpt > 0) & (tree.cpt < 1)).all()
    latents = np.arange(tree.n_observed, tree.n_nodes)
    assert all(tree.children(z).size for z in latents)
    for level in range(1, tree.n_levels + 1):
        members = np.sort(np.concatenate(tree.groups(level)))
        below = tree.layer(level - 1)
        np.testing.assert_array_equal(members, np.flatnonzero(tree.parent[below] >= 0))


@quietly
@given(
    tables(max_columns=14),
    st.booleans(),
    st.integers(1, 4),
    st.sampled_from([2, 3, 15]),
    st.sampled_from([0, 3]),
    st.sampled_from(["positive", "any"]),
    st.sampled_from([None, 3]),
)
def test_what_is_learned_is_a_tree(
    on: NDArray[np.bool_],
    correlation_test: bool,
    max_top: int,
    max_island: int,
    steps: int,
    ties: Literal["positive", "any"],
    piece_size: int | None,
) -> None:
    tree = learn_tree(
        BinaryRows.of_dense(on).to_csr(),
        ties=ties,
        piece_size=piece_size,
        correlation_test=correlation_test,
        max_top=max_top,
        max_island=max_island,
        refine_steps=steps,
        random_state=0,
        n_jobs=1,
    )

    assert_tree(tree, on)
    if ties == "positive":
        linked = (tree.level > 0) & (tree.parent >= 0)
        assert (tree.cpt[linked, 1, 1] >= tree.cpt[linked, 0, 1]).all()
    assert np.isfinite(tree.log_likelihood(BinaryRows.of_dense(on), n_jobs=1)).all()


@quietly
@given(tables(max_columns=8), st.booleans(), st.sampled_from([0, 3]))
def test_a_learned_tree_is_a_distribution(
    on: NDArray[np.bool_], correlation_test: bool, steps: int
) -> None:
    tree = learn_tree(
        BinaryRows.of_dense(on).to_csr(),
        correlation_test=correlation_test,
        max_top=2,
        refine_steps=steps,
        random_state=0,
        n_jobs=1,
    )

    rows = BinaryRows.of_dense(all_states(tree.n_observed))
    assert abs(np.exp(tree.log_likelihood(rows, n_jobs=1)).sum() - 1.0) < 1e-10
    posterior = tree.posterior(rows, n_jobs=1)
    assert ((posterior >= 0) & (posterior <= 1 + 1e-12)).all()


# ---- any tree


@quietly
@given(tree_shapes(), st.integers(0, 2**32 - 1))
def test_any_tree_is_a_distribution(sizes: tuple[int, ...], seed: int) -> None:
    """Σ P(x) = 1 over all 2^V rows, and the posteriors average to the marginals."""
    tree = random_tree(np.random.default_rng(seed), sizes)
    rows = BinaryRows.of_dense(all_states(sizes[0]))

    weight = np.exp(tree.log_likelihood(rows, n_jobs=1))
    posterior = tree.posterior(rows, n_jobs=1)

    assert abs(weight.sum() - 1.0) < 1e-10
    marginals = tree.marginals()
    np.testing.assert_allclose(weight @ posterior, marginals[sizes[0] :], rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        weight @ all_states(sizes[0]), marginals[: sizes[0]], rtol=0, atol=1e-10
    )


@quietly
@given(tree_shapes(), st.integers(0, 2**32 - 1))
def test_order_of_states_is_only_a_name(sizes: tuple[int, ...], seed: int) -> None:
    tree = random_tree(np.random.default_rng(seed), sizes)
    cpt = in_order(tree.parent, tree.level, tree.cpt, positive=False)
    ordered = LatentTree(tree.parent, tree.level, cpt, tree.names, tree.rule)
    rows = BinaryRows.of_dense(all_states(sizes[0]))

    np.testing.assert_allclose(
        ordered.log_likelihood(rows, n_jobs=1), tree.log_likelihood(rows, n_jobs=1), atol=1e-10
    )
