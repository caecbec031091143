"""A text with columns beside it: one network, against boosting of the columns and a linear model of the text."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import tsenet

_TOPICS, _WORDS = 8, 400
_EFFECT = np.array([-2.0, -1.2, -0.6, 0.0, 0.0, 0.6, 1.2, 2.0])  # of each topic on the class
_COLOURS = {"red": 1.0, "blue": -1.0, "green": 0.3, "white": -0.3}
_NEW = 2_000  # rows to score on

Rows = tuple[pd.DataFrame, NDArray[np.str_]]


def planted(kind: str, seed: int, n: int) -> Rows:
    """Texts of eight topics, a price, an age with gaps, a colour and noise; the class follows from ``kind`` of them.

    ``"additive"``: topic, price, colour and a curve of the age; ``"interaction"``: the topic counts one way for high
    prices and the other way for low ones; ``"text"``: the topic alone.
    """
    rng = np.random.default_rng(seed)
    words = np.array(
        [f"w{''.join(chr(97 + k // 26**p % 26) for p in range(2))}" for k in range(_WORDS)]
    )
    of_topic = np.random.default_rng(99).permutation(_WORDS).reshape(_TOPICS, -1)
    topic = rng.integers(_TOPICS, size=n)
    texts = []
    for own in of_topic[topic]:
        size = 3 + rng.poisson(12)
        chosen = np.where(
            rng.random(size) < 0.45, rng.choice(own, size), rng.integers(_WORDS, size=size)
        )
        texts.append(" ".join(words[chosen]))

    price, age = np.exp(rng.normal(3, 1, n)), rng.uniform(18, 80, n)
    colour = rng.choice(list(_COLOURS), n)
    curve = 1.2 * np.sign(np.sin(age / 9)) + 0.9 * (np.log(price) - 3)
    of_columns = curve + np.array([_COLOURS[each] for each in colour])
    score = {
        "additive": _EFFECT[topic] + of_columns,
        "interaction": _EFFECT[topic] * np.where(price > 20, 1.3, -1.3) + 0.5 * of_columns,
        "text": _EFFECT[topic],
    }[kind]
    classes = np.where(score + 0.7 * rng.logistic(size=n) > 0, "yes", "no")
    frame = pd.DataFrame({"body": texts, "price": price, "colour": pd.Series(colour).astype(str)})
    frame["age"] = np.where(rng.random(n) < 0.05, np.nan, age)
    frame["noise"] = rng.normal(size=n)
    return frame, classes


def newsgroups(seed: int, n: int) -> tuple[Rows, Rows]:
    """Posts of 20 Newsgroups: the text, and what their headers say (TSENET_DATA)."""
    from reproduce.data import data_folder

    posts = pd.read_csv(
        data_folder() / "20newsgroups" / "train.csv.xz", names=["class", "id", "text"], skiprows=1
    )
    head, _, body = zip(
        *(text.partition("\n\n") for text in posts["text"].astype(str)), strict=True
    )
    headers = pd.Series(head)
    domain = headers.str.extract(r"From:.*?@[\w.-]*?\.?([a-z]+)\b[^.\w-]", re.IGNORECASE)[0]
    frame = pd.DataFrame({"body": body})
    frame["domain"] = domain.where(domain.isin(domain.value_counts().index[:20])).astype(object)
    frame["lines"] = pd.to_numeric(headers.str.extract(r"Lines:\s*(\d+)")[0])
    frame["is_reply"] = headers.str.contains("Subject: Re:").astype(int)
    frame["quotes"] = frame["body"].str.count(r"(?m)^>")
    frame["length"] = frame["body"].str.len()
    classes = posts["class"].to_numpy().astype(str)
    fit, held = train_test_split(
        np.arange(len(frame)), train_size=n, test_size=_NEW, random_state=seed, stratify=classes
    )
    return (frame.iloc[fit], classes[fit]), (frame.iloc[held], classes[held])


def stacked(rows: Rows, new: pd.DataFrame) -> NDArray[Any]:
    """Predictions of logistic regression on what boosting of the columns and a linear model of the text predict."""
    frame, classes = rows
    columns = frame.columns.drop("body")
    texts = [name for name in columns if not pd.api.types.is_numeric_dtype(frame[name])]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts: list[tuple[Any, Any]] = [
        (
            make_pipeline(
                ColumnTransformer([("categories", one_hot, texts)], remainder="passthrough"),
                HistGradientBoostingClassifier(random_state=0),
            ),
            columns,
        ),
        (
            make_pipeline(
                TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10, max_iter=500)
            ),
            "body",
        ),
    ]
    seen, unseen = [], []
    for model, read in parts:
        shares = cross_val_predict(model, frame[read], classes, cv=5, method="predict_proba")
        seen.append(np.log(np.clip(shares, 1e-4, 1)))
        unseen.append(
            np.log(np.clip(model.fit(frame[read], classes).predict_proba(new[read]), 1e-4, 1))
        )
    both = LogisticRegression(max_iter=500).fit(np.hstack(seen), classes)
    return np.asarray(both.predict(np.hstack(unseen)))


def sets(data: str, n: int, n_seeds: int) -> Iterator[tuple[int, Rows, Rows]]:
    """Rows to fit to and rows to score on, for each seed."""
    for seed in range(n_seeds):
        if data == "newsgroups":
            yield seed, *newsgroups(seed, n)
        else:
            yield seed, planted(data, seed, n), planted(data, 100 + seed, _NEW)


def run(
    data: str = "additive,interaction,text,newsgroups", rows: str = "600,2000", seeds: int = 3
) -> str:
    """Accuracy of one network of text and columns, of each alone, and of two stacked models; mean over seeds."""
    lines = [
        "| data | rows | text and columns | boosting + logistic regression | text alone | columns alone |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    warnings.simplefilter("ignore", UserWarning)
    for name in data.split(","):
        for n in map(int, rows.split(",")):
            scores = []
            for seed, fit, (new, truth) in sets(name, n, seeds):
                columns = [name for name in new.columns if name != "body"]
                make = tsenet.TSENetClassifier
                right = [
                    make(text="body", random_state=seed).fit(*fit).predict(new),
                    stacked(fit, new),
                    make(random_state=seed).fit(fit[0]["body"], fit[1]).predict(new["body"]),
                    make(random_state=seed).fit(fit[0][columns], fit[1]).predict(new[columns]),
                ]
                scores.append([float((answers == truth).mean()) for answers in right])
            shown = " | ".join(f"{100 * score:.1f}" for score in np.mean(scores, axis=0))
            lines.append(f"| {name} | {n:,} | {shown} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)
