"""The costs of reservations and limits: runs with them compared with runs without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from batsched_py.report import CampaignResults, kit
from batsched_py.report.kit import Interval, Quantity, Runs
from batsched_py.units import HOUR

NONE = "none"
"""The label of the runs without reservations, or without limits."""
REQUEST, LIMITS = "request", "limits"
OTHERS = "others"
QUANTITIES = (
    Quantity(OTHERS, "others_wait", "wait of the others (h)", 1 / HOUR),
    Quantity("wide", "wide_others_wait", "of wide ones (h)", 1 / HOUR),
    Quantity("narrow", "narrow_others_wait", "of narrow ones (h)", 1 / HOUR),
    Quantity("reserving", "reserving_wait", "from the request to the start (h)", 1 / HOUR),
    Quantity("admitted", "admitted_share", "admitted (%)", 100),
    Quantity("asked", "nb_asked", "asked"),
    Quantity("wait", "mean_waiting_time", "mean wait (h)", 1 / HOUR),
    Quantity("slowdown", "mean_bounded_slowdown", "bounded slowdown"),
    Quantity("utilisation", "utilisation", "utilisation (%)", 100),
)


@dataclass(frozen=True)
class Case:
    """The runs of one policy with some reservations or limits, and its runs without them."""

    labels: dict[str, Any]
    with_it: Runs
    without: Runs

    def compute_extra_hours(self) -> Any:
        """Return by how many hours the other users wait longer than without, by replication."""
        ours, base = kit.paired(self.with_it.values(OTHERS), self.without.values(OTHERS))
        return ours - base

    def compare_hours(self, base: Case) -> Interval:
        """Return by how many more hours this case than ``base`` delays the other users."""
        ours, theirs = (case.compute_extra_hours() for case in (self, base))
        return kit.paired_difference(*kit.paired(ours, theirs))

    def change(self, name: str) -> Interval:
        """Return by how many per cent a quantity is larger than without reservations or limits."""
        return self.with_it.change(name, self.without)


def read(results: CampaignResults) -> dict[str, Runs]:
    """Read the runs of a campaign, log by log; empty if no run has finished."""
    if results.runs.empty:
        return {}
    frame = results.runs.assign(log=results.runs["log"].map(kit.log_name))
    return {log: of_log for (log,), of_log in Runs(frame, QUANTITIES).groups("log")}


def find_cases(runs: Runs, axis: str) -> Iterator[Case]:
    """Yield the cases of reservations (:data:`REQUEST`) or :data:`LIMITS` with runs to compare."""
    if not runs.labels(axis):
        return
    places = [name for name in ("policy", "width") if runs.labels(name)]
    for values, of_place in runs.groups(*places):
        without = of_place.where(**{axis: NONE})
        for value in of_place.labels(axis):
            if value != NONE and len(without):
                labels = {**dict(zip(places, values, strict=True)), axis: value}
                yield Case(labels, of_place.where(**{axis: value}), without)
