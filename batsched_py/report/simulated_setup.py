"""Describes the simulated setup: machine, log, rules, policies, users, repetitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from batsched_py.errors import BatschedError
from batsched_py.files.readers import parse_json
from batsched_py.plugins import plugins
from batsched_py.plugins.plugin_descriptions import (
    REPLAY,
    find_description,
    join_first_paragraph,
    read_docstring,
)
from batsched_py.plugins.plugins import RIGID
from batsched_py.report.campaign_axes import (
    INPUTS,
    CampaignAxes,
    decides,
    fill_labels,
    shorten_names,
)
from batsched_py.report.document import Column, Table
from batsched_py.report.formatting import escape_markdown, is_nothing, listed, to_italics, to_words
from batsched_py.report.kit.selection import Runs, log_name
from batsched_py.report.kit.tables import table
from batsched_py.report.shown_runs import ShownRuns, Stored, read_all_stored
from batsched_py.units import DAY, UNITS, choose_unit
from batsched_py.workload.logs.clock import format_moment
from batsched_py.workload.logs.log_archive import SAMPLE

_POLICIES = ("scheduler", "scheduler_options")
_USERS = ("users", "user_options")
"""The options that choose a policy, and those that choose a user model."""


class Named(msgspec.Struct, frozen=True):
    """A policy or a user model with its name in the report."""

    name: str
    """The label in the campaign file, or a short form of the option's value."""
    value: str
    """``sjf.py:FairSJF``"""
    short: str
    """``FairSJF``"""
    options: str
    """The options that all its runs have: ``cap_hours = 6``."""

    @property
    def words(self) -> str:
        """The name, with an explanation if it is not obvious (Markdown)."""
        more = [self.short] if self.short != self.name else []
        more += [f"`{self.options}`"] if self.options else []
        name = to_italics(self.name)
        return f"{name} ({', '.join(more)})" if more else name


def find_naming_axis(
    runs: pd.DataFrame, axes: Iterable[str], settings: Sequence[str]
) -> str | None:
    """Return the axis whose values are names of ``settings``; None if there is none."""
    for axis in axes:
        if axis not in runs or axis in (*settings, *INPUTS) or runs[axis].isna().any():
            continue
        if not pd.api.types.is_numeric_dtype(runs[axis]) and decides(runs, axis, settings):
            return axis
    return None


def _find_named(results: ShownRuns, setting: str, options: str) -> tuple[str, list[Named]]:
    """Return the policies or the user models of some runs, and the axis whose values they are.

    ``setting`` is that which names them.
    """
    runs = results.runs
    if setting not in runs:
        return setting, []
    axis = find_naming_axis(runs, results.axes, (setting, options)) or setting
    names, short = shorten_names(runs[axis].unique()), shorten_names(runs[setting].unique())
    named = []
    for name, of_name in runs.groupby(axis, sort=False):
        value = of_name[setting].iloc[0]
        same = _same_options(of_name[options]) if options in runs else ""
        named.append(Named(names[name], str(value), short[value], same))
    return axis, named


def _same_options(texts: pd.Series[Any]) -> str:
    """Return the options that are equal in all of some JSON texts; other options are axes."""
    parsed = [parse_json(text, dict[str, Any], "options") for text in texts.unique()]
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in parsed[0].items()
        if all(name in other and other[name] == value for other in parsed)
    )


def make_names_table(results: ShownRuns) -> Table | None:
    """Return a table that explains the policies and user models of a campaign."""
    rows = [
        {
            "kind": kind,
            "name": named.name,
            "meaning": _summary(group, named.value, results.file.parent).replace("`", ""),
            "options": named.options,
            "value": named.value,
        }
        for kind, group, settings in (
            ("policy", plugins.SCHEDULERS, _POLICIES),
            ("user model", plugins.USERS, _USERS),
        )
        for named in _find_named(results, *settings)[1]
    ]
    shown = [Column("kind"), Column("name"), Column("meaning")]
    if any(row["options"] for row in rows):
        shown.append(Column("options"))
    if any(row["value"] != row["name"] for row in rows):
        shown.append(Column("value", "option"))
    return table("names", "Policies and user models", rows, shown)


def _summary(group: str, name: str, folder: Path) -> str:
    """Return the first line of a plug-in's documentation; code in a file is not executed."""
    if name == RIGID and group == plugins.USERS:
        return REPLAY
    if name in plugins.list_names(group):
        try:
            return find_description(plugins.list_names(group)[name])
        except Exception:  # of code that cannot be imported here
            return ""
    place, _, attribute = name.rpartition(":")
    texts = [read_docstring(path, attribute) for path in (Path(place), folder / place)]
    return next((join_first_paragraph(text) for text in texts if text is not None), "")


_SIZES = {"requested": "processors as requested", "allocated": "processors as allocated"}
_LIMITS = {
    "requested": "killed at the requested time",
    "double": "killed at the requested time, or at twice the recorded run time if that is longer",
    "exact": "never killed, and policies know the run time",
}
_OWN_LINE = ("scheduler", "users", "log", "speed_factor")
"""Axes with a line of their own, or in the line of the machine."""
_NOT_MEASURED = {"warm_up": "first", "cool_down": "last"}
"""Settings that leave jobs out of the metrics: those submitted in this part of the run."""
_MACHINE = ("nb_res", "speed_factor")
_EXPLAINED = {
    "node_factor": "processors of the machine, as a multiple of the log's",
    "seed": "of the user model",
    "shake": "of the order of simultaneous events",
    "sessions": "minutes between the sessions of a user",
    "walltime": "limit after which a job is killed",
}
"""Explanations of axes with unclear names."""
_REPEATED = {
    "replication": "with another seed of the user model",
    "seed": "with another seed of the user model",
    "shake": "with simultaneous events in another order",
}
_RUN_TIMES = {
    "recorded": "run times as recorded",
    "cut-at-request": "run times cut at the requested time",
}


def describe_setup(results: ShownRuns, axes: CampaignAxes) -> Iterator[str]:
    """Yield a description of the simulated setup, a line of Markdown for each aspect."""
    runs = results.runs
    stored = read_all_stored(results)
    machines = find_naming_axis(runs, results.axes, _MACHINE)
    yield from _machine(runs, stored, machines)
    yield from _logs(results, stored)
    yield from _rules(runs, stored)
    done = {*_OWN_LINE, machines}
    for settings, title in ((_POLICIES, "Policies"), (_USERS, "User models")):
        axis, named = _find_named(results, *settings)
        if named:
            done.add(axis)
            title = title if len(named) > 1 else title.replace("ies", "y").removesuffix("s")
            yield f"**{title}**: {listed(of.words for of in named)}"
    for axis in axes.labels:
        if axis not in done:
            words = f" ({_EXPLAINED[axis]})" if axis in _EXPLAINED else ""
            names = shorten_names(runs[axis].unique()).values()
            yield f"**{to_words(axis).capitalize()}**: {listed(map(escape_markdown, names))}{words}"
    yield from _repetitions(results, axes)


def _machine(runs: pd.DataFrame, stored: Stored, axis: str | None) -> Iterator[str]:
    """Yield processors and speed: of each machine by its name, if an axis names them."""
    if "nb_res" not in runs or runs["nb_res"].isna().all():
        return
    groups = {} if axis is None else {str(name): of for name, of in runs.groupby(axis, sort=False)}
    named = [f"{to_italics(name)} ({_size_and_speed(group)})" for name, group in groups.items()]
    words = listed(named) or _size_and_speed(runs)
    sites = {_sites_of(of_run) for of_run in stored} - {""}
    if sites:
        words += f"; grid sites: {'; or '.join(sorted(sites))}"
    partitions = {_partitions_of(of_run) for of_run in stored} - {""}
    if partitions:
        first, *others = sorted(partitions)
        more = f" (and {len(others)} others)" if others else ""
        words += f"; partitions: {first}{more}"
    yield f"**Machine{'s' if groups else ''}**: {words}"


def _size_and_speed(runs: pd.DataFrame) -> str:
    words = f"{listed(sorted({int(size) for size in runs['nb_res'].dropna()}))} processors"
    speeds = sorted(set(runs["speed_factor"].dropna())) if "speed_factor" in runs else []
    if speeds and speeds != [1]:
        words += f", {listed(f'{speed:g}' for speed in speeds)} times as fast as the log's"
    return words


def _partitions_of(stored: Mapping[str, Any]) -> str:
    partitions = stored.get("partitions") or {}
    file = (stored.get("run") or {}).get("machine") or ""
    listed = ", ".join(f"{name} ({processors})" for name, processors in partitions.items())
    return f"{listed} of {Path(file).name}" if listed else ""


def _sites_of(stored: Mapping[str, Any]) -> str:
    sites = stored.get("sites") or []
    return ", ".join(f"{site['name']} (processors {site['processors']})" for site in sites)


def _logs(results: ShownRuns, stored: Stored) -> Iterator[str]:
    runs = results.runs
    if "input" not in runs:
        return
    logs = []
    firsts = [at for at, again in enumerate(runs["input"].duplicated()) if not again]
    names = shorten_names(str(runs["log"].iloc[at]) for at in firsts) if "log" in runs else {}
    for at in firsts:
        row = runs.iloc[at]
        asked = str(row.get("log", ""))
        name = names.get(asked) or log_name(row["input"])
        synthetic = " (synthetic, not of a real machine)"
        name = f"{to_italics(name)}{synthetic if asked == SAMPLE else ''}"
        of_log = runs[runs["input"] == row["input"]]
        number, recorded = _recorded(results, row, stored[at])
        logs.append(f"{name}{recorded}{_simulated_jobs(of_log, number)}")
    yield f"**{'Log' if len(logs) == 1 else 'Logs'}**: {'; '.join(logs)}"


def _recorded(results: ShownRuns, row: Any, stored: Mapping[str, Any]) -> tuple[int | None, str]:
    """Return the number of jobs of a log, and a text with its users and its span, if known."""
    try:
        workload = results.workload(row)
    except (BatschedError, OSError, KeyError):  # removed since the campaign ran
        number = stored.get("input", {}).get("nb_jobs")
        return number, f", {number:,} jobs" if number else ""
    if not workload.jobs:
        return 0, ", no jobs"
    first, last = workload.jobs[0].submit_time, workload.jobs[-1].submit_time
    users = {job.user for job in workload.jobs if job.user}
    words = f", {len(workload.jobs):,} jobs"
    words += f" of {len(users):,} users" if users else ""
    return len(workload.jobs), words + describe_span(first, last, workload.unix_start_time)


def _simulated_jobs(runs: pd.DataFrame, nb_recorded: int | None) -> str:
    """Return how many jobs the runs of a log have, if known and not the recorded number."""
    partly = {value for name in _NOT_MEASURED for value in runs.get(name, [])}
    if nb_recorded is None or "nb_jobs" not in runs:
        return ""
    if any(value and not is_nothing(value) for value in partly):  # only measured ones are counted
        return ""
    least, most = int(runs["nb_jobs"].min()), int(runs["nb_jobs"].max())
    if least == most == nb_recorded:
        return ""
    return f"; simulated: {f'{least:,} to ' if least < most else ''}{most:,} jobs a run"


def describe_span(first: float, last: float, unix_start_time: float | None) -> str:
    """Return the time over which jobs were submitted, in words, with the date of the first."""
    unit = choose_unit(last - first)
    span = (last - first) / UNITS[unit]
    words = f", submitted over {f'{span:,.0f}' if span >= 100 else f'{span:.3g}'} {unit}"
    if unix_start_time is not None:
        words += f" from {format_moment(first, unix_start_time, 'UTC'):%Y-%m-%d}"
    return words


def _rules(runs: pd.DataFrame, stored: Stored) -> Iterator[str]:
    of_runs = [of_run["rules"] for of_run in stored if of_run.get("rules")]
    if not of_runs:
        return
    rules = of_runs[0]
    words = [
        words.get(rules[name], str(rules[name]))
        for name, words in (("size", _SIZES), ("runtime", _RUN_TIMES), ("walltime", _LIMITS))
        if name in rules
    ]
    if rules.get("least_walltime"):
        words.append(f"no limit is shorter than {rules['least_walltime']:g} s")
    if rules.get("drop"):
        words.append(f"without {listed(rules['drop'])} jobs")
    for name, when in (("span_from", "from"), ("span_until", "before")):
        if moment := rules.get(name):
            after = "" if isinstance(moment, str) else " after the first job of the log"
            words.append(f"submitted {when} {_time(moment)}{after}")
    if rules.get("job_numbers"):
        words.append(f"only the jobs numbered {rules['job_numbers']}")
    if rules.get("first"):
        words.append(f"only the first {rules['first']:,} jobs")
    preset = sorted(set(runs["rules"])) if "rules" in runs else []
    named = f" (rules {listed(preset)})" if preset else ""
    several = "; other runs have other rules" if len(set(map(str, of_runs))) > 1 else ""
    yield f"**Jobs**: {', '.join(words)}{named}{several}"
    for name, words_of in _NOT_MEASURED.items():
        times = {value for value in runs.get(name, []) if not is_nothing(value) and value}
        if times:
            part = f"{words_of} {listed(sorted(map(_time, times)))}"
            yield f"**Not measured**: jobs submitted in the {part}"


def _time(value: Any) -> str:
    """Return a time: a text such as ``4 weeks`` as it is, a number of seconds in days."""
    return str(value) if isinstance(value, str) else f"{value / DAY:.3g} days"


def _repetitions(results: ShownRuns, axes: CampaignAxes) -> Iterator[str]:
    runs = results.runs
    labels = list(axes.labels)
    groups = Runs(fill_labels(runs, labels)).groups(*labels)
    sizes = [len(group) for _, group in groups]
    least, most = min(sizes), max(sizes)
    times = "once" if most == 1 else f"{least if least == most else f'{least} to {most}'} times"
    of = "each combination" if labels else "the simulation"
    ways = dict.fromkeys(_REPEATED[axis] for axis in axes.repeats)
    by = f", each {listed(ways)} (`{'`, `'.join(axes.repeats)}`)" if most > 1 and ways else ""
    done = "" if len(runs) == results.nb_planned else f" of {results.nb_planned} planned"
    number = f"{len(runs)} run" if len(runs) == 1 else f"{len(runs)} runs"
    yield f"**Runs**: {number}{done}; {of} {times}{by}"
