"""Describes the options of policies and user models: meaning, allowed values and default.

The meaning is a line ``name: sentence.`` of the section "Args:" of the docstring of the class, or
the ``title`` of an annotation ``Annotated[..., msgspec.Meta(title=...)]``. The allowed values are
what follows "Allowed:" in the line, or come from the annotation.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

from batsched_py.options.checked_values import describe_written, find_title
from batsched_py.plugins.plugin_descriptions import NOT_DESCRIBED
from batsched_py.plugins.plugins import find_option_parameters, resolve_type
from batsched_py.support.json_values import whole

_SECTION = re.compile(r"^Args:\n((?: +.*\n?|\n(?= ))+)", re.M)
_ARGUMENT = re.compile(r"^ {4}(\w+): ", re.M)


class PluginOption(NamedTuple):
    """An option of a policy or user model, described for its users."""

    name: str
    meaning: str
    """A sentence; empty if the author wrote none."""
    values: str
    """The allowed values in words; empty if nothing is known."""
    default: str | None
    """As a command line takes it; None if the option must be given."""


def describe_options(plugin: Any) -> list[PluginOption]:
    """Return the options of a plug-in class, described as far as its author did.

    >>> class Mine:
    ...     '''Starts some jobs.
    ...
    ...     Args:
    ...         share: Share of the jobs. Allowed: a number from 0 to 1.
    ...     '''
    ...
    ...     def __init__(self, *, share: float = 0.5) -> None: ...
    >>> describe_options(Mine)
    [PluginOption(name='share', meaning='Share of the jobs.', values='a number from 0 to 1', \
default='0.5')]
    """
    written = _read_arguments(inspect.getdoc(plugin) or "")
    described = []
    for option in find_option_parameters(plugin):
        kind = resolve_type(plugin, option)
        meaning, _, values = written.get(option.name, "").partition("Allowed: ")
        described.append(
            PluginOption(
                option.name,
                meaning.strip() or remove_markup(find_title(kind)),
                values.strip().removesuffix(".") or describe_written(kind),
                _default(option.default),
            )
        )
    return described


def describe_plugin(plugin: Any) -> str:
    """Return the docstring of a plug-in without its arguments and without markup."""
    text = _SECTION.sub("", inspect.getdoc(plugin) or NOT_DESCRIBED).strip()
    return remove_markup(re.sub(r"\.\. code-block:: \w+\n\n?", "", text))


def remove_markup(text: str) -> str:
    """Return a text without reStructuredText roles and double backquotes.

    >>> remove_markup("``order`` of :class:`a.b.C`")
    '`order` of `C`'
    """
    return re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text).replace("``", "`")


def _read_arguments(text: str) -> dict[str, str]:
    """Return the text of each argument of a docstring, as one line."""
    section = _SECTION.search(text)
    _, *parts = _ARGUMENT.split(section[1] if section else "")
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return {name: remove_markup(" ".join(text.split())) for name, text in pairs}


def _default(value: Any) -> str | None:
    if value is inspect.Parameter.empty:
        return None
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if callable(value):
        return "a function"
    return f"{whole(value)}" if isinstance(value, float) else str(value) or '""'
