"""What the parts of a model mean: the topic view of a latent tree."""

from __future__ import annotations

from tsenet.explain.topics import Topic, TopicWord, to_json, to_markdown, topic_tree

__all__ = ["Topic", "TopicWord", "to_json", "to_markdown", "topic_tree"]
