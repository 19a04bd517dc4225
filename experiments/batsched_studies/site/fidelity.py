"""How well the simulated present site reproduces the recorded waits: how far to trust results.

The measures and thresholds are those of ``batsched-py calibrate``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, nan
from typing import Any

from batsched_py.calibration import verdict
from batsched_py.calibration.verdict import (
    ORDER_IN_PART,
    ORDER_REPRODUCED,
    SAME_LEVEL,
    format_number,
)
from batsched_py.options.durations import format_duration
from batsched_py.report import Table
from batsched_py.report.kit import Interval, Runs, cells
from batsched_py.units import HOUR
from batsched_studies.site import TEXTS
from batsched_studies.site import cases as c
from batsched_studies.site.interval_texts import with_intervals
from batsched_studies.site.measures import FIDELITY

POOR, PART, GOOD, UNKNOWN = "poor", "part", "good", "unknown"
_AT_MOST = {"relative_bias": 0.3, "rank_correlation": 0.4, "share_explained": 1.0}
"""The interval to both sides that is assumed for a measure without one: the measure is then poor
only if it is far off, and never good."""
SIDES = ("simulated", "recorded")
_MEASURES = (
    *("relative_bias", "rank_correlation", "near", "users_near", "backlog_correlation"),
    *("share_explained", "usual_share_explained"),
)
_COMPARED = (
    *(("mean", c.WAIT, 1 / HOUR), ("median", "wait_median", 1 / HOUR)),
    *(("at_once", "at_once", 100.0), ("utilisation", c.BUSY, 100.0)),
)
"""The quantities with a recorded and a simulated value: calibration's name, ours, our unit."""


def read_measure(runs: Runs, name: str) -> Interval:
    """Return a measure of the replay of the log, with its interval if it has one; else nan."""
    replay = c.select_recorded(runs).frame
    if replay.empty:
        return Interval(nan, nan, nan, 0)
    row = replay.iloc[0]
    value, low, high, weeks = (
        _float(row.get(f"{FIDELITY}{key}"))
        for key in (name, f"low_{name}", f"high_{name}", "weeks")
    )
    return Interval(value, low, high, 0 if isnan(weeks) else int(weeks))


def _float(value: Any) -> float:
    return nan if value is None else float(value)


def _wide(runs: Runs, name: str) -> Interval:
    """Return a measure with its interval, or else with the interval of :data:`_AT_MOST`."""
    found = read_measure(runs, name)
    reach = _AT_MOST[name]
    if found.is_known:
        return found
    return Interval(found.value, found.value - reach, found.value + reach, found.nb)


def judge_fidelity(runs: Runs) -> str:
    """Return how well the recorded schedule is reproduced: poor, part, good or unknown.

    ``poor`` if level or order of the waits clearly differ, or if the waits are clearly farther from
    the recorded ones than their mean is; ``good`` if level and order clearly agree.
    """
    level, order, explained = (_wide(runs, name) for name in _AT_MOST)
    if isnan(level.value):
        return UNKNOWN
    same = level.within(-SAME_LEVEL, SAME_LEVEL)
    if same is False or order.below(ORDER_IN_PART) or explained.below(0):
        return POOR
    return GOOD if same and order.above(ORDER_REPRODUCED) else PART


def find_least_change(runs: Runs) -> float:
    """Return the smallest change of the mean wait that can be believed (seconds), or nan."""
    return verdict.find_least_change(read_measure(runs, "bias"))


def describe_fidelity(runs: Runs) -> str:
    """Return sentences on how well the replay reproduces the recorded waits, with numbers."""
    kind = judge_fidelity(runs)
    if kind == UNKNOWN:
        return TEXTS["fidelity_unknown"]
    simulated, recorded = (read_measure(runs, f"mean_{side}").value for side in SIDES)
    text = TEXTS["fidelity"].format(
        level=verdict.describe_level(simulated, recorded, read_measure(runs, "relative_bias")),
        order=verdict.describe_order(read_measure(runs, "rank_correlation")),
    )
    if kind == POOR:
        explained = format_number(read_measure(runs, "share_explained"))
        text = f"{text} {TEXTS['fidelity_poor'].format(explained=explained)}"
    hint = "" if isnan(find_least_change(runs)) else f" {TEXTS['rule_of_thumb']}"
    return f"{text} {verdict.describe_least_change(read_measure(runs, 'bias'))}.{hint}"


def write_warning(runs: Runs) -> str:
    """Return a warning if the replay differs from the log or is missing; else nothing."""
    kind = judge_fidelity(runs)
    if kind == UNKNOWN:
        return TEXTS["fidelity_unknown"]
    if kind != POOR:
        return ""
    simulated, recorded = (
        format_duration(read_measure(runs, f"mean_{side}").value) for side in SIDES
    )
    order = f"{read_measure(runs, 'rank_correlation').value:.2f}"
    return TEXTS["warning"].format(simulated=simulated, recorded=recorded, order=order)


def count_compared(runs: Runs) -> str:
    """Return as text how many jobs of the log are compared; ``-`` if that was not counted."""
    jobs, of_log = (read_measure(runs, name).value for name in ("compared_jobs", "jobs_in_log"))
    return "-" if isnan(jobs) or isnan(of_log) else f"{jobs:,.0f} of the {of_log:,.0f}"


def read_side(runs: Runs, which: str) -> dict[str, float]:
    """Return the ``recorded`` or ``simulated`` values with the names and units of the study."""
    return {
        name: read_measure(runs, f"{what}_{which}").value * scale for what, name, scale in _COMPARED
    }


def make_table(log: str, runs: Runs) -> Table | None:
    """Return a table of the measures of fidelity; None if the log was not replayed."""
    if judge_fidelity(runs) == UNKNOWN:
        return None
    return with_intervals("fidelity", list(_rows(runs)), log, compared=count_compared(runs))


def _rows(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield recorded and simulated values, then the measures of their agreement."""
    recorded, simulated = read_side(runs, "recorded"), read_side(runs, "simulated")
    for what, name, _ in _COMPARED:
        of_both = {"recorded": recorded[name], "simulated": simulated[name]}
        yield {"what": TEXTS[f"fidelity_{what}"], **of_both}
    for name in _MEASURES:
        measured = cells(read_measure(runs, name), "measure", "measure_low", "measure_high")
        yield {"what": TEXTS[f"fidelity_{name}"], **measured}
