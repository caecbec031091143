"""The topics that the labelling page shows."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import normalized_mutual_info_score as nmi

from tsenet.labelling.text_topics import learn_topics


def test_vectors_of_an_encoder_find_the_topics_of_titles() -> None:
    """Titles of three words of 160, each of which is of another subject once in seven times."""
    rng = np.random.default_rng(0)
    subject = rng.integers(4, size=600)
    of_word = np.where(
        rng.random((600, 3)) < 0.85, subject[:, None], rng.integers(4, size=(600, 3))
    )
    texts = [
        " ".join(f"{'abcd'[k]}word{rng.integers(40)}" for k in of_title) for of_title in of_word
    ]
    vectors = np.eye(4, 16)[subject] + 0.1 * rng.normal(size=(600, 16))

    words = learn_topics(texts)
    both = learn_topics(texts, vectors)
    assert nmi(subject, both.main) > nmi(subject, words.main) + 0.1
    assert all(len(found) >= 2 for found in both.words)

    # Proposals go through more topics than people look at.
    narrower = both.narrower
    assert narrower is not None
    assert max(40, both.lowest.size) < len(narrower.ids) <= 60
    assert (narrower.level == 1).all()


def test_a_handful_of_texts_has_no_topics() -> None:
    topics = learn_topics(["one", "two", "three"])
    assert topics.ids == []
    assert topics.narrower is None
    assert (topics.main == -1).all()
