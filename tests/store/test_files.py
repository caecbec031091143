"""Model files: what is written comes back, nothing else is accepted, and the specification's example reads them."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.store.models import forged, models
from tsenet.errors import DataError, ModelFileError
from tsenet.skeleton.tree import LatentTree
from tsenet.store import load, load_parts, save, save_parts
from tsenet.store.files import DTYPES, FORMAT_VERSION, KINDS

META = {
    "title": "été ☃",
    "ratio": 0.1 + 0.2,
    "nested": {"list": [1, None, True, "x"]},
    "big": 2**60,
}


ARRAYS = {
    "weights": np.arange(6, dtype=np.float64).reshape(2, 3) / 7,
    "inner/flags": np.array([True, False, True]),
    "empty": np.zeros((0, 4), dtype=np.int32),
    "scalar": np.array(5, dtype=np.int64),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.tsenet"


def split(content: bytes) -> tuple[dict[str, Any], bytes]:
    """A file's header and the bytes of its arrays."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def join(header: dict[str, Any] | str, data: bytes) -> bytes:
    text = (header if isinstance(header, str) else canonical(header)).encode(
        "utf-8", "surrogatepass"
    )
    return len(text).to_bytes(8, "little") + text + data


def manifest_of(header: dict[str, Any]) -> dict[str, Any]:
    return json.loads(header["__metadata__"]["tsenet"])


def sealed(header: dict[str, Any], data: bytes) -> bytes:
    """A file with a SHA-256 that fits its header and arrays: a forger can compute it too."""
    metadata = {k: v for k, v in header["__metadata__"].items() if k != "sha256"}
    text = canonical({**header, "__metadata__": metadata}).encode()
    metadata["sha256"] = hashlib.sha256(text + data).hexdigest()
    return join({**header, "__metadata__": metadata}, data)


def same(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    return (
        left.dtype == right.dtype
        and left.shape == right.shape
        and left.tobytes() == right.tobytes()
    )


class TestRoundTrip:
    def test_parts_come_back(self, path: Path) -> None:
        save_parts(path, "Thing", META, ARRAYS)
        kind, meta, arrays = load_parts(path)
        assert kind == "Thing"
        assert meta == META
        assert arrays.keys() == ARRAYS.keys()
        assert all(same(arrays[name], ARRAYS[name]) for name in ARRAYS)

    def test_tree_comes_back(self, path: Path, tree: LatentTree) -> None:
        save(tree, path)
        assert load(path) == tree
        assert load(path, "LatentTree") == tree

    def test_odd_names_come_back(self, path: Path, make_tree: Callable[..., LatentTree]) -> None:
        odd = make_tree(("", "a\nb", "☃", "a\u200db", '"quoted\\"'))
        save(odd, path)
        assert load(path).names == odd.names

    def test_the_machine_and_the_session_leave_no_trace(self, path: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.tsenet"
        model = models()["classifier"]
        save(model, path)
        save(copy(model).set_params(n_jobs=7, progress=True), other)
        assert other.read_bytes() == path.read_bytes()
        assert load(other).n_jobs is None

    def test_equal_objects_give_equal_bytes_in_any_process(
        self, path: Path, tmp_path: Path, tree: LatentTree
    ) -> None:
        save(tree, path)
        other = tmp_path / "other.tsenet"
        program = f"from tsenet.store import load, save; save(load({str(path)!r}), {str(other)!r})"
        for seed in ("1", "2", "3"):
            subprocess.run(
                [sys.executable, "-c", program],
                check=True,
                env={**os.environ, "PYTHONHASHSEED": seed},
            )
            assert other.read_bytes() == path.read_bytes()

    def test_the_safetensors_library_reads_the_file(self, path: Path) -> None:
        save_parts(path, "Thing", META, ARRAYS)
        with safetensors.safe_open(path, framework="numpy") as file:
            assert sorted(file.keys()) == sorted(ARRAYS)
            assert all(same(file.get_tensor(name), ARRAYS[name]) for name in ARRAYS)
            manifest = json.loads(file.metadata()["tsenet"])
        assert manifest["kind"] == "Thing"

    @settings(max_examples=30, deadline=None)
    @given(
        array=hnp.arrays(
            st.sampled_from(["?", "<i4", ">i4", "<f4", "<f8", ">f8", "<i8"]),
            hnp.array_shapes(min_dims=0, min_side=0, max_side=4),
        ),
        meta=st.dictionaries(
            st.text(),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers(-(2**70), 2**70)
                | st.floats(allow_nan=False, allow_infinity=False)
                | st.text(),
                lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                max_leaves=8,
            ),
        ),
    )
    def test_any_parts_come_back(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        array: np.ndarray[Any, Any],
        meta: dict[str, Any],
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "any.tsenet"
        save_parts(path, "Thing", meta, {"array": array})
        _, found, arrays = load_parts(path)
        assert found == meta
        assert same(arrays["array"], array.astype(array.dtype.newbyteorder("<"), order="C"))


class TestSaveRefuses:
    @pytest.mark.parametrize(
        "meta",
        [
            {"x": math.nan},
            {"x": math.inf},
            {"x": (1, 2)},
            {1: "x"},
            {"x": {1, 2}},
            {"x": b"bytes"},
        ],
        ids=repr,
    )
    def test_metadata_that_would_not_come_back(self, path: Path, meta: dict[Any, Any]) -> None:
        with pytest.raises((TypeError, ValueError)):
            save_parts(path, "Thing", meta, {})
        assert not path.exists()

    @pytest.mark.parametrize("dtype", ["O", "U3", "c16", "f2", "u8", "M8[s]", "i4,f8"])
    def test_array_types_without_a_file_form(self, path: Path, dtype: str) -> None:
        with pytest.raises(TypeError, match="'a'"):
            save_parts(path, "Thing", {}, {"a": np.zeros(2, dtype=dtype)})
        assert not path.exists()

    @pytest.mark.parametrize(
        "name", ["", "../x", "/x", "a//b", "a/../b", ".", "__metadata__", "a b", "é"]
    )
    def test_part_names_that_look_like_paths(self, path: Path, name: str) -> None:
        with pytest.raises(ModelFileError, match="part name"):
            save_parts(path, "Thing", {}, {name: np.zeros(1)})
        assert not path.exists()

    def test_an_object_that_could_not_be_loaded(self, path: Path) -> None:
        """What `load` would refuse is not written, and the file that was there stays."""
        model = copy(models()["regressor"])
        save(model, path)
        before = path.read_bytes()
        model.targets_ = copy(model.targets_)
        model.targets_.output_scale = np.array([1.0, np.nan])
        with pytest.raises(DataError, match=r"cannot be saved.*shift and scale"):
            save(model, path)
        assert path.read_bytes() == before

    def test_objects_without_a_file_form(self, path: Path) -> None:
        with pytest.raises(TypeError, match="dict cannot be saved"):
            save({}, path)  # type: ignore[arg-type]  # the wrong type is the point


class TestLoadRefuses:
    """Forged files. Each is made from a good one, which is first seen to load."""

    @pytest.fixture
    def good(self, path: Path) -> bytes:
        save_parts(path, "Thing", META, ARRAYS)
        load_parts(path)
        return path.read_bytes()

    @staticmethod
    def refused(path: Path, content: bytes, message: str) -> None:
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=message) as caught:
            load_parts(path)
        assert str(path) in str(caught.value)

    def with_manifest(self, good: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
        """The file with a changed manifest and a SHA-256 that fits."""
        header, data = split(good)
        manifest = manifest_of(header)
        change(manifest)
        header["__metadata__"]["tsenet"] = canonical(manifest)
        return sealed(header, data)

    def test_nothing_there(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match="there is no file"):
            load_parts(tmp_path / "absent.tsenet")

    def test_a_pipe_does_not_hang(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="not a regular file"):
            load_parts(tmp_path / "pipe")

    @pytest.mark.parametrize(
        "content", [b"", b"PK\x03\x04", b"\x80\x04\x95pickle....", b"\0" * 8, b"\0" * 99]
    )
    def test_other_files(self, path: Path, content: bytes) -> None:
        self.refused(path, content, "truncated|not a safetensors|JSON")

    def test_every_truncation(self, path: Path, good: bytes) -> None:
        for length in range(len(good)):
            self.refused(path, good[:length], "truncated")

    def test_bytes_behind_the_end(self, path: Path, good: bytes) -> None:
        self.refused(path, good + b"x", "too long")

    def test_altered_array(self, path: Path, good: bytes) -> None:
        header, data = split(good)
        self.refused(path, join(header, bytes([data[0] ^ 1]) + data[1:]), "SHA-256")

    def test_header_larger_than_any(self, path: Path, good: bytes) -> None:
        self.refused(path, b"\xff" * 8 + good[8:], "header was altered")

    def test_huge_file_is_refused_before_it_is_read(self, path: Path, good: bytes) -> None:
        os.truncate(path, 2**40)  # a hole: it takes no space on the disk, but would in memory
        with pytest.raises(ModelFileError, match="more than any"):
            load_parts(path)

    def test_claimed_sizes_beyond_the_file(self, path: Path, good: bytes) -> None:
        """The counterpart of a zip bomb: few bytes that claim to be many."""
        header, data = split(good)
        header["weights"].update(shape=[2**20, 2**20], data_offsets=[0, 8 * 2**40])
        self.refused(path, sealed(header, data), "begin|truncated")

    @pytest.mark.parametrize(
        ("header", "message"),
        [
            ("[]", "JSON"),
            ("{", "JSON"),
            ("{} x", "JSON"),
            ("{ }", "JSON"),
            ('{"a":NaN}', "JSON"),
            ('{"a":1e999}', "JSON"),
            ('{"a":1,"a":1}', "JSON"),
            ('{"b":1,"a":1}', "JSON"),
            ('{"é":1}', "JSON"),
            ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "JSON"),
            ('{"a":' + "9" * 10_000 + "}", "JSON"),
            ("{}", "without a manifest"),
            ('{"__metadata__":[]}', "without a manifest"),
            ('{"__metadata__":{}}', "without a manifest"),
            ('{"__metadata__":{"tsenet":3}}', "without a manifest"),
            ('{"__metadata__":{"format":"pt"}}', "without a manifest"),
            ('{"__metadata__":{"sha256":"","tsenet":"","x":""}}', "without a manifest"),
            ('{"__metadata__":{"sha256":3,"tsenet":""}}', "without a manifest"),
            ('{"__metadata__":{"sha256":"","tsenet":""}}', "SHA-256"),
            ('{"__metadata__":{"sha256":"","tsenet":"\\ud800\\n\\udfff"}}', "SHA-256"),
        ],
        ids=range(20),
    )
    def test_bad_headers(self, path: Path, header: str, message: str) -> None:
        self.refused(path, join(header, b""), message)

    @pytest.mark.parametrize(
        ("manifest", "message"),
        [
            ("", "JSON"),
            ("[]", "JSON"),
            ("{}", "its format is None"),
            ('{"format":"tsenet-model"}', "version None"),
            ('{"format":"tsenet-model","format":"tsenet-model"}', "JSON"),
        ],
    )
    def test_bad_manifests(self, path: Path, manifest: str, message: str) -> None:
        self.refused(path, sealed({"__metadata__": {"tsenet": manifest}}, b""), message)

    @pytest.mark.parametrize(
        ("field", "value", "message"),
        [
            ("format", "other", "its format is 'other'"),
            ("format_version", FORMAT_VERSION + 1, "version 5"),
            ("format_version", FORMAT_VERSION - 1, "version 3"),
            ("format_version", 0, "version 0"),
            ("format_version", True, "version True"),
            ("format_version", "4", "version '4'"),
            ("kind", "os:system", "kind"),
            ("kind", None, "kind"),
            ("tsenet_version", 1, "tsenet_version"),
            ("meta", [], "meta"),
            ("extra", 1, "extra in the manifest"),
        ],
    )
    def test_bad_fields(
        self, path: Path, good: bytes, field: str, value: Any, message: str
    ) -> None:
        self.refused(path, self.with_manifest(good, lambda m: m.update({field: value})), message)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("dtype", "O"),
            ("dtype", ["F64"]),
            ("dtype", "F32"),  # too few bytes
            ("shape", [2, -3]),
            ("shape", [-2, -3]),
            ("shape", [2, 3.0]),
            ("shape", [6, True]),
            ("shape", "23"),
            ("shape", [1] * 7 + [2, 3]),
            ("shape", [2**40, 2**40]),
            ("shape", [2**64, 0]),
            ("shape", [5]),
            ("path", "/etc/passwd"),
        ],
    )
    def test_bad_part_descriptions(self, path: Path, good: bytes, field: str, value: Any) -> None:
        header, data = split(good)
        header["weights"][field] = value
        self.refused(path, sealed(header, data), "'weights'")

    @pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "C:\\x", "a\0b", "", "."])
    def test_part_names_that_look_like_paths(self, path: Path, good: bytes, name: str) -> None:
        header, data = split(good)
        header[name] = header.pop("weights")
        self.refused(path, sealed(header, data), "not a part name")

    def test_part_twice(self, path: Path, good: bytes) -> None:
        header, data = split(good)
        text = canonical(header)[:-1] + f',"weights":{canonical(header["weights"])}}}'
        self.refused(path, join(text, data), "JSON")

    @pytest.mark.parametrize(
        "offsets",
        [[0, 48], [-1, 47], [8, 55], [8], [], "8", None, [8, 56, 56], [8.5, 56.5]],
        ids=repr,
    )
    def test_bad_offsets(self, path: Path, good: bytes, offsets: Any) -> None:
        header, data = split(good)
        header["weights"]["data_offsets"] = offsets
        self.refused(path, sealed(header, data), "'weights'|begin|too long")

    def test_overlapping_parts(self, path: Path, tmp_path: Path) -> None:
        save_parts(path, "Thing", {}, {"a": np.ones(2), "b": np.ones(2)})
        header, data = split(path.read_bytes())
        header["b"]["data_offsets"] = [0, 16]
        self.refused(path, sealed(header, data[:16]), "does not begin")

    def test_booleans_that_are_neither(self, path: Path) -> None:
        save_parts(path, "Thing", {}, {"flags": np.array([True])})
        header, _ = split(path.read_bytes())
        self.refused(path, sealed(header, b"\x02"), "neither 0 nor 1")


class TestObjects:
    def test_unknown_kind(self, path: Path) -> None:
        save_parts(path, "Thing", META, ARRAYS)
        with pytest.raises(ModelFileError, match="holds a Thing, which this tsenet does not know"):
            load(path)

    def test_wrong_kind(self, path: Path, tree: LatentTree) -> None:
        save(tree, path)
        with pytest.raises(ModelFileError, match="holds a LatentTree, but a Wiring is needed"):
            load(path, "Wiring")

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("parent", np.array([5, 5, 6, 6, -1, 6, 5], dtype=np.int32)),  # a cycle
            ("parent", np.array([99, 5, 6, 6, -1, -1, 5], dtype=np.int32)),  # out of range
            ("parent", np.zeros((7, 7), dtype=np.int32)),
            ("level", np.array([0, 0, 0, 0, 0, 1], dtype=np.int32)),
            ("cpt", np.full((7, 2, 2), 0.7)),  # rows that sum to 1.4
            ("cpt", np.full((7, 2, 2), np.nan)),
            ("cpt", np.zeros((7, 2), dtype=np.float64)),
        ],
    )
    def test_arrays_that_are_no_tree(
        self, path: Path, tree: LatentTree, field: str, value: np.ndarray[Any, Any]
    ) -> None:
        meta, arrays = tree.to_parts()
        save_parts(path, "LatentTree", meta, {**arrays, field: value})
        with pytest.raises(ModelFileError, match="valid LatentTree"):
            load(path)

    def test_parts_the_object_does_not_know(self, path: Path, tree: LatentTree) -> None:
        meta, arrays = tree.to_parts()
        save_parts(path, "LatentTree", meta, {**arrays, "secret": np.zeros(1)})
        with pytest.raises(ModelFileError, match="array 'secret' is unknown"):
            load(path)
        save_parts(path, "LatentTree", {**meta, "secret": 1}, arrays)
        with pytest.raises(ModelFileError, match="field 'secret' is unknown"):
            load(path)

    def test_flipping_the_lowest_bit_of_every_byte(self, path: Path, tree: LatentTree) -> None:
        save(tree, path)
        good = path.read_bytes()
        refused = 0
        for place in range(len(good)):
            content = bytearray(good)
            content[place] ^= 1
            path.write_bytes(content)
            try:
                assert load(path) == tree
            except ModelFileError:
                refused += 1
        assert refused == len(good)

    @settings(max_examples=100, deadline=None)
    @given(data=st.data())
    def test_flipping_any_bits_of_a_byte(
        self, tmp_path_factory: pytest.TempPathFactory, tree: LatentTree, data: st.DataObject
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "flipped.tsenet"
        save(tree, path)
        content = bytearray(path.read_bytes())
        header_end = 8 + int.from_bytes(content[:8], "little")
        place = data.draw(
            st.integers(0, 7) | st.integers(8, header_end) | st.integers(0, len(content) - 1)
        )
        content[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        try:
            found = load(path)
        except ModelFileError:
            return
        assert found == tree

    @settings(max_examples=80, deadline=None)
    @given(content=st.binary(max_size=200))
    def test_any_bytes_are_refused(
        self, tmp_path_factory: pytest.TempPathFactory, content: bytes
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "bytes.tsenet"
        path.write_bytes(content)
        with pytest.raises(ModelFileError):
            load(path)


# ---- files whose hashes fit and whose content is wrong: each is refused without much memory


Change = Callable[[dict[str, Any], dict[str, Any]], None]


def put(*path_and_value: Any) -> Change:
    """Set a field of the metadata."""
    *path, last, value = path_and_value

    def change(meta: dict[str, Any], arrays: dict[str, Any]) -> None:
        for key in path:
            meta = meta[key]
        meta[last] = value

    return change


def array(name: str, change_array: Callable[[Any], Any]) -> Change:
    """Replace an array."""

    def change(meta: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = change_array(arrays[name])

    return change


def filled(value: Any) -> Callable[[Any], Any]:
    def change(old: Any) -> Any:
        new = old.copy()
        new.flat[0] = value
        return new

    return change


@pytest.mark.parametrize(
    "name", ["tree", "wiring", "transformer", "classifier", "labels", "regressor"]
)
def test_every_kind_comes_back(tmp_path: Path, name: str) -> None:
    path, again = tmp_path / "model.tsenet", tmp_path / "again.tsenet"
    save(models()[name], path)
    save(load(path), again)
    assert path.read_bytes() == again.read_bytes()


def wrapping(indptr: Any) -> Any:
    """Positions whose differences in int64 are never negative."""
    new = np.concatenate([indptr, indptr[-1:], indptr[-1:]])
    new[1:3] = 2**63 - 1, -(2**63) + indptr[-1] + 1
    return new


WIDE = {"n_columns_in": 10**8, "names_in": None, "thresholds": {}, "levels": {}}


GREEDY = {
    "columns of a rule": ("tree", put("rule", WIDE)),
    "columns of a model": ("classifier", put("rule", WIDE)),
    "classes": ("classifier", put("target", "classes", "type", "<U536870911")),
    "labels": ("labels", put("target", "n_labels", 10**9)),
    "skip units": ("classifier", put("network", "skip_units", 20_000_000)),
    "feature units": ("classifier", put("network", "feature_units", 2**40)),
    "units per latent": ("labels", put("network", "units_per_latent", 2**20)),
    "trainings": ("classifier", put("n_runs", 10**12)),
}


@pytest.mark.parametrize("case", GREEDY)
def test_small_files_cannot_claim_much(tmp_path: Path, case: str) -> None:
    path = tmp_path / "greedy.tsenet"
    forged(path, *GREEDY[case])
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * path.stat().st_size + 50e6


def test_lists_take_more_memory_than_bytes_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a file with too many is neither read nor, as nothing could read it, written."""
    path = tmp_path / "lists.tsenet"
    meta = {"source": [[]] * 500_001}
    with pytest.raises(ModelFileError, match="lists"):
        save_parts(path, "Thing", meta, {})
    assert not path.exists()
    with monkeypatch.context() as another_writer:
        another_writer.setattr("tsenet.store.files._MAX_CONTAINERS", 10**6)
        save_parts(path, "Thing", meta, {})
    with pytest.raises(ModelFileError, match="lists"):
        load_parts(path)


WRONG = {
    "positions that wrap around": ("wiring", array("0.indptr", wrapping)),
    "names that are numbers": ("wiring", put("names", [[1, 2], [3]])),
    "a rule that is none": ("wiring", put("link_rule", 3)),
    "infinite scale of a target": ("regressor", array("target.scale", filled(np.inf))),
    "negative scale of a target": ("regressor", array("target.scale", filled(-1.0))),
    "zero scale of a target": ("regressor", array("target.scale", filled(0.0))),
    "NaN shift of a target": ("regressor", array("target.shift", filled(np.nan))),
    "shift of another shape": ("regressor", array("target.shift", lambda a: a[:, None])),
    "shift of another length": ("regressor", array("target.shift", lambda a: a[:1])),
    "one target of two": ("regressor", put("target", "one_target", True)),
    "scaling of another shape": ("regressor", array("scaling.scale", lambda a: a[None])),
    "scaling of another type": ("regressor", array("scaling.scale", lambda a: a.astype("f4"))),
    "negative scale": ("regressor", array("scaling.scale", filled(-1.0))),
    "features of a transformer": ("transformer", put("tree", "rule", "n_columns_in", 7)),
    "half a feature": ("transformer", put("tree", "rule", "n_columns_in", 8.5)),
    "names of a transformer": ("transformer", put("tree", "rule", "names_in", ["a"])),
    "names that are no strings": ("classifier", put("rule", "names_in", [1, 2, 3, 4, 5, 6, 7])),
    "no thread": ("transformer", put("params", "n_jobs", 0)),
    "threads of text": ("classifier", put("params", "n_jobs", "all")),
    "half a thread": ("classifier", put("params", "n_jobs", 0.5)),
    "trainings before the first": ("classifier", put("n_runs", -1)),
    "a source of text": ("classifier", put("source", "file.csv")),
    "one class": ("classifier", put("target", "classes", {"type": "<U3", "values": ["yes"]})),
    "classes out of order": ("classifier", put("target", "classes", "values", ["yes", "no"])),
    "links to no unit": ("classifier", array("wiring.0.indices", filled(-1))),
    "links beyond the inputs": ("classifier", array("wiring.0.indices", filled(10**6))),
    "links that are missing": ("classifier", array("wiring.0.indices", lambda a: a[:-1])),
    "positions of links that wrap around": ("classifier", array("wiring.0.indptr", wrapping)),
    "importances of other columns": ("classifier", array("importances", lambda a: a[:-1])),
    "weights of another type": ("classifier", array("net.top.weight", lambda a: a.astype("f8"))),
    "weights of another shape": ("classifier", array("net.top.weight", lambda a: a.T)),
    "an infinite weight": ("classifier", array("net.top.weight", filled(np.inf))),
    "a whole number written with a point": ("classifier", put("network", "skip_units", 3.0)),
    "a number that is a truth value": ("classifier", put("network", "feature_units", True)),
    "a linear skip of text": ("classifier", put("network", "linear_skip", "x")),
    "a linear skip of 1": ("classifier", put("network", "linear_skip", 1)),
    "dropout of text": ("classifier", put("network", "dropout", "0.5")),
    "a truth value that is a number": ("classifier", put("pruned", 0)),
    "counts of text": ("classifier", put("counts", "")),
    "length 1 of no counts": ("classifier", put("unit_length", True)),
    "a score of nothing": ("classifier", put("cv_score", "scored", "guesses")),
    "a score of text": ("classifier", put("cv_score", "value", "0.9")),
    "a score of half a row": ("classifier", put("cv_score", "n_rows", 0.5)),
    "threads of another machine": ("classifier", put("params", "n_jobs", 2)),
    "half an epoch": ("classifier", put("history", "best_epoch", 0.5)),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parts_are_refused(tmp_path: Path, case: str) -> None:
    path = tmp_path / "wrong.tsenet"
    forged(path, *WRONG[case])
    with pytest.raises(ModelFileError, match="does not describe a valid"):
        load(path)


# ---- the specification's own example reads what the program writes


PAGE = Path(__file__).parents[2] / "docs" / "file-format.md"


def test_the_example_runs(
    tree: LatentTree,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    save(tree, tmp_path / "tree.tsenet")
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == f"LatentTree {list(tree.names[:5])} {tree.parent[:5]}\n"


def test_the_page_names_what_the_program_knows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"format version {FORMAT_VERSION}." in text
    assert all(f"`{name}`" in text for name in DTYPES)
    assert all(f'`"{kind}"`' in text for kind in KINDS)
