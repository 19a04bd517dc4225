"""Draws docs/images/architecture.svg from the imports: the layers, and who uses whom.

Layers are those of the import contract in pyproject.toml; a line is drawn from a package down to
each that it imports, unless it reaches that one through another already.
"""

from __future__ import annotations

import re
import tomllib
from html import escape
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
WIDTH, BOX, ROW, GAP = 960, 30, 62, 14
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1b1f24; text-anchor: middle }
.count { font-size: 10px; fill: #57606a }
rect { fill: #eef2fb; stroke: #5b6fb5; rx: 6 }
path { stroke: #8c95a6; fill: none; opacity: .6 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .count { fill: #9da7b3 } rect { fill: #1e2638; stroke: #8ea2e8 }
}
"""


def layers() -> list[list[str]]:
    """Return the layers of the contracts, from the top, each a list of packages or modules."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    rows = []
    for contract in reversed(settings["tool"]["importlinter"]["contracts"]):
        for layer in contract["layers"] if contract["type"] == "layers" else ():
            names = [name.strip(" ()") for name in re.split(r"[:|]", layer)]
            rows.append([f"{contract['containers'][0]}.{name}" for name in names])
    return rows


def imports(rows: list[list[str]]) -> tuple[nx.DiGraph, dict[str, int]]:
    """Return who imports whom, without what follows from others; and the modules in each."""
    packages = [package for row in rows for package in row]
    graph = grimp.build_graph(*sorted({package.partition(".")[0] for package in packages}))
    members = {
        package: {package} | graph.find_descendants(package)
        for package in packages
        if package in graph.modules
    }
    home = {module: package for package, modules in members.items() for module in modules}
    uses = nx.DiGraph()
    uses.add_nodes_from(members)
    for module, package in home.items():
        for imported in graph.find_modules_directly_imported_by(module):
            other = home.get(imported, package)
            if other != package:
                uses.add_edge(package, other)
    return nx.transitive_reduction(uses), {name: len(found) for name, found in members.items()}


def draw() -> str:
    """Return the picture as SVG."""
    rows = layers()
    uses, sizes = imports(rows)
    places: dict[str, tuple[float, float]] = {}
    boxes = []
    for number, row in enumerate(rows):
        there = [package for package in row if package in sizes]
        width = min(190.0, (WIDTH - GAP) / max(1, len(there)) - GAP)
        left = (WIDTH - len(there) * (width + GAP) + GAP) / 2
        for place, package in enumerate(there):
            x, y = left + place * (width + GAP), GAP + number * ROW
            places[package] = (x + width / 2, y)
            name = package.removeprefix("batsched_py.")
            boxes.append(f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{BOX}"/>')
            boxes.append(f'<text x="{x + width / 2:.0f}" y="{y + 15}">{escape(name)}</text>')
            modules = "1 module" if sizes[package] == 1 else f"{sizes[package]} modules"
            boxes.append(
                f'<text class="count" x="{x + width / 2:.0f}" y="{y + 26}">{modules}</text>'
            )
    lines = []
    for user, used in sorted(uses.edges):
        (x1, y1), (x2, y2) = places[user], places[used]
        y1 += BOX
        bend = (y2 - y1) / 2
        lines.append(
            f'<path d="M{x1:.0f},{y1} C{x1:.0f},{y1 + bend:.0f} {x2:.0f},{y2 - bend:.0f} '
            f'{x2:.0f},{y2}"/>'
        )
    height = GAP + len(rows) * ROW
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
            f"<style>{STYLE}</style>",
            *lines,
            *boxes,
            "</svg>\n",
        )
    )


if __name__ == "__main__":
    PICTURE.write_text(draw())
