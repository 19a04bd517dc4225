"""Estimates the time of the remaining runs of a campaign from the finished ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

import msgspec

from batsched_py.campaign.preparation import PreparedRun
from batsched_py.options.durations import format_duration

_LIKE: tuple[tuple[str, ...], ...] = (
    ("log", "scheduler", "scheduler_options", "users", "user_options", "nodes", "speed_factor"),
    ("log", "scheduler", "scheduler_options", "users", "user_options"),
    ("log", "scheduler", "users"),
)
"""Settings that two runs share if the time of one predicts the time of the other; best first."""


def estimate_time(
    missing: Iterable[PreparedRun], timed: Sequence[tuple[PreparedRun, float]], at_a_time: int
) -> str:
    """Return a sentence on the time of ``missing`` runs, ``at_a_time`` of them in parallel.

    ``timed`` are runs that ended, with the seconds that each took.
    """
    groups: dict[bytes, list[float]] = defaultdict(list)
    for run, seconds in timed:
        for key in _keys(run):
            groups[key].append(seconds)
    known: list[float] = []
    nb_unknown = 0
    for run in missing:
        likes = [fmean(groups[key]) for key in _keys(run) if key in groups]
        known += likes[:1]
        nb_unknown += not likes
    parts = []
    if known:
        span = format_duration(sum(known) / at_a_time)
        parts.append(f"about {span} for {len(known)} runs, {at_a_time} at a time")
    if nb_unknown:
        parts.append(
            f"{nb_unknown} runs differ from all that were timed in this folder: an estimate is "
            "possible once some of them have run"
        )
    return "; ".join(parts) or "nothing is left to do"


def _keys(run: PreparedRun) -> list[bytes]:
    """Return what a run has in common with others, from the most alike to the least."""
    settings = run.task.settings
    values = [{field: getattr(settings, field) for field in fields} for fields in _LIKE]
    return [msgspec.json.encode(of_run, order="sorted") for of_run in values]
