"""How long the runs of a campaign will take, from the ones that were timed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

import msgspec

from batsched_py.campaign.preparation import PreparedRun
from batsched_py.options.durations import format_duration

# From the most alike to the least: what two runs have in common for the time of one to tell that
# of the other.
_LIKE: tuple[tuple[str, ...], ...] = (
    ("log", "scheduler", "scheduler_options", "users", "user_options", "nodes", "speed_factor"),
    ("log", "scheduler", "scheduler_options", "users", "user_options"),
    ("log", "scheduler", "users"),
)


class Estimate(msgspec.Struct, frozen=True):
    """An estimate of the time that runs take."""

    seconds: float
    """Of all runs that are like one that was timed, one after the other."""
    known: int
    """How many runs these are."""
    unknown: int
    """Runs that are like none that was timed."""

    def text(self, jobs: int) -> str:
        """Return it as a sentence, for ``jobs`` runs at a time."""
        parts = []
        if self.known:
            span = self.seconds / jobs
            parts.append(f"about {format_duration(span)} for {self.known} runs, {jobs} at a time")
        if self.unknown:
            parts.append(
                f"{self.unknown} runs are like none that was timed in this folder: an "
                "estimate is possible once some of them have run"
            )
        return "; ".join(parts) or "nothing is left to do"


def estimate(
    missing: Iterable[PreparedRun], timed: Sequence[tuple[PreparedRun, float]]
) -> Estimate:
    """Return how long ``missing`` runs take, by those that are most like each.

    ``timed`` are runs that ended, with the seconds that each took.
    """
    means = [_means(timed, fields) for fields in _LIKE]
    total, nb_known, nb_unknown = 0.0, 0, 0
    for run in missing:
        keys = [_key(run, fields) for fields in _LIKE]
        likes = [mean[key] for mean, key in zip(means, keys, strict=True) if key in mean]
        if likes:
            total += likes[0]
            nb_known += 1
        else:
            nb_unknown += 1
    return Estimate(total, nb_known, nb_unknown)


def _means(
    timed: Iterable[tuple[PreparedRun, float]], fields: tuple[str, ...]
) -> dict[bytes, float]:
    groups: dict[bytes, list[float]] = {}
    for run, seconds in timed:
        groups.setdefault(_key(run, fields), []).append(seconds)
    return {key: fmean(values) for key, values in groups.items()}


def _key(run: PreparedRun, fields: tuple[str, ...]) -> bytes:
    settings = run.task.settings
    values: list[Any] = [getattr(settings, field) for field in fields]
    return msgspec.json.encode(values, order="sorted")
