"""The tables of the reference are those of the code; ``make reference`` writes them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "reference_pages.py")
assert SPEC
assert SPEC.loader
pages = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pages)


@pytest.mark.parametrize("page", pages.find_pages(), ids=lambda page: page.stem)
def test_a_page_is_up_to_date(page: Path) -> None:
    text = page.read_text()
    assert text == pages.complete(text), "make reference"
