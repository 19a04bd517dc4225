"""Where the texts of a chart are, as they are drawn: none may lie on another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import vl_convert

from batsched_py.figures.chart_files import LOOKS

_WIDE = 0.5
"""Of a letter, by its font's size; a bold one is wider, but not by much."""


class Box(NamedTuple):
    text: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        beside = self.right <= other.left or other.right <= self.left
        return not (beside or self.bottom <= other.top or other.bottom <= self.top)


def texts_of(chart: Any) -> list[Box]:
    """Return the texts of an altair chart with the room they take, pixels."""
    drawn = vl_convert.vegalite_to_scenegraph(chart.to_dict(), config=LOOKS)
    return list(_texts(drawn["scenegraph"], 0, 0))


def overlapping(chart: Any) -> list[tuple[str, str]]:
    """Return the pairs of texts that lie on each other."""
    pairs = combinations(texts_of(chart), 2)
    return [(box.text, other.text) for box, other in pairs if box.overlaps(other)]


def _texts(mark: dict[str, Any], x: float, y: float) -> Iterator[Box]:
    for item in mark["items"]:
        at = x + item.get("x", 0), y + item.get("y", 0)
        if mark["marktype"] == "text" and item.get("text") and item.get("opacity", 1):
            yield _box(item, *at)
        for inner in item.get("items", []):
            yield from _texts(inner, *at)


def _box(item: dict[str, Any], x: float, y: float) -> Box:
    lines = item["text"] if isinstance(item["text"], list) else [f"{item['text']}"]
    text, high = "\n".join(lines), item["fontSize"] * len(lines)
    wide = _WIDE * item["fontSize"] * max(map(len, lines))
    before = {"left": 0, "center": 0.5, "right": 1}[item.get("align", "left")] * wide
    baselines = {"top": 0, "middle": 0.5, "bottom": 1, "line-top": 0, "alphabetic": 0.8}
    above = baselines[item.get("baseline", "alphabetic")] * high
    if item.get("angle", 0) == 0:
        return Box(text, x - before, y - above, x + wide - before, y + high - above)
    if item["angle"] < 0:  # upwards
        return Box(text, x - above, y - wide + before, x + high - above, y + before)
    return Box(text, x + above - high, y - before, x + above, y + wide - before)
