"""The page as text: what is in it, and that nothing gets out of its place."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.report.forms.html_page import (
    encode_safe_json,
    render_markdown,
    render_page,
)
from helpers.made_up_report import EVIL, MadeUp, a_report


@pytest.fixture(scope="module")
def made() -> str:
    return render_page(a_report(), MadeUp(1, nb_jobs=30))


class Elements(HTMLParser):
    """Counts elements, and keeps their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_texts_do_not_become_elements(made: str) -> None:
    elements = Elements(made)
    assert elements.all("b") == []
    assert len(elements.all("script")) == 3
    assert "&lt;b id=" in made


@given(st.text() | st.sampled_from([EVIL, "\u2028", "<!-- <script>", "&amp;", "]]>"]))
def test_data_cannot_leave_their_script_element(text: str) -> None:
    encoded = encode_safe_json({"x": text})
    assert not set(encoded) & set("<>&\u2028\u2029")
    assert json.loads(encoded) == {"x": text}


def test_nothing_is_asked_of_the_network(made: str) -> None:
    elements = Elements(made)
    for tag, attributes in elements.tags:
        for name in ("src", "href", "data", "poster", "srcset", "action"):
            address = attributes.get(name)
            assert address is None or address.startswith(("#", "data:")), (tag, address)
    (policy,) = [meta["content"] for meta in elements.all("meta") if "http-equiv" in meta]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "http" not in policy


def test_a_table_has_its_csv_in_the_page(made: str) -> None:
    (link,) = [
        anchor for anchor in Elements(made).all("a") if anchor.get("download") == "waits.csv"
    ]
    assert link["href"] is not None
    assert link["href"].startswith("data:text/csv;charset=utf-8,log%2Cwait%2C")


def test_markdown_is_rendered_without_html_and_pictures() -> None:
    assert render_markdown("**a** `b`") == "<p><strong>a</strong> <code>b</code></p>\n"
    assert "<img" not in render_markdown("![x](https://example.org/x.png) <img src=x>")
    assert "<a" not in render_markdown("[x](javascript:alert(1))")
