"""A user's own file of documents as a data set."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.datasets.makers import documents
from tsenet.datasets import from_documents
from tsenet.errors import DataError

KINDS = ("sports", "politics", "space", "food")


@pytest.fixture
def frame() -> pd.DataFrame:
    rows = documents(100, 4)
    frame = pd.DataFrame(
        {
            "body": [text for _, text in rows],
            "kind": [KINDS[number - 1] for number, _ in rows],
            "stars": [10 * number for number, _ in rows],
        }
    )
    frame["indoors"] = np.where(frame["kind"].isin(["food", "politics"]), 1.0, 0.0)
    frame["round"] = np.where(np.arange(100) % 5 == 0, np.nan, frame["kind"] == "space")
    return frame


@pytest.fixture
def csv(frame: pd.DataFrame, tmp_path: Path) -> Path:
    frame.to_csv(tmp_path / "own.csv", index=False)
    return tmp_path / "own.csv"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl", "parquet"])
def test_formats(frame: pd.DataFrame, csv: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"other.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    dataset = from_documents(path, text="body", target="kind")
    dataset.validate()
    expected = from_documents(csv, text="body", target="kind")
    assert [len(part) for part in dataset.parts.values()] == [72, 8, 20]
    assert dataset.class_names == ("food", "politics", "space", "sports")
    assert (dataset.train.X != expected.train.X).nnz == 0
    assert dataset.train.texts == expected.train.texts
    kinds = dict(zip(frame["body"], frame["kind"], strict=True))
    for part in dataset.parts.values():
        assert [kinds[text] for text in part.texts or ()] == [
            dataset.class_names[k] for k in part.y
        ]


def test_test_file(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame[:80].to_csv(tmp_path / "train.csv", index=False)
    frame[76:].to_parquet(tmp_path / "test.parquet")
    dataset = from_documents(
        tmp_path / "train.csv", text="body", target="kind", test=tmp_path / "test.parquet"
    )
    assert [len(part) for part in dataset.parts.values()] == [72, 8, 24]
    assert np.flatnonzero(dataset.card.in_training).tolist() == [0, 1, 2, 3]
    assert dataset.test.texts == tuple(frame["body"][76:])


def test_no_test_rows(csv: Path) -> None:
    dataset = from_documents(csv, text="body", target="kind", test=None, validation=0.25)
    dataset.validate()
    assert [len(part) for part in dataset.parts.values()] == [75, 25, 0]
    assert dataset.test.X.shape == (0, dataset.n_features)


def test_classes_that_are_numbers_are_in_their_order(csv: Path) -> None:
    dataset = from_documents(csv, text="body", target="stars")
    assert dataset.class_names == ("10", "20", "30", "40")
    frame = pd.read_csv(csv)
    frame["stars"] = frame["stars"].replace(10, 100)
    frame.to_csv(csv, index=False)
    assert from_documents(csv, text="body", target="stars").class_names == ("20", "30", "40", "100")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_several_labels(frame: pd.DataFrame, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"labels.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame["round"] = frame["round"].astype("float64")
        frame.to_parquet(path)
    dataset = from_documents(path, text="body", target=["indoors", "round"])
    dataset.validate()
    assert dataset.task == "labels"
    assert dataset.class_names == ("indoors", "round")
    y = np.vstack([part.y for part in dataset.parts.values()])
    assert np.isnan(y[:, 1]).sum() == 20
    assert np.nansum(y[:, 0]) == 50


def test_options(csv: Path) -> None:
    def words(**options: object) -> tuple[str, ...]:
        return from_documents(csv, text="body", target="kind", **options).feature_names  # type: ignore[arg-type]  # any option

    assert "the" in words(stop_words=None)
    assert "football" not in words(stop_words=["football"])
    assert len(words(n_words=3)) == 3
    splits = [
        from_documents(csv, text="body", target="kind", seed=seed).test.texts for seed in (0, 1, 0)
    ]
    assert splits[0] != splits[1]
    assert splits[0] == splits[2]


def test_without_header(tmp_path: Path) -> None:
    rows = [f"{number},{text}" for number, text in documents(40, 4)]
    (tmp_path / "plain.csv").write_text("\n".join(rows))
    dataset = from_documents(tmp_path / "plain.csv", text="2", target="1", header=False)
    assert dataset.class_names == ("1", "2", "3", "4")


def test_cached(csv: Path, own_folders: Path) -> None:
    first = from_documents(csv, text="body", target="kind")
    again = from_documents(csv, text="body", target="kind", weighting="counts")
    assert len(list((own_folders / "made").iterdir())) == 1
    assert first.train.texts == again.train.texts
    from_documents(csv, text="body", target="stars")
    from_documents(csv, text="body", target=["indoors"])
    assert len(list((own_folders / "made").iterdir())) == 3


def test_test_rows_change_nothing_in_training(frame: pd.DataFrame, tmp_path: Path) -> None:
    """With test rows from the same file, the draw depends only on the classes."""
    frame.to_csv(tmp_path / "a.csv", index=False)
    before = from_documents(tmp_path / "a.csv", text="body", target="kind")
    drawn = frame["body"].isin(before.test.texts or ())
    frame.loc[drawn, "body"] = "novelty football novelty"
    frame.to_csv(tmp_path / "b.csv", index=False)
    after = from_documents(tmp_path / "b.csv", text="body", target="kind")
    assert before.feature_names == after.feature_names
    assert (before.train.X != after.train.X).nnz == 0
    assert set(after.test.texts or ()) == {"novelty football novelty"}


def test_errors(csv: Path, frame: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no column 'sort'"):
        from_documents(csv, text="body", target="sort")
    for share in (0.0, 1.0, -0.1, 2):
        with pytest.raises(DataError, match="test must be a share between 0 and 1"):
            from_documents(csv, text="body", target="kind", test=share)
        with pytest.raises(DataError, match="validation must be a share"):
            from_documents(csv, text="body", target="kind", validation=share)
    with pytest.raises(DataError, match="'stars' holds '10', expected 0, 1 or nothing"):
        from_documents(csv, text="body", target=["indoors", "stars"])
    with pytest.raises(FileNotFoundError):
        from_documents(tmp_path / "none.csv", text="body", target="kind")
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"body": "words", "kind": "weather"}))
    with pytest.raises(DataError, match="class 'weather' does not occur in training"):
        from_documents(csv, text="body", target="kind", test=other)
    frame.loc[3, "kind"] = None
    frame.to_csv(csv, index=False)
    with pytest.raises(DataError, match="1 document without a class"):
        from_documents(csv, text="body", target="kind")
    frame["kind"] = "one"
    frame.to_csv(csv, index=False)
    with pytest.raises(DataError, match="holds one class, not two or more"):
        from_documents(csv, text="body", target="kind")
