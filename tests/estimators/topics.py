"""Settings of quick topic models, and the subjects of the documents they are fitted to."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.cli.program import SUBJECTS
from tsenet import TopicModel

QUICK: dict[str, Any] = {"levels": (3,)}


def subject_of(words: list[tuple[str, float]]) -> int:
    """The number of the one subject that words of a topic are of."""
    (found,) = {k for k, subject in enumerate(SUBJECTS) for word, _ in words if word in subject}
    return found


def page_payload(model: TopicModel, page: Path, texts: Any) -> Any:
    """What the page of a model holds."""
    model.report(page, texts)
    content = page.read_text("utf-8")
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', content, re.DOTALL)
    assert found is not None
    return json.loads(found[1])
