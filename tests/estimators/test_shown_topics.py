"""Which topics of a model are shown, and how."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.cli.program import SUBJECTS, make_documents
from tests.estimators.topics import QUICK, page_payload
from tsenet import TopicModel
from tsenet.data import load_docstrings


def test_what_is_shown_can_be_changed(model: TopicModel) -> None:
    n_topics = len(model.topics_)
    smallest = float(model.topics_["share"].min())
    assert len(model.set_params(min_size=smallest * 1.001).topics_) < n_topics
    assert len(model.set_params(min_size=0).topics_) >= n_topics


def test_words_and_words_of_no_group(fitted: TopicModel) -> None:
    assert sorted(fitted.vocabulary_) == sorted(w for subject in SUBJECTS for w in subject)
    rng = np.random.default_rng(0)
    noisy = [t + (" noise" if rng.random() < 0.3 else " ") for t in make_documents(200)]
    assert TopicModel(**QUICK).fit(noisy).ungrouped_ == ("noise",)


def test_words_that_describe_a_topic_are_not_in_no_topic(tmp_path: Path) -> None:
    docs = load_docstrings("scipy.signal", "scipy.stats")
    model = TopicModel(random_state=0).fit(docs["text"])
    described = {word for words in model.topics_["words"] for word, _ in words}
    members = {word for words in model.topics_["members"] for word in words}
    assert described
    assert members
    assert not described & set(model.ungrouped_)
    payload = page_payload(model, tmp_path / "page.html", docs["text"])
    alone = [payload["names"][k] for k, above in enumerate(payload["parent"]) if above < 0]
    assert described.isdisjoint(alone)


def test_print_shows_the_tree(four_subjects: list[str]) -> None:
    model = TopicModel(levels=(2, 4))
    assert str(model) == repr(model)
    text = str(model.fit(four_subjects))
    n_empty = sum(not words.split() for words in four_subjects)
    assert model.n_outliers_ == n_empty > 1
    outliers = f"{n_empty} outliers without a topic"
    assert text.splitlines()[0] == f"6 topics of 400 documents, 12 words; {outliers}"
    for row in model.topics_.itertuples():
        (line,) = (line for line in text.splitlines() if line.endswith(f"  {row.id}"))
        assert row.label in line
        assert line.startswith(("├─ ", "└─ ")) is (row.level == 1)
