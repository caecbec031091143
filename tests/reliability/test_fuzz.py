"""2,000 mutants of files and tables: accepted or refused, never a crash, a hang or another error."""

from __future__ import annotations

import pytest

from tests.reliability.fuzz import TARGETS, fuzz


@pytest.mark.parametrize("target", TARGETS)
def test_mutants_are_accepted_or_refused(target: str) -> None:
    outcome = fuzz(target, 0, 1000)
    assert not outcome.failures, "\n".join(outcome.failures[:3])
    assert outcome.accepted > 10
    assert outcome.refused > 100
