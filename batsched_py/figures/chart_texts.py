"""Texts in a chart: what names say is drawn, and neither computed nor a fault of the library."""

from __future__ import annotations

import re
from typing import Any

from batsched_py.support.terminal_text import one_line, with_controls_shown

_ROWS = ("data", "datasets")
_NO_XML = re.compile("[\ufffe\uffff]")
_BACKSLASH = "\N{REVERSE SOLIDUS OPERATOR}"


def drawable(spec: Any) -> Any:
    """Return a Vega-Lite specification whose texts can be drawn, and are nothing but texts.

    Control characters, for which the library that draws ends the process, are shown as numbers.
    Vega-Lite puts titles, and names of fields that have none, into expressions between quotation
    marks that a backslash before one would end.
    """
    if isinstance(spec, list | tuple):
        return [drawable(item) for item in spec]
    if not isinstance(spec, dict):
        return _text(spec) if isinstance(spec, str) else spec
    made = {
        _text(key): _rows(value) if key in _ROWS else drawable(value) for key, value in spec.items()
    }
    title = spec.get("title", spec.get("field"))
    if isinstance(title, str) and (clean := one_line(title).replace("\\", _BACKSLASH)) != title:
        made["title"] = clean
    return made


def _rows(data: Any) -> Any:
    if isinstance(data, list | tuple):
        return [_rows(item) for item in data]
    if isinstance(data, dict):
        return {_text(key): _rows(value) for key, value in data.items()}
    return _text(data) if isinstance(data, str) else data


def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", with_controls_shown(text))
