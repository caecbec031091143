"""What all estimators check alike: columns, rows and classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tsenet
from tsenet.errors import DataError

FRAME = pd.DataFrame({"a": np.linspace(0, 1, 40), "c": ["x", "y"] * 20})
Y = np.arange(40) % 2


@pytest.fixture(scope="module")
def model() -> tsenet.TSENetClassifier:
    return tsenet.TSENetClassifier(max_epochs=1, random_state=0).fit(FRAME, Y)


def test_columns_in_another_order_end_with_what_to_do(model: tsenet.TSENetClassifier) -> None:
    for other in (FRAME[["c", "a"]], FRAME.assign(more=1)):
        with pytest.raises(DataError, match=r"X\[model\.feature_names_in_\]$"):
            model.predict(other)
        model.predict(other[model.feature_names_in_])
    with pytest.raises(
        DataError, match=r"yet now missing:\n- c\nGive all .*: X\.reindex\(columns="
    ):
        model.predict(FRAME[["a"]])
    with_missing = FRAME[["a"]].reindex(columns=model.feature_names_in_)
    assert model.predict(with_missing).shape == (40,)


def test_a_frame_for_a_model_of_texts() -> None:
    texts = ["goal referee", "ballot senate"] * 20
    model = tsenet.TSENetClassifier(max_epochs=1, random_state=0).fit(texts, Y)
    with pytest.raises(DataError, match=r"fitted on texts: give its column, frame\['body'\]"):
        model.predict(pd.DataFrame({"body": texts}))


def test_one_row_of_a_frame(model: tsenet.TSENetClassifier) -> None:
    with pytest.raises(DataError, match=r"write frame\.iloc\[\[0\]\], not frame\.iloc\[0\]"):
        model.predict(FRAME.iloc[0])
    assert model.predict(FRAME.iloc[[0]]).shape == (1,)


def test_a_class_that_no_file_can_hold_is_refused() -> None:
    with pytest.raises(DataError, match="lone surrogate"):
        tsenet.TSENetClassifier(max_epochs=1).fit(FRAME, ["\ud800", "b"] * 20)
