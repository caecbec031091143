from __future__ import annotations

from hypothesis import settings

# A busy machine must not fail a test: no deadline per example.
settings.register_profile("tsenet", deadline=None)
settings.load_profile("tsenet")
