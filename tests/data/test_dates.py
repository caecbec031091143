"""Dates: texts in all forms, columns of data frames, new rows of a model."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tsenet
from tests.cli.program import fine
from tsenet.data import Table
from tsenet.data.dates import read_dates
from tsenet.errors import DataError


class TestTexts:
    @pytest.mark.parametrize(
        ("text", "day", "n_parts"),
        [
            ("2024-05-31", "2024-05-31", 3),
            (" 2024-05-31T18:30:00+02:00 ", "2024-05-31", 3),
            ("2024/5/3", "2024-05-03", 3),
            ("2024.05.31 18:30", "2024-05-31", 3),
            ("2024-05", "2024-05-01", 2),
            ("2024/5", "2024-05-01", 2),
            ("1999", "1999-01-01", 1),
        ],
    )
    def test_forms(self, text: str, day: str, n_parts: int) -> None:
        found = read_dates(pd.Series([text, "no"]))
        assert found.n_parts.tolist() == [n_parts, 0]
        assert found.days[0] == pd.Timestamp(day)
        assert found.days[1] is pd.NaT

    @pytest.mark.parametrize(
        "text",
        [
            *("2024-13-01", "2024-02-30", "2024-13", "31.5.2024", "2024-05.31", "20240531"),
            *("2019.5", "0042", "9000", "9000-01", "", "2024-", "2024-5x", "2024-05-31x"),
            "2024-05-31\nx",
        ],
    )
    def test_what_is_no_date(self, text: str) -> None:
        found = read_dates(pd.Series([text]))
        assert found.n_parts.tolist() == [0]
        assert found.days.isna().all()


DAYS = ["2024-05-31", "2023-01-01", None, "2020-02-29"]
NUMBERS = [[5, 5], [1, 7], [np.nan, np.nan], [2, 6]]  # month, weekday


def check_dates(table: Table) -> None:
    assert table.names == ("sold: year", "sold: month", "sold: weekday", "size")
    np.testing.assert_array_equal(table.values[:, 1:3], NUMBERS)
    np.testing.assert_allclose(table.values[:, 0], [2024.41, 2023, np.nan, 2020.16], atol=0.01)
    assert table.levels == (None,) * 4


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("kind", ["datetime", "zone", "date"])
def test_dates_of_dataframes(kind: str, make: Any) -> None:
    times: list[Any] = [None if day is None else datetime.fromisoformat(day) for day in DAYS]
    if kind == "date":
        times = [None if time is None else time.date() for time in times]
    frame = pd.DataFrame({"sold": times, "size": [1.0, 2, 3, 4]})
    if kind == "zone":
        frame["sold"] = frame["sold"].dt.tz_localize("Asia/Tokyo")
    check_dates(Table.of(make(frame)))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_texts_that_are_dates(make: Any) -> None:
    frame = make({"sold": DAYS, "size": [1.0, 2, 3, 4]})
    with pytest.warns(UserWarning, match="'sold'.*dates"):
        check_dates(Table.of(frame))


@pytest.mark.parametrize(
    "texts",
    [
        ["10101010", "20240531"],  # digits alone are a key
        ["2024-05-31", "red", "blue", "green"],
        ["2024-13-01", "2024-02-30"],
        ["1.2.2024", "3.4.2024"],
        ["2024-05", "2023-01"],
    ],
)
def test_other_texts_stay_categories(texts: list[str]) -> None:
    assert Table.of(pd.DataFrame({"a": texts})).levels[0] is not None


PARTS = ("at: year", "at: month", "at: weekday", "code")


def test_new_rows_hold_dates_where_the_training_rows_did() -> None:
    frame = pd.DataFrame({"at": ["2024-05-31", "soon"], "code": [1.0, 2.0]})
    with pytest.warns(UserWarning, match="1 of 2"):
        table = Table.of(frame, columns=PARTS)
    assert table.names == PARTS
    assert np.isnan(table.values[1, :3]).all()
    assert table.values[0, 1:].tolist() == [5, 5, 1]
    for missing in (None, np.nan, pd.NaT):
        table = Table.of(frame.assign(at=missing), columns=PARTS)
        assert np.isnan(table.values[:, :3]).all()
    texts = pd.DataFrame({"at": pd.to_datetime(["2024-05-31"]), "code": ["2024-05-31"]})
    assert Table.of(texts, columns=PARTS).levels[-1] == ("2024-05-31",)
    with pytest.raises(DataError, match="held dates"):
        Table.of(pd.DataFrame({"at": [1.0], "code": [2.0]}), columns=PARTS)
    taken = pd.DataFrame({"at": [date(2024, 5, 31)], "at: year": [2024]})
    with pytest.raises(DataError, match="at: year"):
        Table.of(taken)


def test_models_read_new_dates_as_those_of_training(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    times = np.datetime64("2020-01-01", "s") + rng.integers(0, 1000, 400) * np.timedelta64(1, "D")
    X = pd.DataFrame({"at": times, "size": rng.normal(size=400).round(3)})
    weekend = np.where(X["at"].dt.day_of_week >= 5, "yes", "no")
    model = tsenet.TSENetClassifier(max_epochs=30, random_state=0).fit(X[:300], weekend[:300])
    assert model.score(X[300:], weekend[300:]) > 0.95
    assert model.n_features_in_ == 4
    model.save(tmp_path / "m.tsenet")
    fitted = tsenet.load(tmp_path / "m.tsenet")
    texts = X[300:].assign(at=X["at"][300:].dt.strftime("%Y-%m-%d"))
    for rows in (X[300:], pl.from_pandas(X[300:]), texts):
        np.testing.assert_array_equal(fitted.predict(rows), model.predict(X[300:]))
    with pytest.raises(DataError, match="feature names"):
        model.predict(X[["size", "at"]])
    X.to_csv(tmp_path / "new.csv", index=False)
    printed = fine("predict", tmp_path / "m.tsenet", tmp_path / "new.csv", "--quiet")
    assert [line.split(",")[0] for line in printed.splitlines()[1:]] == model.predict(X).tolist()
