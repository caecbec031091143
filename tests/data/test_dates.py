"""Columns of dates become numbers, in dataframes and files, for new rows as for those of training."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest

import tsenet
from tests.cli.program import fine
from tsenet.data import read_data
from tsenet.data.table import Table
from tsenet.errors import DataError

DAYS = ["2024-05-31", "2023-01-01", None, "2020-02-29"]
NUMBERS = [[5, 5], [1, 7], [np.nan, np.nan], [2, 6]]  # month, weekday


def check(table: Table) -> None:
    assert table.names == ("sold: year", "sold: month", "sold: weekday", "size")
    np.testing.assert_array_equal(table.values[:, 1:3], NUMBERS)
    np.testing.assert_allclose(table.values[:, 0], [2024.41, 2023, np.nan, 2020.16], atol=0.01)
    assert table.levels == (None,) * 4


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pyarrow.table])
@pytest.mark.parametrize("kind", ["datetime", "zone", "date"])
def test_dates_of_dataframes(kind: str, make: Any) -> None:
    times: list[Any] = [None if day is None else datetime.fromisoformat(day) for day in DAYS]
    if kind == "date":
        times = [None if time is None else time.date() for time in times]
    frame = pd.DataFrame({"sold": times, "size": [1.0, 2, 3, 4]})
    if kind == "zone":
        frame["sold"] = frame["sold"].dt.tz_localize("Asia/Tokyo")
    if make is pl.DataFrame:
        check(Table.of(pl.from_pandas(frame), missing=True))
    elif make is pd.DataFrame:
        check(Table.of(frame, missing=True))
    else:
        check(Table.of(pyarrow.Table.from_pandas(frame), missing=True))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pyarrow.table])
def test_texts_that_are_dates(make: Any) -> None:
    frame = make({"sold": DAYS, "size": [1.0, 2, 3, 4]})
    with pytest.warns(UserWarning, match="'sold'.*dates"):
        check(Table.of(frame, missing=True))


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


def test_categories_stay_categories() -> None:
    days = pd.Series(["2024-05-31", "2023-01-01"], dtype="category")
    assert Table.of(pd.DataFrame({"a": days})).levels[0] is not None


def test_hours_if_there_are_times_of_day() -> None:
    times = pd.to_datetime(["2024-05-31 18:30", "2024-06-01 00:00"])
    table = Table.of(pd.DataFrame({"at": times}))
    assert table.names == ("at: year", "at: month", "at: weekday", "at: hour")
    assert table.values[:, 3].tolist() == [18.5, 0]
    with pytest.warns(UserWarning, match="dates"):
        again = Table.of(pd.DataFrame({"at": ["2024/5/31 18:30", "2024-06-01T00:00:00Z"]}))
    assert again == table


class TestNewRows:
    """What the columns of the training table say about those of new rows."""

    COLUMNS = ("at: year", "at: month", "at: weekday", "at: hour", "code")

    def test_unreadable_texts_are_missing(self) -> None:
        frame = pd.DataFrame({"at": ["2024-05-31", "soon"], "code": [1.0, 2.0]})
        with pytest.warns(UserWarning, match="1 of 2"):
            table = Table.of(frame, missing=True, columns=self.COLUMNS)
        assert table.names == self.COLUMNS
        assert np.isnan(table.values[1, :4]).all()
        assert table.values[0, 1:].tolist() == [5, 5, 0, 1]

    @pytest.mark.parametrize("missing", [[None, None], [np.nan, np.nan], [pd.NaT, pd.NaT]])
    def test_a_column_without_values(self, missing: list[Any]) -> None:
        frame = pd.DataFrame({"at": missing, "code": [1.0, 2.0]})
        assert np.isnan(Table.of(frame, missing=True, columns=self.COLUMNS).values[:, :4]).all()

    def test_categories_of_training_are_no_dates_now(self) -> None:
        frame = pd.DataFrame({"at": pd.to_datetime(["2024-05-31"]), "code": ["2024-05-31"]})
        assert Table.of(frame, columns=self.COLUMNS).levels[-1] == ("2024-05-31",)

    def test_numbers_in_place_of_dates(self) -> None:
        with pytest.raises(DataError, match="held dates"):
            Table.of(pd.DataFrame({"at": [1.0], "code": [2.0]}), columns=self.COLUMNS)


def test_a_name_that_is_taken() -> None:
    frame = pd.DataFrame({"at": [date(2024, 5, 31)], "at: year": [2024]})
    with pytest.raises(DataError, match="at: year"):
        Table.of(frame)


def test_columns_of_files(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    pd.DataFrame({"sold": DAYS, "size": [1.0, 2, 3, 4]}).to_csv(path, index=False)
    with pytest.warns(UserWarning, match="dates"):
        check(read_data(path).table(["sold", "size"]))
    frame = pd.DataFrame({"sold": pd.to_datetime(DAYS), "size": [1.0, 2, 3, 4]})
    frame.to_parquet(tmp_path / "d.parquet")
    with pytest.warns(UserWarning, match="dates"):
        check(read_data(tmp_path / "d.parquet").table(["sold", "size"]))


@pytest.fixture(scope="module")
def sales() -> pd.DataFrame:
    """More is sold at weekends."""
    rng = np.random.default_rng(0)
    times = np.datetime64("2020-01-01", "s") + rng.integers(0, 1000, 400) * np.timedelta64(1, "D")
    frame = pd.DataFrame({"at": times, "size": rng.normal(size=400).round(3)})
    return frame.assign(many=np.where(frame["at"].dt.day_of_week >= 5, "yes", "no"))


def test_models_read_new_dates_as_those_of_training(sales: pd.DataFrame, tmp_path: Path) -> None:
    X, y = sales[["at", "size"]], sales["many"]
    model = tsenet.TSENetClassifier(max_epochs=30, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.95
    assert model.n_features_in_ == 4
    model.save(tmp_path / "m.tsenet")
    texts = X[300:].assign(at=X["at"][300:].dt.strftime("%Y-%m-%d"))
    fitted = tsenet.load(tmp_path / "m.tsenet")
    for rows in (X[300:], pl.from_pandas(X[300:]), texts):
        np.testing.assert_array_equal(fitted.predict(rows), model.predict(X[300:]))
    with pytest.raises(DataError, match="feature names"):
        model.predict(X[["size", "at"]])
    # a model saved in Python reads files too
    X.to_csv(tmp_path / "new.csv", index=False)
    printed = fine("predict", tmp_path / "m.tsenet", tmp_path / "new.csv", "--quiet")
    assert [line.split(",")[0] for line in printed.splitlines()[1:]] == model.predict(X).tolist()


def test_the_command_line_reads_dates(sales: pd.DataFrame, tmp_path: Path) -> None:
    data, model = tmp_path / "d.csv", tmp_path / "m.tsenet"
    sales.to_csv(data, index=False)
    fine("fit", data, "--target", "many", "-o", model, "--set", "max_epochs=30", "--quiet")
    rows = sales.head(20).assign(at=[*["?"] * 10, *sales["at"].dt.strftime("%Y/%m/%d")[10:20]])
    rows.to_csv(tmp_path / "new.csv", index=False)
    printed = fine("predict", model, tmp_path / "new.csv", "--quiet")
    said = [line.split(",")[0] for line in printed.splitlines()[1:]]
    assert said[10:] == sales["many"][10:20].tolist()


def test_the_tree_of_rows_with_dates(sales: pd.DataFrame) -> None:
    transformer = tsenet.LatentTreeTransformer(random_state=0).fit(sales[["at", "size"]])
    assert transformer.transform(sales[["at", "size"]][:5]).shape[0] == 5
    assert list(transformer.feature_names_in_) == ["at: year", "at: month", "at: weekday", "size"]
