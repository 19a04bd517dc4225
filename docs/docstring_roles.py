"""Docstrings say ``:class:`Job```; the site shows the name, as a link where it has one."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":\w+:`~?([^`]+)`")


class DocstringRoles(griffe.Extension):
    """Turns the roles in docstrings into code, and dotted names into references."""

    def on_object(self, *, obj: griffe.Object, **further: Any) -> None:
        """Rewrite the docstring of ``obj``."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(_shown, obj.docstring.value)


def _shown(role: re.Match[str]) -> str:
    name = role[1].rpartition(".")[2]
    return f"`{name}`"
