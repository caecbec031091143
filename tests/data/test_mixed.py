"""A text with columns beside it becomes one sparse table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from tsenet.data import Scaling, Table, word_vectorizer
from tsenet.data.mixed import ColumnSteps, MixedReader, TextTable, split_frame
from tsenet.errors import DataError
from tsenet.progress import Progress


def frame(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    price = rng.exponential(size=n).round(3)
    price[::7] = np.nan
    return pd.DataFrame(
        {
            "price": price,
            "body": [f"word{i % 3} common" for i in range(n)],
            "colour": pd.Series(np.where(np.arange(n) % 2 == 0, "red", "blue")).astype(str),
            "rooms": np.arange(n) % 4,
        }
    )


def learned() -> tuple[MixedReader, Table]:
    return MixedReader.learn(split_frame(frame(), "body"), "body", word_vectorizer(), Progress())


def test_a_number_is_cut_at_its_deciles() -> None:
    rows = frame()
    reader, table = learned()
    steps = reader.steps
    cuts = steps.thresholds[0]
    np.testing.assert_allclose(cuts, np.nanquantile(rows["price"], np.arange(1, 10) / 10))
    found = pd.DataFrame(table.values.toarray(), columns=list(table.names))
    for cut in cuts:
        expected = (rows["price"] > cut).astype(int)
        assert found[f"price > {cut:.9g}"].tolist() == expected.tolist()
    assert found["price missing"].tolist() == rows["price"].isna().astype(int).tolist()


def test_few_values_are_told_apart_and_categories_are_levels() -> None:
    rows = frame()
    _, table = learned()
    found = pd.DataFrame(table.values.toarray(), columns=list(table.names))
    assert [name for name in table.names if name.startswith("rooms")] == [
        *("rooms > 0.5", "rooms > 1.5", "rooms > 2.5", "rooms missing")
    ]
    assert found["rooms > 1.5"].tolist() == (rows["rooms"] >= 2).astype(int).tolist()
    assert found["colour=red"].tolist() == (rows["colour"] == "red").astype(int).tolist()
    assert found["word1"].tolist() == [i % 3 == 1 for i in range(60)]
    assert isinstance(table.values, sp.csr_array)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas])
def test_new_rows_are_read_by_name(make: Any) -> None:
    reader, table = learned()
    shuffled = frame()[["rooms", "colour", "body", "price"]].assign(other=1)
    assert reader.read(make(shuffled)) == table
    given = TextTable(frame()["body"].tolist(), split_frame(frame(), "body").columns)
    assert reader.read(given) == table
    assert reader.read(table) is table


def test_unknown_and_missing_values_add_nothing() -> None:
    reader, _ = learned()
    new = frame(2).assign(colour=["green", None], price=[np.nan, 0.0], rooms=[9, -1])
    found = pd.DataFrame(reader.read(new).values.toarray(), columns=list(reader.read(new).names))
    assert not found[["colour=red", "colour=blue"]].to_numpy().any()
    assert found["price missing"].tolist() == [1, 0]
    assert not found.loc[1, [name for name in found if name.startswith("rooms")]].any()
    said = reader.steps.described(reader.read(new).values.toarray()[0, reader.n_words :] > 0)
    assert said == {0: "price missing", 1: "colour", 2: "2.5 < rooms"}


def test_what_a_row_says_of_a_number() -> None:
    reader, table = learned()
    for row, value in enumerate(frame()["rooms"]):
        said = reader.steps.described(table.values.toarray()[row, reader.n_words :] > 0)[2]
        expected = ["rooms ≤ 0.5", "0.5 < rooms ≤ 1.5", "1.5 < rooms ≤ 2.5", "2.5 < rooms"]
        assert said == expected[value]


def test_columns_beside_words_are_as_long_as_these() -> None:
    reader, table = learned()
    n_steps = len(reader.steps.names)
    words = Table(
        table.values[:, : reader.n_words],
        *[part[: reader.n_words] for part in (table.names, table.levels)],
    )
    n_with = np.bincount(words.values.indices, minlength=words.n_columns)
    plain = Scaling.of_counts(words.n_rows, n_with, words.names)
    scaling = plain.with_columns_beside(n_steps, 3)
    for given in (table, Table(table.values.toarray(), table.names, table.levels)):
        scaled = scaling.apply(given).values
        scaled = scaled.toarray() if sp.issparse(scaled) else scaled
        np.testing.assert_allclose(
            scaled[:, : reader.n_words], plain.apply(words).values.toarray(), rtol=1e-6
        )
        beside = np.unique(scaled[:, reader.n_words :])
        np.testing.assert_allclose(beside, [0, plain.length / np.sqrt(3)], rtol=1e-6)


class TestErrors:
    def test_no_frame(self) -> None:
        with pytest.raises(DataError, match="must be a data frame with that column, not a list"):
            split_frame(["a text"], "body")

    def test_no_such_column(self) -> None:
        with pytest.raises(DataError, match="no column 'text' of texts: the columns are 'price'"):
            split_frame(frame(), "text")

    def test_texts_that_are_numbers(self) -> None:
        rows = frame(3).assign(body=["a text", 12, None])
        with pytest.raises(DataError, match="row 1 of the column 'body' holds a int, not a text"):
            split_frame(rows, "body")

    def test_missing_texts_count_as_empty_with_a_warning(self) -> None:
        rows = frame(3).assign(body=["a text", None, np.nan])
        with pytest.warns(UserWarning, match="2 of 3 texts are missing"):
            assert split_frame(rows, "body").texts == ["a text", "", ""]

    def test_no_other_column(self) -> None:
        with pytest.raises(DataError, match="no column beside 'body'"):
            split_frame(frame()[["body"]], "body")

    def test_new_rows_without_a_column(self) -> None:
        reader, _ = learned()
        with pytest.raises(DataError, match="lack the column 'price'"):
            reader.read(frame().drop(columns="price"))

    def test_a_second_text(self) -> None:
        rows = frame(300).assign(note=[f"note number {i}" for i in range(300)])
        with pytest.raises(DataError, match="free text or a key"):
            MixedReader.learn(split_frame(rows, "body"), "body", word_vectorizer(), Progress())

    @pytest.mark.parametrize("wrong", [[[2.0, 1.0]], [[float("nan")]], [[0.0], [1.0]]])
    def test_thresholds_of_a_forged_file(self, wrong: list[list[float]]) -> None:
        reader, _ = learned()
        fields = {**reader.to_parts(), "thresholds": wrong}
        with pytest.raises(ValueError, match="threshold"):
            ColumnSteps.of_parts(fields)
