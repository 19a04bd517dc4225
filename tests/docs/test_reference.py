"""The tables of the reference are those of the code; ``make reference`` writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
import reference_pages as pages


@pytest.mark.parametrize("page", pages.find_pages(), ids=lambda page: page.stem)
def test_a_page_is_up_to_date(page: Path) -> None:
    text = page.read_text()
    assert text == pages.complete(text), "make reference"
