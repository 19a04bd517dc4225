"""The measure of the warm-up: how long the empty machine at the beginning affects a run."""

from __future__ import annotations

from batsched_py import Result
from batsched_py.metrics import warm_up_time
from batsched_py.units import DAY


def measure(result: Result) -> dict[str, float]:
    """Return the warm-up by MSER-5 from the waits (``warm_up_d``) and the length, in days.

    The warm-up is nan if the rule finds no end of it. ``length_d`` is from the first submission to
    the last.
    """
    submit = result.table.submit
    length = float(submit.max() - submit.min()) if len(submit) else 0.0
    return {"warm_up_d": warm_up_time(result.table) / DAY, "length_d": length / DAY}
