"""ONNX models that read texts answer as the models they were written from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from tests.cli.program import fine, run
from tests.store.models import SMALL, models
from tests.store.test_onnx_export import session
from tsenet import TSENetClassifier
from tsenet.data import word_vectorizer
from tsenet.errors import DataError

# As people write: contractions, dates, versions, quotation marks, other languages, no word at all.
SENTENCES = [
    "The cat's MP3-player (v2.0), bought on 2024-05-31 for €42.50, doesn't work anymore!!",
    "SEOUL, Nov. 3 - Shares of the bank rose 4.5%, its biggest gain since the 1990s...",
    "“Smart quotes” – and dashes—without spaces; naïve café owners, ÉCOLES and Übermut.",
    "E-mail me: john_doe@example.com or see http://example.com/a_b?c=d&e=f#top",
    "Глава правительства сказал: «Москва»; президент, ПРАВИТЕЛЬСТВО и Банк.",
    "भारत सरकार ने कहा, सरकार और बैंक।",
    "x 1 22 333 4x x4 _under_score_ __init__ snake_case CamelCase 3D 2nd",
    "",
    "?! 1, 2, 3 -- ... a b c",
]


def texts(n: int = 300) -> tuple[list[str], list[str]]:
    """Texts of two sentences each, and what the first is about; two sentences end on the words of any."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(len(SENTENCES), size=(2, n))
    words = " ".join(SENTENCES).split()
    ends = [" ".join(rng.choice(words, 4)) for _ in range(n)]
    made = [
        f"{SENTENCES[i]} {SENTENCES[j]}\n{end}"
        for i, j, end in zip(first, second, ends, strict=True)
    ]
    return [*made, "", "..."], [*(f"kind {i % 3}" for i in first), "kind 0", "kind 1"]


def assert_same(model: Any, given: list[str], folder: Path) -> None:
    """All answers of onnxruntime are those of the model to 1e-5, with many rows and one by one."""
    path = folder / "texts.onnx"
    model.to_onnx(path, texts=True)
    made = session(path)
    label, shares = made.run(["label", "probabilities"], {"X": np.array(given, object)})
    assert label.tolist() == model.predict(given).tolist()
    assert np.abs(shares - model.predict_proba(given)).max() <= 1e-5
    for text, share in zip(given[-12:], shares[-12:], strict=True):
        (one,) = made.run(["probabilities"], {"X": np.array([text], object)})
        assert np.abs(one - share).max() <= 1e-5


@pytest.mark.parametrize(
    "vectorizer",
    [
        None,
        word_vectorizer(stop_words="english", ngrams=2),
        word_vectorizer(tokenizer="whitespace"),
        CountVectorizer(ngram_range=(2, 3), binary=True, max_features=200),
        CountVectorizer(lowercase=False, stop_words=["The", "and"]),
    ],
)
def test_words_and_n_grams(vectorizer: Any, tmp_path: Path) -> None:
    given, y = texts()
    model = TSENetClassifier(**SMALL, vectorizer=vectorizer).fit(given[:200], y[:200])
    assert_same(model, given, tmp_path)
    assert len(set(model.predict(given).tolist())) > 1


@pytest.mark.parametrize(
    ("vectorizer", "reason"),
    [
        (word_vectorizer(tokenizer="japanese"), "japanese_words, a Python function"),
        (CountVectorizer(tokenizer=str.split, token_pattern=None), "split, a Python function"),
        (CountVectorizer(token_pattern=r"[a-z]+"), "token_pattern"),
        (CountVectorizer(analyzer="char"), "analyzer='char'"),
        (CountVectorizer(strip_accents="unicode"), "strip_accents"),
        (word_vectorizer(keep_urls=False), "preprocessor"),
    ],
)
def test_texts_that_python_splits(vectorizer: Any, reason: str, tmp_path: Path) -> None:
    given = ["cat dog fish", "bird tree", "cat tree bird"] * 20
    model = TSENetClassifier(**SMALL, vectorizer=vectorizer).fit(given, ["a", "b", "b"] * 20)
    with pytest.raises(DataError, match=reason):
        model.to_onnx(tmp_path / "texts.onnx", texts=True)
    assert not (tmp_path / "texts.onnx").exists()


def test_words_of_a_script_without_spaces(tmp_path: Path) -> None:
    given = ["แมว cat dog", "แมว bird tree", "cat tree bird"] * 20
    model = TSENetClassifier(**SMALL).fit(given, ["a", "b", "b"] * 20)
    with pytest.raises(DataError, match=r"2 of the model's 6 words, such as 'มว', 'แม'"):
        model.to_onnx(tmp_path / "texts.onnx", texts=True)


def test_a_few_words_out_of_reach_are_a_warning(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    given = [" ".join(f"word{k}" for k in rng.integers(200, size=9)) for _ in range(100)]
    given[0] += " 😀"
    y = ["a" if text < "word15" else "b" for text in given]
    model = TSENetClassifier(**SMALL).fit(given, y)
    with pytest.warns(UserWarning, match="1 of the model's 1.. words, such as '😀'"):
        model.to_onnx(tmp_path / "texts.onnx", texts=True)


def test_a_model_of_tables_reads_no_texts(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="fitted on a table"):
        models()["labels"].to_onnx(tmp_path / "texts.onnx", texts=True)


def test_the_program_writes_it(tmp_path: Path) -> None:
    given, y = texts()
    model = TSENetClassifier(**SMALL).fit(given, y)
    model.save(tmp_path / "model.tsenet")
    fine("export", tmp_path / "model.tsenet", "--onnx", tmp_path / "texts.onnx", "--texts")
    made = session(tmp_path / "texts.onnx")
    (label,) = made.run(["label"], {"X": np.array(given[:5], object)})
    assert label.tolist() == model.predict(given[:5]).tolist()
    refused = run("export", tmp_path / "model.tsenet", "--bif", tmp_path / "a.bif", "--texts")
    assert refused.exit_code == 2
    assert "--texts" in refused.stderr
