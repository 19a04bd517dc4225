"""Many drawn schedules in one text, see :mod:`batsched_py.testing`."""

from __future__ import annotations

import re
from typing import NamedTuple


class DrawnCase(NamedTuple):
    """A drawing under a line ``policy processors: what it shows``."""

    policy: str
    processors: int
    drawing: str
    title: str

    def __str__(self) -> str:
        return self.title[:60]


def drawn_cases(text: str) -> list[DrawnCase]:
    """Return the cases of a text, which are apart by an empty line."""
    cases = []
    for case in text.strip().split("\n\n"):
        title, drawing = re.split(r"\n(?=\w+ \d+ \|)", case, maxsplit=1)
        policy, processors = title.partition(":")[0].split()
        cases.append(DrawnCase(policy, int(processors), drawing, title))
    return cases
