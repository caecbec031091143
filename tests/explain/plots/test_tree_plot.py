"""The plot of a tree: every topic that is drawn, and its words."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import PathPatch

from tests.builders import planted_tree
from tsenet.errors import DataError
from tsenet.explain import plots
from tsenet.explain.topics import topic_tree


class TestTree:
    def test_every_topic_that_is_drawn(self) -> None:
        tree = planted_tree(np.random.default_rng(0), (40, 12, 4, 2))
        ax = plots.plot_tree(tree)
        marks = [len(np.asarray(c.get_offsets())) for c in ax.collections]
        assert marks == [2, 4, 12]
        assert sum(isinstance(patch, PathPatch) for patch in ax.patches) == 16  # all but the roots
        assert [label.get_text() for label in ax.get_xticklabels()] == [
            "level 3",
            "level 2",
            "level 1",
        ]
        assert ax.get_title() == "Tree of topics: 18 of 18 drawn"

    def test_words_stand_beside_their_topic(self) -> None:
        tree = planted_tree(np.random.default_rng(0), (40, 12, 4, 2))
        topics = topic_tree(tree)
        ax = plots.plot_tree(topics, n_words=2)
        lowest = [child for root in topics for middle in root.children for child in middle.children]
        wanted = [", ".join(word.word for word in topic.words[:2]) for topic in lowest]
        assert [text.get_text() for text in ax.texts] == wanted
        heights = [text.xy[1] for text in ax.texts]  # type: ignore[attr-defined]
        assert heights == [-float(k) for k in range(12)]

    def test_no_more_than_there_is_room_for(self) -> None:
        tree = planted_tree(np.random.default_rng(0), (40, 12, 4, 2))
        ax = plots.plot_tree(tree, max_topics=5)
        assert [len(np.asarray(c.get_offsets())) for c in ax.collections] == [2, 4]
        assert ax.get_title() == "Tree of topics: 6 of 18 drawn"
        one = plots.plot_tree(tree, max_topics=1)
        assert len(one.texts) == 1

    def test_a_word_with_dollars(self) -> None:
        from tsenet.explain.topics import Topic, TopicWord

        word = TopicWord("$5 and $6_", 0.1, 0.5, 0.1)
        ax = plots.plot_tree([Topic("Z1.0", 1, "", 0.5, (word,)), Topic("Z1.1", 1, "", 0.5, ())])
        assert [text.get_text() for text in ax.texts] == ["$5 and $6_", "Z1.1"]

    def test_nothing_to_draw(self) -> None:
        with pytest.raises(DataError, match="no latents"):
            plots.plot_tree([])
        with pytest.raises(DataError, match="max_topics"):
            plots.plot_tree(planted_tree(np.random.default_rng(0), (8, 2)), max_topics=0)
