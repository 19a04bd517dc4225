"""How well the site as it is reproduces the waits that its log recorded: how far to trust the rest.

The measures and thresholds are those of ``batsched-py calibrate``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, nan
from typing import Any

from batsched_py.calibration.verdict import (
    ORDER_IN_PART,
    ORDER_REPRODUCED,
    SAME_LEVEL,
    duration,
    number,
    percent,
)
from batsched_py.report import Table
from batsched_py.report.kit import Interval, Runs, cells, slug
from batsched_py.units import HOUR
from batsched_studies.site import TEXTS
from batsched_studies.site import cases as c
from batsched_studies.site.measures import FIDELITY

POOR, PART, GOOD, UNKNOWN = "poor", "part", "good", "unknown"


def of(runs: Runs, name: str) -> Interval:
    """Return a measure of the replay of the log, with its interval if it has one, else nan."""
    replay = c.recorded(runs).frame
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


def judged(runs: Runs) -> str:
    """Return how well what was recorded is reproduced.

    ``poor`` if level or order of the waits clearly are not, or if the waits are clearly farther
    from those recorded than the mean of these is; ``good`` if both clearly are.
    """
    level, order = of(runs, "relative_bias"), of(runs, "rank_correlation")
    if isnan(level.value):
        return UNKNOWN
    same = level.within(-SAME_LEVEL, SAME_LEVEL)
    if same is False or order.below(ORDER_IN_PART) or of(runs, "share_explained").below(0):
        return POOR
    return GOOD if same and order.above(ORDER_REPRODUCED) else PART


def told(runs: Runs) -> str:
    """Return that in words, with the numbers behind it."""
    kind = judged(runs)
    if kind == UNKNOWN:
        return TEXTS["fidelity_unknown"]
    bias = of(runs, "bias")
    believable = max(abs(bias.low), abs(bias.high)) if bias.is_known else abs(bias.value)
    return TEXTS[f"fidelity_{kind}"].format(
        simulated=duration(of(runs, "mean_simulated").value),
        recorded=duration(of(runs, "mean_recorded").value),
        level=percent(of(runs, "relative_bias")),
        order=number(of(runs, "rank_correlation")),
        explained=number(of(runs, "share_explained")),
        believable=duration(believable),
    )


def table(log: str, runs: Runs) -> Table | None:
    """Return the measures as a table; none of a log that was not replayed."""
    if judged(runs) == UNKNOWN:
        return None
    return TEXTS.table("fidelity", list(_rows(runs)), slug("fidelity", log), log=log)


def _rows(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield what was recorded and what is simulated, and how near they are."""
    for what, scale, unit in (("mean", 1 / HOUR, "wait"), ("median", 1 / HOUR, "wait")):
        sides = (of(runs, f"{what}_{side}").value * scale for side in ("recorded", "simulated"))
        yield {"what": TEXTS[f"fidelity_{what}_{unit}"], **dict(zip(_SIDES, sides, strict=True))}
    for what in ("at_once", "utilisation"):
        sides = (100 * of(runs, f"{what}_{side}").value for side in ("recorded", "simulated"))
        yield {"what": TEXTS[f"fidelity_{what}"], **dict(zip(_SIDES, sides, strict=True))}
    for name in _MEASURES:
        yield {"what": TEXTS[f"fidelity_{name}"], **cells(of(runs, name), "measure")}


_SIDES = ("recorded", "simulated")
_MEASURES = (
    *("relative_bias", "rank_correlation", "near", "users_near", "backlog_correlation"),
    *("share_explained", "usual_share_explained"),
)
