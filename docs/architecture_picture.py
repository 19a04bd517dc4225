"""Draws docs/images/architecture.svg from the imports: who uses whom, layer by layer.

A row for each package in the order of the import contracts, from the command line at the top to
errors at the bottom, and a column for each in the same order. A square says that the package of
the row imports the one of the column, the darker the more of its modules do. Nothing lies left of
the diagonal: no package imports one above it.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import grimp

from batsched_py.files.readers import read_toml

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
LEFT, TOP, CELL = 200, 130, 22
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1b1f24 }
.count { font-size: 11px; fill: #57606a; text-anchor: end }
.name { text-anchor: end }
.grid { stroke: #d0d7de } .self { fill: #d0d7de } .use { fill: #3f51b5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .count { fill: #9da7b3 }
  .grid { stroke: #30363d } .self { fill: #30363d } .use { fill: #8ea2e8 }
}
"""


def packages() -> list[str]:
    """Return the packages and modules of the contracts about layers, from the top."""
    settings = read_toml(ROOT / "pyproject.toml")
    names = []
    for container in ("batsched_users", "batsched_py"):
        (layers,) = (
            contract["layers"]
            for contract in settings["tool"]["importlinter"]["contracts"]
            if contract.get("containers") == [container]
        )
        for layer in layers:
            names += [f"{container}.{name.strip(' ()')}" for name in re.split(r"[:|]", layer)]
    return names


def uses(names: list[str]) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """Return how many modules of a package import which other, and how many each has."""
    graph = grimp.build_graph("batsched_py", "batsched_users")
    home = {
        module: name
        for name in names
        if name in graph.modules
        for module in {name} | graph.find_descendants(name)
    }
    pairs: Counter[tuple[str, str]] = Counter()
    for module, name in home.items():
        imported = {
            home.get(other, name) for other in graph.find_modules_directly_imported_by(module)
        }
        pairs.update((name, other) for other in imported if other != name)
    return pairs, Counter(home.values())


def draw() -> str:
    """Return the picture as SVG."""
    pairs, sizes = uses(packages())
    names = [name for name in packages() if name in sizes]
    place = {name: number for number, name in enumerate(names)}
    end = CELL * len(names)
    parts = []
    for name, number in place.items():
        at = TOP + number * CELL
        shown = name.replace("batsched_py.", "").replace("batsched_users.", "users: ")
        middle, across = at + 0.7 * CELL, LEFT + (number + 0.7) * CELL
        parts += [
            f'<path class="grid" d="M{LEFT - 190},{at} H{LEFT + end}"/>',
            f'<text class="name" x="{LEFT - 40}" y="{middle:.0f}">{shown}</text>',
            f'<text class="count" x="{LEFT - 10}" y="{middle:.0f}">{sizes[name]}</text>',
            f'<text transform="translate({across:.0f} {TOP - 8}) rotate(-50)">{shown}</text>',
            _square("self", LEFT + number * CELL, at, 1, name),
        ]
    for (user, used), count in sorted(pairs.items()):
        share = 0.3 + 0.7 * count / sizes[user]
        tip = f"{user} imports {used}: {count} of {sizes[user]} modules"
        parts.append(
            _square("use", LEFT + place[used] * CELL, TOP + place[user] * CELL, share, tip)
        )
    size = f"{LEFT + end + 90} {TOP + end + 10}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">'
    return "\n".join((head, f"<style>{STYLE}</style>", *parts, "</svg>\n"))


def _square(kind: str, x: float, y: float, opacity: float, tip: str) -> str:
    size = CELL - 4
    return (
        f'<rect class="{kind}" x="{x + 2}" y="{y + 2}" width="{size}" height="{size}" rx="3" '
        f'opacity="{opacity:.2f}"><title>{tip}</title></rect>'
    )


if __name__ == "__main__":
    PICTURE.write_text(draw())
