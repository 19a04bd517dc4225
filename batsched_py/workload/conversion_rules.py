"""The rules that convert a log to jobs; they are stored with every result."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta

from batsched_py.errors import UsageError, parameter
from batsched_py.options.checked_values import convert
from batsched_py.options.durations import parse_time
from batsched_py.support.json_values import did_you_mean
from batsched_py.units import LATEST_TIME
from batsched_py.workload.grid_sites import GridSites

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
"""Kinds of jobs that a rule may drop; ``withdrawn`` is cancelled before the start."""
Homes = Literal["user", "round-robin", "group", "partition"]
"""How a job gets a home, which is a grid site."""
Split = Literal["local", "largest"] | Annotated[int, Meta(ge=1, lt=10**9)]
"""How wide a job may be: as its home, as the largest grid site, or a number of processors."""
Moment = Annotated[float, Meta(ge=0, le=LATEST_TIME)] | str
"""Seconds after the first submission of a log, or a date by the log's clock."""
SPAN = ("span_from", "span_until")
"""Rules that cut a span out of a log."""
_JOB_NUMBERS = re.compile(r"\s*([0-9]{1,15})\s*-\s*([0-9]{1,15})\s*")
LATER = (
    *("keep", "without_users", "job_numbers", "homes", "split", "least_walltime"),
    *("withdrawn", "impute_seed", *SPAN),
)
"""Rules that are stored only where they change something: older results do not have them."""


class Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules that convert a log to jobs.

    Jobs without size (at most 0 processors) or with a negative run time cannot be simulated and
    are always dropped, unless ``withdrawn`` gives them a run time.
    """

    size: Literal["requested", "allocated"] = "requested"
    """Processors of a job; the other number where this one is unknown."""
    walltime: Literal["requested", "double", "exact"] = "double"
    """``double`` is max(requested, 2 x recorded run time); ``exact`` sets no limit and tells
    policies the run time."""
    least_walltime: Annotated[float, Meta(ge=0, le=LATEST_TIME)] = 0.0
    """Seconds; under ``double`` no job has a shorter limit. With 0 a job of run time 0 without
    request has no limit."""
    runtime: Literal["recorded", "cut-at-request"] = "recorded"
    drop: tuple[Drop, ...] = ()
    unknown_user: Literal["one", "each", "drop"] = "one"
    """Jobs of an unknown user (-1) belong to one user, each to its own, or are dropped. Where a
    log knows no user at all, ``one`` does not make everybody one: the jobs have no user."""
    profile: Literal["delay", "parallel_homogeneous"] = "parallel_homogeneous"
    keep: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """Fields of SWF, and further columns of a data frame, that policies see in ``job.extra``. A job
    lacks those that are unknown."""
    without_users: tuple[Annotated[str, Meta(pattern=r"^[0-9]{1,15}$")], ...] = ()
    """Numbers of users in the log whose jobs are left out, such as those of a flurry."""
    span_from: Moment = 0.0
    """Only jobs submitted from then on. Times count from the first submission of the whole log, and
    jobs keep their recorded times."""
    span_until: Moment | None = None
    """Only jobs submitted before then."""
    job_numbers: str | None = None
    """Only the kept jobs with these numbers in the log, ``10000-19999``."""
    first: Annotated[int, Meta(ge=1)] | None = None
    """Only the first N of the kept jobs."""
    homes: Homes = "user"
    """The grid site where a job is at home: that of its user, each site in turn in order of
    submission, that of its group, or site n for partition n."""
    split: Split | None = None
    """Jobs wider than their home, than the largest grid site, or than a number of processors become
    several."""
    withdrawn: Literal["as-recorded", "impute"] = "as-recorded"
    """Jobs that were cancelled before they started. ``impute`` keeps them, even if ``drop`` has
    ``withdrawn``, ``cancelled``, ``no-allocation`` or ``zero-runtime``, and draws their run times,
    see :func:`~batsched_py.workload.withdrawn_jobs.impute_run_times`."""
    impute_seed: Annotated[int, Meta(ge=0, lt=2**53)] = 0
    """Seed of the drawn run times of ``impute``."""


_TYPES = get_type_hints(Rules, include_extras=True)
_LISTS = ("drop", "keep", "without_users")
"""Rules that are lists."""
_MANY_VALUES = (
    *("first", "impute_seed", "job_numbers", "keep", "least_walltime", "split", "without_users"),
    *SPAN,
)
"""Rules that have more values than a few texts."""
CHOICES: dict[str, tuple[str, ...]] = {
    name: get_args(Drop if name == "drop" else hint)
    for name, hint in _TYPES.items()
    if name not in _MANY_VALUES
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
    """Return the rules of a preset, or given rules, with ``changes``; None changes nothing.

    ``drop``, ``keep`` and ``without_users`` may be comma-separated texts. Raises
    :class:`UsageError`, with what is allowed.
    """
    if isinstance(preset, str):
        if preset not in PRESETS:
            raise UsageError(_unknown(parameter("rules"), preset, list(PRESETS)))
        preset = PRESETS[preset]
    given = {name: value for name, value in changes.items() if value is not None}
    for name, value in given.items():
        if name not in _TYPES:
            raise UsageError(_unknown("rule", name, list(_TYPES)))
        given[name] = convert(_from_text(name, value), _TYPES[name], parameter(name), UsageError)
    return msgspec.structs.replace(preset, **given)


def _from_text(name: str, value: Any) -> Any:
    """Return the value of a rule that may be written as a text."""
    if name == "job_numbers":
        return "{}-{}".format(*parse_job_numbers(str(value)))
    if name in SPAN:
        return parse_moment(name, value)
    if not isinstance(value, str):
        return value
    if name in _LISTS:
        return [part.strip() for part in value.split(",") if part.strip()]
    if name == "least_walltime":
        return parse_time(parameter(name), value)
    return int(value) if name == "split" and value.strip().isdecimal() else value


def parse_job_numbers(text: str) -> tuple[int, int]:
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


def parse_moment(name: str, value: Any) -> Any:
    """Return a rule of the span: a date as a text, others in seconds; raises :class:`UsageError`.

    >>> parse_moment("span_from", "2 weeks"), parse_moment("span_until", "2001-03-05T08:00")
    (1209600.0, '2001-03-05 08:00:00')
    """
    try:
        if not isinstance(value, str) or not re.match(r"\s*\d{4}-", value):
            return parse_time(parameter(name), value)
        date = datetime.fromisoformat(value.strip())
        if date.tzinfo is None:  # the log has a time zone
            return str(date)
    except (UsageError, ValueError):
        pass
    raise UsageError(
        f"{parameter(name)} {value!r}: expected a time after the first submission, such as "
        "'29 weeks', or a date by the clock of the log, such as '2001-03-05 08:00'"
    )


def check_sites(rules: Rules, sites: GridSites) -> None:
    """Raise :class:`UsageError` for rules that need grid sites if there are none."""
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
    """Return the rules as a dict, in the form that is stored with results."""
    if rules.walltime != "double":  # which alone reads it
        rules = msgspec.structs.replace(rules, least_walltime=0.0)
    if rules.withdrawn != "impute":
        rules = msgspec.structs.replace(rules, impute_seed=0)
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
