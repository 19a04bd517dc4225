"""The policies and user models of a page: how it calls them, their options, what each is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from batsched_py.report.campaign_axes import INPUTS, decides, short_names
from batsched_py.report.document import Column, Table
from batsched_py.report.formatting import in_italics
from batsched_py.report.runs_table import ShownRuns
from batsched_py.support import plugins
from batsched_py.support.file_readers import parse_json
from batsched_py.support.plugin_descriptions import REPLAY, description, first_paragraph, written_in
from batsched_py.support.plugins import RIGID


class Named(msgspec.Struct, frozen=True):
    """A policy or a user model as a page calls it."""

    name: str
    """As in the tables: the label in the campaign file, or short for what was given."""
    given: str
    """``sjf.py:FairSJF``"""
    short: str
    """``FairSJF``"""
    options: str
    """Those that all its runs have: ``cap_hours = 6``."""

    @property
    def words(self) -> str:
        """The name, and what it stands for if it does not say so (Markdown)."""
        told = [self.short] if self.short != self.name else []
        told += [f"`{self.options}`"] if self.options else []
        name = in_italics(self.name)
        return f"{name} ({', '.join(told)})" if told else name


class NamedGroup(msgspec.Struct, frozen=True):
    """All policies, or all user models, of a page."""

    axis: str
    """The axis whose values are the names."""
    named: Sequence[Named]


def policies_of(results: ShownRuns) -> NamedGroup:
    """Return the policies of some runs."""
    return _named(results.runs, results.axes, "scheduler", "scheduler_options")


def users_of(results: ShownRuns) -> NamedGroup:
    """Return the user models of some runs."""
    return _named(results.runs, results.axes, "users", "user_options")


def naming_axis(runs: pd.DataFrame, axes: Iterable[str], settings: Sequence[str]) -> str | None:
    """Return the axis whose texts stand for values of some settings; None if there is none."""
    for axis in axes:
        if axis not in runs or axis in (*settings, *INPUTS) or runs[axis].isna().any():
            continue
        if not pd.api.types.is_numeric_dtype(runs[axis]) and decides(runs, axis, settings):
            return axis
    return None


def _named(runs: pd.DataFrame, axes: Iterable[str], setting: str, options: str) -> NamedGroup:
    if setting not in runs:
        return NamedGroup(setting, ())
    axis = naming_axis(runs, axes, (setting, options)) or setting
    names, short = short_names(runs[axis].unique()), short_names(runs[setting].unique())
    named = []
    for name, of_name in runs.groupby(axis, sort=False):
        given = of_name[setting].iloc[0]
        same = _same_options(of_name[options]) if options in runs else ""
        named.append(Named(names[name], str(given), short[given], same))
    return NamedGroup(axis, named)


def _same_options(texts: pd.Series[Any]) -> str:
    """Return the options that are equal in all of some JSON texts; others are axes themselves."""
    given = [parse_json(text, dict[str, Any], "options") for text in texts.unique()]
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in given[0].items()
        if all(name in other and other[name] == value for other in given)
    )


def names_table(results: ShownRuns) -> Table | None:
    """Return the policies and user models of a campaign: what each is, and where it comes from."""
    rows = [
        {
            "kind": kind,
            "name": named.name,
            "meaning": _summary(group, named.given, results.file.parent).replace("`", ""),
            "options": named.options,
            "given": named.given,
        }
        for kind, group, of_kind in (
            ("policy", plugins.SCHEDULERS, policies_of(results)),
            ("users", plugins.USERS, users_of(results)),
        )
        for named in of_kind.named
    ]
    if not rows:
        return None
    shown = [Column("kind", "what"), Column("name"), Column("meaning", "in words")]
    if any(row["options"] for row in rows):
        shown.append(Column("options"))
    if any(row["given"] != row["name"] for row in rows):
        shown.append(Column("given", "as given"))
    return Table("names", "The policies and users of this page", pd.DataFrame(rows), tuple(shown))


def _summary(group: str, name: str, folder: Path) -> str:
    """Return what a plug-in says of itself in a line; a file of somebody's is not executed."""
    if name == RIGID and group == plugins.USERS:
        return REPLAY
    if name in plugins.names(group):
        try:
            return description(plugins.names(group)[name])
        except Exception:  # of code that cannot be imported here
            return ""
    place, _, attribute = name.rpartition(":")
    texts = [written_in(path, attribute) for path in (Path(place), folder / place)]
    return next((first_paragraph(text) for text in texts if text is not None), "")
