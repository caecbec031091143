"""Tox21 from structures and from DeepTox's feature files."""

from __future__ import annotations

import gzip
import io
import logging
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.datasets.makers import SMILES, DeepToxFiles, dict_csv, tox21_rows, write
from tsenet.datasets import Dataset, load
from tsenet.datasets.catalog import CATALOG, TOX21_LABELS
from tsenet.datasets.chemistry import describe_cached
from tsenet.errors import DataError, MissingDependencyError
from tsenet.progress import Progress

Rows = list[dict[str, str]]


def load_rows(folder: Path, rows: Rows, name: str = "tox21") -> Dataset:
    write(folder / "tox21.csv.gz", dict_csv(rows))
    return load(name, home=folder)


def labels_of(rows: Rows, which: str) -> NDArray[np.float64]:
    return np.array(
        [
            [float(row[label.replace("-", ".")] or "nan") for label in TOX21_LABELS]
            for row in rows
            if row["set"] == which
        ]
    )


class TestStructures:
    def test_parts(self, tmp_path: Path) -> None:
        rows = tox21_rows()
        dataset = load_rows(tmp_path, rows)
        assert [len(part) for part in dataset.parts.values()] == [60, 10, 12]
        assert dataset.task == "labels"
        assert dataset.class_names == TOX21_LABELS
        for part, which in zip(
            dataset.parts.values(), ("training", "validation", "test"), strict=True
        ):
            np.testing.assert_array_equal(part.y, labels_of(rows, which))
            assert part.texts == tuple(row["smiles"] for row in rows if row["set"] == which)
        assert dataset.card.n_duplicates == 0
        assert any("leaderboard" in note for note in dataset.card.notes)
        assert "No published digest is known for tox21.csv.gz." in dataset.card.notes

    def test_standardised_by_the_training_compounds(self, tmp_path: Path) -> None:
        dataset = load_rows(tmp_path, tox21_rows())
        X = dataset.train.X.astype(np.float64)
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-6)
        np.testing.assert_allclose(X.std(axis=0), 1, atol=1e-5)
        assert np.isfinite(dataset.test.X).all()

    def test_substructures_by_hand(self, tmp_path: Path) -> None:
        """The bits of a fingerprint, counted and chosen by plain sets."""
        from rdkit import Chem
        from rdkit.Chem import rdFingerprintGenerator

        rows = tox21_rows()
        dataset = load_rows(tmp_path, rows)
        generator = rdFingerprintGenerator.GetAtomPairGenerator()
        bits = [
            set(generator.GetSparseFingerprint(Chem.MolFromSmiles(row["smiles"])).GetOnBits())
            for row in rows
        ]
        common = {bit for bit in set().union(*bits) if sum(bit in have for have in bits[:60]) >= 3}
        named = {name for name in dataset.feature_names if name.startswith("pair:")}
        assert named == {f"pair:{bit}" for bit in common}
        bit = next(bit for bit in common if 0.2 < np.mean([bit in have for have in bits]) < 0.8)
        column = dataset.feature_names.index(f"pair:{bit}")
        present = np.array([bit in have for have in bits], float)
        expected = (present - present[:60].mean()) / present[:60].std()
        np.testing.assert_allclose(dataset.train.X[:, column], expected[:60], rtol=1e-5)
        np.testing.assert_allclose(dataset.test.X[:, column], expected[70:], rtol=1e-5)

    def test_descriptor_by_hand(self, tmp_path: Path) -> None:
        from rdkit import Chem
        from rdkit.Chem import Descriptors

        rows = tox21_rows()
        dataset = load_rows(tmp_path, rows)
        weight = np.array([Descriptors.MolWt(Chem.MolFromSmiles(row["smiles"])) for row in rows])
        weight = np.clip(weight, *np.quantile(weight[:60], [0.005, 0.995]))
        expected = (weight - weight[:60].mean()) / weight[:60].std()
        column = dataset.feature_names.index("MolWt")
        np.testing.assert_allclose(dataset.test.X[:, column], expected[70:], rtol=1e-4, atol=1e-6)
        assert "Ipc" not in dataset.feature_names

    def test_no_leak(self, tmp_path: Path) -> None:
        """Other test and validation compounds change nothing in training."""
        rows = tox21_rows()
        before = load_rows(tmp_path / "a", rows)
        for row in rows:
            if row["set"] != "training":
                row["smiles"] = "OS(=O)(=O)c1ccc(I)cc1Br"
        after = load_rows(tmp_path / "b", rows)
        assert before.feature_names == after.feature_names
        assert np.array_equal(before.train.X, after.train.X)
        assert not np.array_equal(before.test.X, after.test.X)
        rows[0]["smiles"] = "OS(=O)(=O)c1ccc(I)cc1Br"
        other = load_rows(tmp_path / "c", rows)
        shared = [j for j, name in enumerate(other.feature_names) if name in before.feature_names]
        kept = [before.feature_names.index(other.feature_names[j]) for j in shared]
        assert not np.allclose(other.train.X[1:, shared], before.train.X[1:, kept])

    def test_unreadable_molecules_are_left_out(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        rows = tox21_rows()
        rows[5]["smiles"] = "C(C)(C)(C)(C)(C)C"  # carbon with six neighbours
        rows[75]["smiles"] = "not a molecule"
        dataset = load_rows(tmp_path, rows)
        assert [len(part) for part in dataset.parts.values()] == [59, 10, 11]
        assert any("2 molecules that RDKit cannot read" in note for note in dataset.card.notes)
        expected = [row["smiles"] for k, row in enumerate(rows[:60]) if k != 5]
        assert dataset.train.texts == tuple(expected)
        np.testing.assert_array_equal(
            dataset.train.y, np.delete(labels_of(rows, "training"), 5, axis=0)
        )
        assert capfd.readouterr() == ("", "")

    def test_duplicates_by_inchikey(self, tmp_path: Path) -> None:
        rows = tox21_rows()
        rows[71]["inchikey"] = rows[3]["inchikey"]
        rows[73]["inchikey"] = rows[62]["inchikey"]  # of a validation compound
        rows[4]["smiles"] = "not a molecule"  # left out: the rows after it move up
        mask = load_rows(tmp_path, rows).card.in_training
        assert np.flatnonzero(mask).tolist() == [1, 3]

    def test_without_official_validation_a_tenth_is_drawn(self, tmp_path: Path) -> None:
        rows = [row for row in tox21_rows() if row["set"] != "validation"]
        dataset = load_rows(tmp_path, rows)
        assert [len(part) for part in dataset.parts.values()] == [54, 6, 12]
        assert "Validation: 6 compounds drawn from the training set." in dataset.card.notes

    def test_one_label(self, tmp_path: Path) -> None:
        rows = tox21_rows()
        whole = load_rows(tmp_path, rows)
        dataset = load("tox21/SR-HSE", home=tmp_path)
        column = TOX21_LABELS.index("SR-HSE")
        assert dataset.name == "tox21/SR-HSE"
        assert dataset.task == "classes"
        assert dataset.class_names == ("inactive", "active")
        for name, part in dataset.parts.items():
            known = ~np.isnan(whole.parts[name].y[:, column])
            assert 0 < known.sum() < len(known)
            np.testing.assert_array_equal(part.y, whole.parts[name].y[known, column])
            np.testing.assert_array_equal(part.X, whole.parts[name].X[known])
            assert len(part.texts or ()) == known.sum()
        assert dataset.card.n_train == len(dataset.train)

    def test_described_once(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        rows = tox21_rows()
        load_rows(tmp_path, rows)
        with caplog.at_level(logging.INFO, "tsenet"):
            load("tox21/NR-AR", home=tmp_path)
        assert "describing molecules" not in caplog.text

    def test_missing_descriptors_are_filled(self, tmp_path: Path) -> None:
        """Partial charges of selenium are not defined."""
        rows = tox21_rows()
        rows[2]["smiles"] = "O=[Se]=O"
        _, descriptors, _, names = describe_cached([row["smiles"] for row in rows], Progress())
        column = names.index("MaxPartialCharge")
        assert not np.isfinite(descriptors[2, column])
        dataset = load_rows(tmp_path, rows)
        known = np.isfinite(descriptors[:60, column])
        filled = np.where(
            known, descriptors[:60, column], np.median(descriptors[:60, column][known])
        )
        filled = np.clip(filled, *np.quantile(filled, [0.005, 0.995]))
        place = dataset.feature_names.index("MaxPartialCharge")
        expected = (filled - filled.mean()) / filled.std()
        np.testing.assert_allclose(dataset.train.X[:, place], expected, rtol=1e-4, atol=1e-6)

    def test_wrong_files(self, tmp_path: Path) -> None:
        rows = tox21_rows()
        rows[0]["set"] = "trainign"
        with pytest.raises(
            DataError, match="holds 'trainign', expected training, validation, test"
        ):
            load_rows(tmp_path, rows)
        for row in rows:
            del row["smiles"]
        with pytest.raises(DataError, match="has no columns smiles"):
            load_rows(tmp_path, rows)

    def test_without_rdkit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "rdkit", None)
        with pytest.raises(MissingDependencyError, match=r"tsenet\[chem\]"):
            load_rows(tmp_path, tox21_rows())


def test_order_of_molecules_does_not_matter() -> None:
    smiles = [*SMILES, *SMILES[:3]]
    forward = describe_cached(smiles, Progress())
    backward = describe_cached(smiles[::-1], Progress())
    assert forward[0].all()
    np.testing.assert_array_equal(forward[1], backward[1][::-1])
    assert (forward[2] != backward[2][::-1]).nnz == 0
    assert forward[3] == backward[3]
    assert np.array_equal(forward[2][:3].toarray(), forward[2][-3:].toarray())


class TestDeepTox:
    def expected(self, files: DeepToxFiles, train: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Features by plain numpy: all dense ones, sparse ones in at least 5 % of the training rows."""
        common = files.sparse[train].mean(axis=0) >= 0.05
        values = np.hstack([files.dense, files.sparse[:, common]])
        deviation = values[train].std(axis=0)
        return (values - values[train].mean(axis=0)) / np.where(deviation > 0, deviation, 1)

    def test_load(self, tmp_path: Path) -> None:
        files = DeepToxFiles()
        files.write(tmp_path / "tox21")
        dataset = load("tox21", home=tmp_path)
        sets = np.array(files.sets)
        X = self.expected(files, sets == "training")
        assert [len(part) for part in dataset.parts.values()] == [34, 6, 8]
        for part, which in zip(
            dataset.parts.values(), ("training", "validation", "test"), strict=True
        ):
            np.testing.assert_allclose(part.X, X[sets == which], rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(part.y, files.labels[sets == which])
            assert part.texts is None
        assert dataset.feature_names[:2] == ("dense0", "dense1")
        assert dataset.feature_names[-1] == "ECFP_29"
        assert "ECFP_0" not in dataset.feature_names
        assert "DeepTox's 5 dense features" in dataset.card.recipe

    def test_preferred_to_structures(self, tmp_path: Path) -> None:
        DeepToxFiles().write(tmp_path)
        assert "DeepTox" in load_rows(tmp_path, tox21_rows()).card.recipe

    def test_without_compound_table(self, tmp_path: Path) -> None:
        files = DeepToxFiles()
        files.dense[41], files.sparse[41] = files.dense[2], files.sparse[2]
        files.write(tmp_path, leave_out=["tox21_compoundData.csv", "tox21_sparse_colnames.txt"])
        dataset = load("tox21", home=tmp_path)
        assert [len(part) for part in dataset.parts.values()] == [36, 4, 8]
        assert dataset.feature_names[-1] == "sparse:29"
        # without InChIKeys, equal features mean equal compounds
        assert np.flatnonzero(dataset.card.in_training).tolist() == [1]

    def test_duplicates_by_inchikey(self, tmp_path: Path) -> None:
        files = DeepToxFiles()
        files.inchikeys[45] = files.inchikeys[7]
        files.write(tmp_path)
        mask = load("tox21", home=tmp_path).card.in_training
        assert np.flatnonzero(mask).tolist() == [5]

    def test_official_number_of_rows_gets_the_papers_500(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from dataclasses import replace

        assert CATALOG["tox21"].n_validation == 500
        monkeypatch.setitem(
            CATALOG, "tox21", replace(CATALOG["tox21"], n_train=40, n_validation=11)
        )
        DeepToxFiles().write(tmp_path, leave_out=["tox21_compoundData.csv"])
        assert len(load("tox21", home=tmp_path).validation) == 11

    @pytest.mark.parametrize("folder", ["", "tox21/"])
    def test_zip(self, tmp_path: Path, folder: str) -> None:
        files = DeepToxFiles()
        with zipfile.ZipFile(tmp_path / "tox21.zip", "w") as archive:
            for name, content in files.contents().items():
                archive.writestr(f"{folder}{name}.gz", gzip.compress(content))
        zipped = load("tox21", home=tmp_path)
        files.write(tmp_path / "plain")
        plain = load("tox21", home=tmp_path / "plain")
        assert zipped.feature_names == plain.feature_names
        assert np.array_equal(zipped.train.X, plain.train.X)
        assert np.array_equal(zipped.test.X, plain.test.X)

    def test_gaps_are_filled_with_the_training_median(self, tmp_path: Path) -> None:
        files = DeepToxFiles()
        files.dense[[0, 42], 1] = np.nan
        files.write(tmp_path)
        dataset = load("tox21", home=tmp_path)
        files.dense[[0, 42], 1] = np.median(files.dense[1:34, 1])
        X = self.expected(files, np.array(files.sets) == "training")
        np.testing.assert_allclose(dataset.train.X, X[:34], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(dataset.test.X, X[40:], rtol=1e-4, atol=1e-5)

    def test_no_leak(self, tmp_path: Path) -> None:
        files = DeepToxFiles()
        before = load("tox21", home=files.write(tmp_path / "a"))
        files.dense[34:] *= 3
        files.sparse[34:] = 1
        after = load("tox21", home=files.write(tmp_path / "b"))
        assert before.feature_names == after.feature_names
        assert np.array_equal(before.train.X, after.train.X)
        assert not np.array_equal(before.validation.X, after.validation.X)
        assert not np.array_equal(before.test.X, after.test.X)

    def test_inconsistent_files(self, tmp_path: Path) -> None:
        contents = DeepToxFiles().contents()
        table = contents["tox21_labels_test.csv"]
        renamed = contents["tox21_labels_train.csv"].replace(b"SR.p53", b"SR.p54")
        other = contents["tox21_dense_test.csv"].replace(b"dense3", b"dense9")
        wrong = {
            "do not have the same rows": ("tox21_labels_test.csv", table[: table.rindex(b"\n", 0, -1)]),
            "labels missing: .'SR-p53'": ("tox21_labels_train.csv", renamed),
            "not a table of numbers": ("tox21_dense_train.csv", b'"","a"\n"x",word\n'),
            "holds no rows": ("tox21_dense_train.csv", b'"","a"\n'),
            "different features": ("tox21_dense_test.csv", other),
            "sparse features are damaged": ("tox21_sparse_test.mtx", b"%%MatrixMarket nothing\n"),
            "29 names for 30": ("tox21_sparse_colnames.txt", b"a\n" * 29),
        }  # fmt: skip
        for number, (message, (name, content)) in enumerate(wrong.items()):
            folder = DeepToxFiles().write(tmp_path / str(number))
            write(folder / f"{name}.gz", content)
            with pytest.raises(DataError, match=message):
                load("tox21", home=folder)

    def test_damaged_files(self, tmp_path: Path) -> None:
        folder = DeepToxFiles().write(tmp_path / "a")
        path = folder / "tox21_dense_train.csv.gz"
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(DataError, match="damaged"):
            load("tox21", home=folder)
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / "tox21.zip").write_bytes(b"no zip")
        with pytest.raises(DataError, match="damaged"):
            load("tox21", home=tmp_path / "b")
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("readme.txt", "nothing else")
        (tmp_path / "b" / "tox21.zip").write_bytes(stream.getvalue())
        with pytest.raises(DataError, match=r"tox21\.zip does not hold tox21_dense_train\.csv"):
            load("tox21", home=tmp_path / "b")
