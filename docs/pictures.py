"""Draws the pictures of the README, the tutorials and the gallery again: ``make pictures``.

A page names the file behind a picture in the line before it, and its own blocks make this file:

    <!-- picture: out/report.html 1000x700 -->
    ![A report](../images/report.png)

A PNG is compressed. Of a page of HTML, Chromium takes a screenshot in a window of the size given.
The picture of the README needs the log KTH-SP2-1996-2.1-cln: ``--logs FOLDER``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py import simulate
from batsched_py.support import palette
from batsched_py.units import DAY

ROOT = Path(__file__).parents[1]
README_PICTURE = ROOT / "docs" / "images" / "slower-machine.png"
LOG = "KTH-SP2-1996-2.1-cln"
MOST_BYTES = 150_000
_BLOCK = re.compile(r"(?P<before>[^\n]*)\n*```(?P<language>\w*)\n(?P<text>.*?)```", re.S)
_FILE = re.compile(r"`([\w.]+)`:\s*$")
_PICTURE = re.compile(r"<!-- picture: (\S+)(?: (\d+)x(\d+))? -->\n\[?!\[[^\]]*\]\(([^)]+)\)")


def run_page(page: Path, folder: Path) -> None:
    """Write the files that a page shows, and run its blocks, in a folder."""
    names: dict[str, Any] = {"__name__": page.stem}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in _BLOCK.finditer(page.read_text()):
        if name := _FILE.search(block["before"]):
            (folder / name[1]).write_text(block["text"])
        elif block["before"].startswith("<!-- not run"):
            continue
        elif block["language"] == "bash":
            subprocess.run(
                ["bash", "-euc", block["text"]],
                cwd=folder,
                env=os.environ | {"PATH": path},
                check=True,
                stdout=subprocess.DEVNULL,
            )
        elif block["language"] == "python":
            with contextlib.chdir(folder), contextlib.redirect_stdout(None):
                exec(compile(block["text"], str(page), "exec"), names)


def compress(png: bytes) -> bytes:
    """Return the same PNG in fewer bytes: packed well, and without an alpha that says nothing."""
    parts: list[tuple[bytes, bytes]] = []
    place = 8  # after the signature
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        parts.append((png[place + 4 : place + 8], png[place + 8 : place + 8 + length]))
        place += length + 12
    header = parts[0][1]
    pixels = zlib.decompress(b"".join(data for kind, data in parts if kind == b"IDAT"))
    if header[8:10] == bytes([8, 6]):  # eight bits for each of red, green, blue and alpha
        header, pixels = _without_alpha(header, pixels)
    packed = [(b"IHDR", header), (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b"")]
    return png[:8] + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in packed
    )


def _without_alpha(header: bytes, pixels: bytes) -> tuple[bytes, bytes]:
    """Return header and pixels without alpha, if all is opaque; each row begins with a filter."""
    width, height = struct.unpack(">II", header[:8])
    rows = np.frombuffer(pixels, np.uint8).reshape(height, -1)
    if not (rows[:, 0] == 1).all():  # 1: a pixel is its difference from the one on the left
        return header, pixels
    values = np.cumsum(rows[:, 1:].reshape(height, width, 4), axis=1, dtype=np.uint8)
    if not (values[..., 3] == 255).all():
        return header, pixels
    plain = np.zeros((height, 1 + 3 * width), np.uint8)  # 0: no filter
    plain[:, 1:] = values[..., :3].reshape(height, -1)
    return header[:9] + bytes([2]) + header[10:], plain.tobytes()


def take_screenshot(source: Path, picture: Path, width: int, height: int) -> None:
    """Take a picture of the first screen of an HTML page, in a browser window of a size."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        page.goto(source.resolve().as_uri(), wait_until="networkidle")
        page.wait_for_timeout(2000)  # charts are drawn after the page has loaded
        page.screenshot(path=picture)
        browser.close()


def draw_slower_machine(logs: Path) -> Any:
    """Draw the jobs submitted so far on a machine half as fast: rigid replay and closed loop."""
    log = str(logs / f"{LOG}.swf.gz")
    frames = []
    for users in ("rigid", "feedback"):
        result = simulate(log, users=users, speed_factor=0.5, rules="replay-feedback")
        months = np.sort(result.table.submit - result.table.submit.min()) / (30 * DAY)
        shown = np.unique([*range(0, len(months), 100), len(months) - 1])
        frames.append(pd.DataFrame({"months": months[shown], "jobs": shown + 1, "users": users}))
    labels = pd.DataFrame(
        {"users": ["rigid", "feedback"], "months": [7.3, 10.2], "jobs": [25500, 17500]}
        | {"text": [["recorded times", "(rigid replay)"], ["users who wait", "(closed loop)"]]}
    )
    ticks = alt.Axis(values=[*range(0, 22, 3)])
    colours = alt.Scale(domain=["rigid", "feedback"], range=[palette.RECORDED, palette.BLUE])
    encodings: dict[str, Any] = {
        "x": alt.X("months:Q", title="months since the first job", axis=ticks),
        "y": alt.Y(
            "jobs:Q", title="jobs submitted so far", axis=alt.Axis(format=",d", tickCount=4)
        ),
        "color": alt.Color("users:N", legend=None, scale=colours),
    }
    layers: list[Any] = [alt.Chart(pd.concat(frames)).mark_line(strokeWidth=4).encode(**encodings)]
    for users, align in (("rigid", "right"), ("feedback", "left")):
        text = alt.Chart(labels[labels["users"] == users]).encode(text="text:N", **encodings)
        style: dict[str, Any] = {"align": align, "fontSize": 20, "lineHeight": 24}
        layers.append(text.mark_text(fontWeight="bold", **style))
    chart: Any = alt.layer(*layers).properties(width=620, height=300)
    chart = chart.configure_axis(labelFontSize=17, titleFontSize=18, grid=False)
    return chart.configure_view(stroke=None)


def make_pictures(page: Path) -> list[Path]:
    """Run a page and make its pictures; return them."""
    made = []
    with tempfile.TemporaryDirectory() as name:
        run_page(page, Path(name))
        for source, width, height, target in _PICTURE.findall(page.read_text()):
            picture = (page.parent / target).resolve()
            file = Path(name, source)
            if file.suffix == ".html":
                take_screenshot(file, picture, int(width), int(height))
                file = picture
            picture.write_bytes(compress(file.read_bytes()))
            made.append(picture)
    return made


def main() -> int:
    """Make the pictures of all pages, or of the pages that are named; return the exit code."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="*", type=Path, help="only these pages")
    parser.add_argument("--logs", type=Path, help=f"folder of {LOG}.swf.gz")
    arguments = parser.parse_args()
    pages = [page.resolve() for page in arguments.pages] or sorted((ROOT / "docs").rglob("*.md"))
    made = []
    for page in pages:
        if _PICTURE.search(page.read_text()):
            made += make_pictures(page)
    if arguments.logs and Path(arguments.logs, f"{LOG}.swf.gz").exists():
        draw_slower_machine(arguments.logs).save(README_PICTURE, scale_factor=2)
        README_PICTURE.write_bytes(compress(README_PICTURE.read_bytes()))
        made.append(README_PICTURE)
    else:
        print(f"{README_PICTURE.name} is left as it is: --logs FOLDER draws it")
    for picture in made:
        size = picture.stat().st_size
        print(f"{picture.relative_to(ROOT)}: {size // 1000} kB")
    return 1 if any(picture.stat().st_size > MOST_BYTES for picture in made) else 0


if __name__ == "__main__":
    sys.exit(main())
