"""The address of the repository has one place, ``[project.urls]``: no page makes up another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from batsched_py.files.readers import read_toml

ROOT = Path(__file__).parents[2]
URLS: dict[str, str] = read_toml(ROOT / "pyproject.toml")["project"].get("urls", {})
ADDRESS = re.compile(r"(?:https?://|git@)[^\s\"'<>)\]]+")
FILES = [
    *(
        path
        for pattern in ("*.md", "docs/**/*.md", "experiments/**/*.md", "*/README.md")
        for path in sorted(ROOT.glob(pattern))
    ),
    ROOT / "CITATION.cff",
    ROOT / "mkdocs.yml",
    ROOT / "Dockerfile",
]


def find_own_addresses(text: str) -> list[str]:
    """Return the addresses that name this project, or what stands for one."""
    named = [url for url in ADDRESS.findall(text) if re.search("batsched[_-]py", url)]
    return named + re.findall(r"<[^<>\n]*(?:repository|address|url)[^<>\n]*>", text, re.I)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_other_address_of_the_repository(file: Path) -> None:
    known = tuple(URLS.values())
    own = find_own_addresses(file.read_text())
    assert [address for address in own if not (known and address.startswith(known))] == []


@pytest.mark.parametrize(
    "text",
    [
        "git clone https://example.org/us/batsched_py.git",
        "[code](https://example.org/batsched-py)",
        "git clone git@example.org:us/batsched_py",
        "git clone <this repository>",
        "git clone <url>",
    ],
)
def test_addresses_are_found(text: str) -> None:
    assert len(find_own_addresses(text)) == 1


def test_addresses_of_others_are_not_ours() -> None:
    assert not find_own_addresses("[Batsim](https://batsim.org), <https://example.org/batsched>")
