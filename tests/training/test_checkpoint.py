"""Checkpoint files: what is written comes back to the last bit, and nothing else does."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from safetensors.numpy import save as to_safetensors

from tests.training.examples import history_of, same_bytes
from tsenet.errors import ModelFileError
from tsenet.training.checkpoint import Checkpoint, Position, digest_of

RUN = {"data": "abc", "options": {"learning_rate": 0.1, "max_epochs": 3}, "seed": 2**70}
STATE = {
    "parameter.layers.0.weight": np.linspace(0, 1, 7, dtype=np.float32),
    "n_steps": np.array([12]),
    "scalar": np.array(3),
    "turned": np.arange(6.0).reshape(2, 3).T,
}
POSITION = Position(
    history_of(0.5, 0.6), 3, 0.1 + 0.2, 1e-3, {"layers.0.weight": np.ones(2, np.float32)}
)


@pytest.fixture
def written(tmp_path: Path) -> Checkpoint:
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    checkpoint.save(RUN, POSITION, STATE)
    return checkpoint


def test_everything_comes_back(written: Checkpoint) -> None:
    loaded = written.load(RUN)
    assert loaded is not None
    position, state = loaded
    assert same_bytes(state, STATE)
    assert {name: array.shape for name, array in state.items()} == {
        name: array.shape for name, array in STATE.items()
    }
    assert position.history == POSITION.history
    assert (position.batch, position.loss_sum, position.seconds) == (3, 0.1 + 0.2, 1e-3)
    assert position.best is not None
    assert same_bytes(position.best, POSITION.best or {})


def test_no_best_weights_yet(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "run.ckpt")
    checkpoint.save(RUN, Position(), STATE)
    loaded = checkpoint.load(RUN)
    assert loaded is not None
    assert loaded[0].best is None
    assert loaded[0].history.n_epochs == 0


def test_no_file_is_a_fresh_start(tmp_path: Path) -> None:
    assert Checkpoint(tmp_path / "run.ckpt").load(RUN) is None


def test_no_folder_is_said_before_hours_of_training(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        Checkpoint(tmp_path / "missing" / "run.ckpt").load(RUN)


def test_leftovers_of_a_killed_writer_are_swept_away(written: Checkpoint) -> None:
    folder = Path(written.path).parent
    (folder / ".run.ckpt.0123456789abcdef.tmp").write_bytes(b"half")
    written.load(RUN)
    assert [entry.name for entry in folder.iterdir()] == ["run.ckpt"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 1}, "other seed"),
        ({"data": "x"}, "other data"),
        ({"options": {}}, "other options"),
        ({"seed": 1, "data": "x"}, "other data, seed"),
    ],
)
def test_another_run_is_refused(written: Checkpoint, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelFileError, match=f"another training run, with {said}"):
        written.load({**RUN, **change})


class TestDamage:
    def test_every_flipped_bit_is_noticed(self, written: Checkpoint) -> None:
        path = Path(written.path)
        content = path.read_bytes()
        for place in range(0, len(content), 5):
            damaged = bytearray(content)
            damaged[place] ^= 1 << (place % 8)
            path.write_bytes(damaged)
            with pytest.raises(ModelFileError, match=r"run\.ckpt cannot be used"):
                written.load(RUN)

    def test_every_cut_is_noticed(self, written: Checkpoint) -> None:
        path = Path(written.path)
        content = path.read_bytes()
        for length in [*range(0, len(content), 7), len(content) - 1]:
            path.write_bytes(content[:length])
            with pytest.raises(ModelFileError, match="Delete it to train from the start"):
                written.load(RUN)

    def test_bytes_too_many_are_noticed(self, written: Checkpoint) -> None:
        path = Path(written.path)
        path.write_bytes(path.read_bytes() + b"\0")
        with pytest.raises(ModelFileError, match="SHA-256"):
            written.load(RUN)

    @pytest.mark.parametrize("content", [b"", b"\n", b"tsenet-checkpoint 2 00\n", b"PK\3\4 zip"])
    def test_other_files_are_refused(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "run.ckpt").write_bytes(content)
        with pytest.raises(ModelFileError, match="no checkpoint that this version"):
            Checkpoint(tmp_path / "run.ckpt").load(RUN)

    def test_a_pickle_is_never_opened(self, tmp_path: Path) -> None:
        archive = io.BytesIO()
        np.save(archive, np.array([{}], dtype=object), allow_pickle=True)
        self.forge(tmp_path, archive.getvalue())
        with pytest.raises(ModelFileError, match=r"cannot be read|does not hold a training run"):
            Checkpoint(tmp_path / "run.ckpt").load(RUN)

    @pytest.mark.parametrize(
        "fields",
        [
            None,
            {},
            {"run": RUN, "batch": 0},
            {"run": 3, "batch": 0, "loss_sum": 0, "seconds": 0, "history": {}, "has_best": False},
            {
                "run": RUN,
                "batch": "many",
                "loss_sum": 0,
                "seconds": 0,
                "history": history_of(0.5).to_dict(),
                "has_best": False,
            },
        ],
    )
    def test_a_forged_file_with_a_right_digest_is_refused(
        self, tmp_path: Path, fields: dict[str, Any] | None
    ) -> None:
        metadata = None if fields is None else {"tsenet": json.dumps(fields)}
        self.forge(tmp_path, to_safetensors(STATE, metadata))
        with pytest.raises(ModelFileError, match=r"cannot be read|does not hold a training run"):
            Checkpoint(tmp_path / "run.ckpt").load(RUN)

    @staticmethod
    def forge(folder: Path, body: bytes) -> None:
        head = f"tsenet-checkpoint 1 {hashlib.sha256(body).hexdigest()}\n".encode()
        (folder / "run.ckpt").write_bytes(head + body)


@pytest.mark.parametrize(("every", "due"), [(None, []), (1, [1, 2, 3, 4, 5]), (2, [2, 4]), (6, [])])
def test_when_it_is_due_within_an_epoch(every: int | None, due: list[int]) -> None:
    checkpoint = Checkpoint("x", every_batches=every)
    assert [batch for batch in range(1, 6) if checkpoint.is_due(batch)] == due


def test_every_zero_batches_is_refused() -> None:
    with pytest.raises(ValueError, match="every_batches must be at least 1"):
        Checkpoint("x", every_batches=0)


some_arrays = st.dictionaries(
    st.text("abc.0", min_size=1, max_size=4),
    arrays.arrays(
        st.sampled_from([np.float32, np.float64, np.int64, np.bool_]),
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    ),
    max_size=4,
)


@given(some_arrays, st.none() | some_arrays)
def test_any_arrays_come_back(
    state: dict[str, NDArray[Any]], best: dict[str, NDArray[Any]] | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(Path(folder) / "file")
        checkpoint.save(RUN, Position(best=best), state)
        loaded = checkpoint.load(RUN)
    assert loaded is not None
    assert same_bytes(loaded[1], state)
    assert (loaded[0].best is None) == (best is None)
    assert same_bytes(loaded[0].best or {}, best or {})


def test_a_digest_tells_data_apart() -> None:
    a = np.arange(6)
    different = [
        digest_of(a),
        digest_of(a, None),
        digest_of(a.astype(np.int32)),
        digest_of(a.astype(np.float64)),
        digest_of(a.reshape(2, 3)),
        digest_of(a[:3], a[3:]),
        digest_of(a[::-1]),
        digest_of(np.empty(0, np.int64)),
        digest_of(),
    ]
    assert len(set(different)) == len(different)
    assert digest_of(np.asfortranarray(a.reshape(2, 3))) == digest_of(a.reshape(2, 3))
