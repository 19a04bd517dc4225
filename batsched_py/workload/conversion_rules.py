"""The rules by which a log becomes jobs: a small set with names, stored with every result."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf
from typing import Any, Literal, get_args, get_type_hints

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.support.json_values import did_you_mean
from batsched_py.support.option_values import parse_time
from batsched_py.workload.sites import Sites

Drop = Literal[
    "zero-runtime",
    "no-request",
    "no-allocation",
    "too-wide",
    "cancelled",
    "withdrawn",
    "failed",
    "no-user",
]
"""Kinds of jobs that a rule may drop; ``withdrawn`` is cancelled with a run time of 0."""
Keep = Literal["group", "queue", "partition"]
"""Fields of a log that its jobs may keep."""
Homes = Literal["user", "round-robin", "group", "partition"]
"""How a job gets a home."""
Split = Literal["local", "largest"] | int
"""How wide a job may be: as its home, as the largest site, or a number of processors."""
_JOB_NUMBERS = re.compile(r"\s*([0-9]{1,15})\s*-\s*([0-9]{1,15})\s*")
LATER = ("keep", "job_numbers", "homes", "split", "least_walltime")
"""Rules that are stored only where they change something: older results do not have them."""


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules by which a log becomes jobs.

    Jobs without size (at most 0 processors) or with a negative run time cannot be simulated and
    are always dropped.
    """

    size: Literal["requested", "allocated"] = "requested"
    """Processors of a job; the other number where this one is unknown."""
    walltime: Literal["requested", "double", "exact"] = "double"
    """``double`` is max(requested, 2 x recorded run time); ``exact`` sets no limit and tells
    policies the run time."""
    least_walltime: float = 0.0
    """Seconds; under ``double`` no job has a shorter limit. With 0 a job of run time 0 without
    request has no limit."""
    runtime: Literal["recorded", "cut-at-request"] = "recorded"
    drop: tuple[Drop, ...] = ()
    unknown_user: Literal["one", "each", "drop"] = "one"
    """Jobs of an unknown user (-1) belong to one user, each to its own, or are dropped. Where a
    log knows no user at all, ``one`` does not make everybody one: the jobs have no user."""
    profile: Literal["delay", "parallel_homogeneous"] = "parallel_homogeneous"
    keep: tuple[Keep, ...] = ()
    """Fields that policies see of the jobs, as their numbers in the log."""
    job_numbers: str | None = None
    """Only the jobs with these numbers in the log, ``10000-19999``, of those kept."""
    first: int | None = None
    """Only the first N jobs of those kept."""
    homes: Homes = "user"
    """The site where a job is at home: by its user, which the log need not say (the decision
    process does it by the name); every n-th of n sites, in submission order, from the first site
    on; by its group; or the n-th site for partition n."""
    split: Split | None = None
    """Jobs wider than the site where they are at home, than the largest site, or than a number of
    processors become several."""


_LISTS: dict[str, Any] = {"drop": Drop, "keep": Keep}
"""Rules that are lists: what may be in them."""
CHOICES: dict[str, tuple[str, ...]] = {
    name: get_args(_LISTS.get(name, hint))
    for name, hint in get_type_hints(Rules).items()
    if name not in ("first", "job_numbers", "least_walltime", "split")  # more than a few texts
}
"""The values that each rule may have (one that is a list: that its parts may have)."""

PRESETS: dict[str, Rules] = {
    "default": Rules(drop=("withdrawn",), least_walltime=1.0),
    "replay-feedback": Rules(),
    "predictsim": Rules(
        drop=("zero-runtime", "no-request"), runtime="cut-at-request", walltime="requested"
    ),
    "dynp": Rules(
        drop=("zero-runtime", "no-request", "too-wide"),
        runtime="cut-at-request",
        walltime="requested",
    ),
}
"""Rules by name. The default leaves withdrawn jobs out and gives every job a limit, of at least the
resolution of the logs. The others are those of studies: Madon et al. 2024; Gaussier et al. 2015;
Streit 2003."""
DEFAULT = "default"
"""The preset where none is named."""


def make_rules(preset: Rules | str = DEFAULT, **changes: Any) -> Rules:
    """Return the rules of a preset, or others, with ``changes``; None means: as in these.

    ``drop`` and ``keep`` may be comma-separated texts. Raises :class:`UsageError`, with what is
    allowed.
    """
    if isinstance(preset, str) and preset not in PRESETS:
        raise UsageError(_unknown(parameter("rules"), preset, list(PRESETS)))
    for name in _LISTS:
        if isinstance(given := changes.get(name), str):
            changes[name] = [part.strip() for part in given.split(",") if part.strip()]
        if changes.get(name) is not None:
            changes[name] = tuple(changes[name])
    kept = {name: value for name, value in changes.items() if value is not None}
    for name, value in kept.items():
        if name not in Rules.__struct_fields__:
            raise UsageError(_unknown("rule", name, list(Rules.__struct_fields__)))
        if name in _READERS:
            kept[name] = _READERS[name](value)
            continue
        for text in value if name in _LISTS else (value,):
            if text not in CHOICES[name]:
                raise UsageError(_unknown(parameter(name), text, list(CHOICES[name])))
    rules = PRESETS[preset] if isinstance(preset, str) else preset
    return msgspec.structs.replace(rules, **kept)


def job_number_range(text: str) -> tuple[int, int]:
    """Return the first and the last of job numbers such as ``10000-19999``.

    Raises :class:`UsageError`.
    """
    match = _JOB_NUMBERS.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]):
        raise UsageError(
            f"{parameter('job_numbers')} {text}: expected the first and the last, such as "
            "10000-19999, of at most 15 digits"
        )
    return int(match[1]), int(match[2])


def _job_numbers(value: Any) -> str:
    first, last = job_number_range(str(value))
    return f"{first}-{last}"


def _first(value: Any) -> int:
    if not isinstance(value, int) or value < 1:
        raise UsageError(f"{parameter('first')} {value}: expected a number of jobs, at least 1")
    return value


def _least_walltime(value: Any) -> float:
    seconds = parse_time(parameter("least_walltime"), value)
    if not 0 <= seconds < inf:
        raise UsageError(f"{parameter('least_walltime')} {value}: expected a time of at least 0 s")
    return float(seconds)


def _split(value: Any) -> Split:
    if value == "local" or value == "largest":
        return value  # type: ignore[no-any-return]
    text = str(value).strip()
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise UsageError(
            f"{parameter('split')} {value}: expected local, largest or a number of processors, at "
            "least 1"
        )
    return int(text)


_READERS: dict[str, Callable[[Any], Any]] = {
    "job_numbers": _job_numbers,
    "least_walltime": _least_walltime,
    "first": _first,
    "split": _split,
}


def check_sites(rules: Rules, sites: Sites) -> None:
    """Raise :class:`UsageError` for rules that need sites where there are none."""
    for name, value in (("homes", rules.homes), ("split", rules.split)):
        if not sites and isinstance(value, str) and value != "user":
            raise UsageError(f"{parameter(name)} {value} without sites: give {parameter('sites')}")


def describe(rules: Rules) -> str:
    """Return the rules as one line."""
    return " ".join(
        f"{name.replace('_', '-')}={','.join(value) if isinstance(value, list) else value}"
        for name, value in as_dict(rules).items()
        if value not in (None, (), [])
    )


def as_dict(rules: Rules) -> dict[str, Any]:
    """Return the rules as they are stored with results."""
    if rules.walltime != "double":  # which alone reads it
        rules = msgspec.structs.replace(rules, least_walltime=0.0)
    defaults = Rules()
    fields = {
        name: getattr(rules, name)
        for name in rules.__struct_fields__
        if name not in LATER or getattr(rules, name) != getattr(defaults, name)
    }
    as_lists = {name: list(fields[name]) for name in _LISTS if name in fields}
    return fields | as_lists  # as it comes back from a JSON file


def _unknown(what: str, text: str, allowed: list[str]) -> str:
    guess = did_you_mean(text, allowed)
    return f"{what} {text!r}{guess}: expected one of {', '.join(allowed)}"
