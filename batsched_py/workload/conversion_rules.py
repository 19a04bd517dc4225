"""The rules by which a log becomes jobs: a small set with names, stored with every result."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_type_hints

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.support.json_values import did_you_mean
from batsched_py.workload.drop_rules import Drop


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
    runtime: Literal["recorded", "cut-at-request"] = "recorded"
    drop: tuple[Drop, ...] = ()
    unknown_user: Literal["one", "each", "drop"] = "one"
    """Jobs of an unknown user (-1) belong to one user, each to its own, or are dropped. Where a
    log knows no user at all, ``one`` does not make everybody one: the jobs have no user."""
    profile: Literal["delay", "parallel_homogeneous"] = "parallel_homogeneous"
    first: int | None = None
    """Only the first N jobs of those kept."""


CHOICES: dict[str, tuple[str, ...]] = {
    name: get_args(Drop if name == "drop" else hint)
    for name, hint in get_type_hints(Rules).items()
    if name != "first"  # any number
}
"""The values that each rule may have (``drop``: that its parts may have)."""

PRESETS: dict[str, Rules] = {
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
"""Rules by the study that uses them: Madon et al. 2024; Gaussier et al. 2015; Streit 2003."""


def make_rules(preset: Rules | str = "replay-feedback", **changes: Any) -> Rules:
    """Return the rules of a preset, or others, with ``changes``; None means: as in these.

    ``drop`` may be a comma-separated text. Raises :class:`UsageError`, with what is allowed.
    """
    if isinstance(preset, str) and preset not in PRESETS:
        raise UsageError(_unknown(parameter("rules"), preset, list(PRESETS)))
    if isinstance(changes.get("drop"), str):
        changes["drop"] = [part.strip() for part in changes["drop"].split(",") if part.strip()]
    if changes.get("drop") is not None:
        changes["drop"] = tuple(changes["drop"])
    kept = {name: value for name, value in changes.items() if value is not None}
    for name, value in kept.items():
        if name not in Rules.__struct_fields__:
            raise UsageError(_unknown("rule", name, list(Rules.__struct_fields__)))
        if name == "first":
            if not isinstance(value, int) or value < 1:
                raise UsageError(
                    f"{parameter(name)} {value}: expected a number of jobs, at least 1"
                )
            continue
        for text in value if name == "drop" else (value,):
            if text not in CHOICES[name]:
                raise UsageError(_unknown(parameter(name), text, list(CHOICES[name])))
    rules = PRESETS[preset] if isinstance(preset, str) else preset
    return msgspec.structs.replace(rules, **kept)


def describe(rules: Rules) -> str:
    """Return the rules as one line."""
    return " ".join(
        f"{name.replace('_', '-')}={','.join(value) if isinstance(value, list) else value}"
        for name, value in as_dict(rules).items()
        if value not in (None, (), [])
    )


def as_dict(rules: Rules) -> dict[str, Any]:
    """Return the rules as they are stored with results."""
    fields = {name: getattr(rules, name) for name in rules.__struct_fields__}
    return fields | {"drop": list(rules.drop)}  # as it comes back from a JSON file


def _unknown(what: str, text: str, allowed: list[str]) -> str:
    guess = did_you_mean(text, allowed)
    return f"{what} {text!r}{guess}: expected one of {', '.join(allowed)}"
