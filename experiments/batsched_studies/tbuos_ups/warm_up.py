"""How long a run takes to forget that its machine was empty at first."""

from __future__ import annotations

from batsched_py import Result
from batsched_py.metrics import warm_up_time
from batsched_py.units import DAY


def measure(result: Result) -> dict[str, float]:
    """Return ``warm_up_d``, the days that the rule MSER-5 leaves out by the waits, and the length.

    nan where the rule finds no end of the beginning. ``length_d`` is from the first submission to
    the last.
    """
    submit = result.table.submit
    length = float(submit.max() - submit.min()) if len(submit) else 0.0
    return {"warm_up_d": warm_up_time(result.table) / DAY, "length_d": length / DAY}
