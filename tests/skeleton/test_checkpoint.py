"""The checkpoint folder of learn_tree: what it keeps, what it refuses, and that resuming changes nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.skeleton.learning import learn, planted_rows
from tsenet._system.checkpoint_file import digest_of, read_checkpoint, write_checkpoint
from tsenet.errors import ModelFileError
from tsenet.skeleton import hlta, refine
from tsenet.skeleton.tree import LatentTree
from tsenet.skeleton.tree_checkpoint import LAYERS_FILE, REFINEMENT_FILE

ROWS = csr_array(planted_rows(0, 600).astype(float))
STEPS = 25


class CrashError(Exception):
    """Stands for any error that ends the program."""


def crash_after(calls: int) -> Callable[[str, int, int | None], None]:
    """A progress function that ends the program at its ``calls``-th call."""

    def count(stage: str, done: int, total: int | None) -> None:
        nonlocal calls
        calls -= 1
        if calls == 0:
            raise CrashError

    return count


def run(checkpoint: Path | None = None, **options: Any) -> LatentTree:
    options = {"refine_steps": STEPS, "max_top": 2, **options}
    X = options.pop("X", ROWS)
    return learn(X, checkpoint=checkpoint, **options)


def same_bytes(first: LatentTree, second: LatentTree) -> bool:
    arrays = [(tree.parent, tree.level, tree.cpt) for tree in (first, second)]
    return first.names == second.names and digest_of(*arrays[0]) == digest_of(*arrays[1])


@pytest.fixture(scope="module", autouse=True)
def small_batches() -> Iterator[None]:
    """Several batches per pass over the rows, so that their random order matters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refine, "BATCH_ROWS", 128)
        yield


@pytest.fixture(scope="module")
def whole(small_batches: None) -> LatentTree:
    """The tree of a run that was not interrupted; it has more than one layer."""
    tree = run()
    assert tree.n_levels >= 2
    return tree


def count_layers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of variables of each layer learned from now on."""
    learned: list[int] = []
    learn_layer = hlta.learn_layer

    def watch(rows: Any, *arguments: Any, **options: Any) -> Any:
        learned.append(rows.n_columns)
        return learn_layer(rows, *arguments, **options)

    monkeypatch.setattr(hlta, "learn_layer", watch)
    return learned


# ---- resuming


def test_a_checkpoint_changes_nothing(whole: LatentTree, tmp_path: Path) -> None:
    assert same_bytes(run(tmp_path / "new" / "folder"), whole)
    names = sorted(file.name for file in (tmp_path / "new" / "folder").iterdir())
    assert names == [LAYERS_FILE, REFINEMENT_FILE]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 90), max_size=4), st.sampled_from([1, 2]))
def test_crashed_anywhere(crashes: list[int], n_jobs: int) -> None:
    expected = run()
    with tempfile.TemporaryDirectory() as name:
        for calls in crashes:
            try:
                run(Path(name), progress=crash_after(calls))
            except CrashError:
                continue
        assert same_bytes(run(Path(name), n_jobs=n_jobs), expected)


def test_finished_layers_are_not_learned_again(
    whole: LatentTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Crash when the second layer begins: only the layers from there on are learned afterwards."""

    def crash_in_second_layer(stage: str, done: int, total: int | None) -> None:
        if stage == "pairs" and total != ROWS.shape[1]:
            raise CrashError

    with pytest.raises(CrashError):
        run(tmp_path, progress=crash_in_second_layer)
    learned = count_layers(monkeypatch)
    assert same_bytes(run(tmp_path), whole)
    assert learned[0] == whole.layer_sizes[1]


def test_a_finished_structure_is_not_learned_again(
    whole: LatentTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash_in_refinement(stage: str, done: int, total: int | None) -> None:
        if stage == "refine" and done == 15:
            raise CrashError

    with pytest.raises(CrashError):
        run(tmp_path, progress=crash_in_refinement)
    learned = count_layers(monkeypatch)
    seen: list[int] = []
    assert same_bytes(run(tmp_path, progress=lambda *call: seen.append(call[1])), whole)
    assert learned == []
    assert seen[:3] == [0, 10, 11]  # steps 11 to 15 were not saved before the crash


def test_a_finished_run_is_not_repeated(
    whole: LatentTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path)
    content = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    learned = count_layers(monkeypatch)
    monkeypatch.setattr(refine, "tables_from_counts", None)  # a step would fail
    assert same_bytes(run(tmp_path), whole)
    assert learned == []
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == content


def test_without_a_seed_the_saved_one_is_used(tmp_path: Path) -> None:
    with pytest.raises(CrashError):
        run(tmp_path, random_state=None, progress=crash_after(30))
    resumed = run(tmp_path, random_state=None)
    assert same_bytes(run(tmp_path, random_state=None), resumed)
    seed = read_checkpoint(tmp_path / LAYERS_FILE)[0]["run"]["seed"]
    assert same_bytes(run(random_state=np.random.SeedSequence(**seed)), resumed)


@pytest.mark.parametrize(
    "seed",
    [np.random.SeedSequence(5, spawn_key=(2,)), np.random.RandomState(3), np.int64(4), [1, 2]],
    ids=lambda seed: type(seed).__name__,
)
def test_any_seed_can_be_kept(seed: Any, tmp_path: Path) -> None:
    state = seed.get_state() if isinstance(seed, np.random.RandomState) else None
    expected = run(tmp_path, random_state=seed, refine_steps=3)
    if state is not None:
        seed.set_state(state)
    assert same_bytes(run(tmp_path, random_state=seed, refine_steps=3), expected)


@pytest.mark.parametrize(
    "options",
    [{"structure_samples": 200}, {"refine_steps": 0}, {"correlation_test": False}, {"max_top": 40}],
    ids=str,
)
def test_other_options_resume_too(options: dict[str, Any], tmp_path: Path) -> None:
    expected = run(**options)
    for calls in (20, 40, 60):
        try:
            run(tmp_path, progress=crash_after(calls), **options)
        except CrashError:
            continue
    assert same_bytes(run(tmp_path, **options), expected)


def test_a_table_without_structure(tmp_path: Path) -> None:
    """No variable varies: there is no layer, and that is kept too."""
    X = np.ones((10, 3))
    expected = run(X=X)
    assert expected.n_latents == 0
    for _ in range(2):
        assert same_bytes(run(tmp_path, X=X), expected)


# ---- refusals


class TestAnotherRun:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"max_top": 7}, "max_top is 2 there and 7 here"),
            ({"refine_steps": 3}, "refine_steps is 25 there and 3 here"),
            ({"random_state": 1}, r"the seed \(random_state\) differs"),
            ({"X": ROWS[:-1]}, "the rows differ"),
            ({"X": np.where(ROWS.toarray() > 0, 3.5, 1.5)}, "the binary rule differs"),
        ],
    )
    def test_says_what_differs(self, options: dict[str, Any], message: str, tmp_path: Path) -> None:
        run(tmp_path)
        content = (tmp_path / LAYERS_FILE).read_bytes()
        with pytest.raises(ModelFileError, match=f"another run: .*{message}.* delete this one"):
            run(tmp_path, **options)
        assert (tmp_path / LAYERS_FILE).read_bytes() == content

    def test_another_version(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        run(tmp_path)
        monkeypatch.setattr("tsenet.__version__", "99.0")
        with pytest.raises(ModelFileError, match=r"tsenet version is .* there and 99\.0 here"):
            run(tmp_path)

    def test_the_number_of_threads_does_not_matter(self, whole: LatentTree, tmp_path: Path) -> None:
        run(tmp_path, n_jobs=2)
        assert same_bytes(run(tmp_path, n_jobs=1), whole)


class TestDamage:
    @pytest.mark.parametrize("name", [LAYERS_FILE, REFINEMENT_FILE])
    def test_a_changed_bit(self, name: str, tmp_path: Path) -> None:
        run(tmp_path)
        content = bytearray((tmp_path / name).read_bytes())
        content[-1] ^= 1
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelFileError, match=f"{name}.*altered or cut off.*Delete the folder"):
            run(tmp_path)
        assert (tmp_path / name).read_bytes() == content

    @pytest.mark.parametrize("length", [0, 5, 60, 100, 1000])
    def test_a_cut_file(self, length: int, tmp_path: Path) -> None:
        run(tmp_path)
        content = (tmp_path / LAYERS_FILE).read_bytes()
        (tmp_path / LAYERS_FILE).write_bytes(content[:length])
        with pytest.raises(ModelFileError, match="Delete the folder"):
            run(tmp_path)

    @pytest.mark.parametrize(
        ("name", "array", "value", "message"),
        [
            (LAYERS_FILE, "0.latent_of", 10_000, "a latent that does not exist"),
            (LAYERS_FILE, "0.latent_of", -2, "a latent that does not exist"),
            (LAYERS_FILE, "0.prior", np.nan, "prior of layer 1 is not between 0 and 1"),
            (LAYERS_FILE, "0.table", 1.5, "table of layer 1 is not between 0 and 1"),
            (LAYERS_FILE, "top.latent", 10_000, "outside 0"),
            (LAYERS_FILE, "top.latent", -1, "outside 0"),
            (LAYERS_FILE, "top.indptr", 7, "indptr"),
            (LAYERS_FILE, "top.logodds", np.nan, "log-odds are not all numbers"),
            (REFINEMENT_FILE, "cpt", np.inf, "not all finite"),
        ],
    )
    def test_wrong_numbers_with_a_right_digest(
        self, name: str, array: str, value: float, message: str, tmp_path: Path
    ) -> None:
        """The kernels trust every index, so a file with a valid digest is checked too."""
        run(tmp_path)
        fields, arrays = read_checkpoint(tmp_path / name)
        arrays[array] = arrays[array].copy()
        arrays[array].flat[0] = value
        write_checkpoint(tmp_path / name, fields, arrays)
        with pytest.raises(ModelFileError, match=f"{message}.*Delete the folder"):
            run(tmp_path)

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            (LAYERS_FILE, {"n_layers": 9}),
            (LAYERS_FILE, {"n_layers": "many"}),
            (LAYERS_FILE, {"run": None}),
            (REFINEMENT_FILE, {"done": 1000}),
            (REFINEMENT_FILE, {"done": -1}),
        ],
    )
    def test_wrong_fields_with_a_right_digest(
        self, name: str, change: dict[str, Any], tmp_path: Path
    ) -> None:
        run(tmp_path)
        fields, arrays = read_checkpoint(tmp_path / name)
        write_checkpoint(tmp_path / name, {**fields, **change}, arrays)
        with pytest.raises(ModelFileError, match="Delete the folder"):
            run(tmp_path)

    def test_wrong_shapes_with_a_right_digest(self, tmp_path: Path) -> None:
        run(tmp_path)
        fields, arrays = read_checkpoint(tmp_path / REFINEMENT_FILE)
        write_checkpoint(tmp_path / REFINEMENT_FILE, fields, {**arrays, "on": arrays["on"][1:]})
        with pytest.raises(ModelFileError, match=r"on is float64 \(59, 2\), not float64 \(60, 2\)"):
            run(tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="must be a folder"):
        run(tmp_path / "file")


def test_leftovers_of_a_killed_run_are_removed(whole: LatentTree, tmp_path: Path) -> None:
    (tmp_path / f".{LAYERS_FILE}.0123456789abcdef.tmp").write_text("half a file")
    assert same_bytes(run(tmp_path), whole)
    assert sorted(file.name for file in tmp_path.iterdir()) == [LAYERS_FILE, REFINEMENT_FILE]
