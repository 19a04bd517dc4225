"""How many inputs are drawn where each takes long."""

from __future__ import annotations

from hypothesis import settings

few_examples = settings(max_examples=settings().max_examples // 4)
"""A quarter of the profile's number."""
