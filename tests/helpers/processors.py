"""Sets of processors as tests write them."""

from __future__ import annotations

from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, from_text


def processors(text: str) -> ProcessorSet:
    """Return a set from Batsim's text, such as ``"0-3 7"``; ``""`` is the empty one."""
    return from_text(text) if text else NO_PROCESSORS
