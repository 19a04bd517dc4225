"""The measure of `optimum.toml`: how much worse dynP's plans are than optimal ones."""

from __future__ import annotations

import msgspec

from batsched_py import Result
from batsched_py.errors import UsageError
from batsched_py.optimum.step_selection import Selection
from batsched_py.optimum.step_study import collect_steps, compare_steps
from batsched_py.report import kit
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload

SELECTION = Selection(steps=40, every=100, least_waiting=5, most_waiting=15)
TIME_LIMIT = 30.0
"""Seconds of the solver for each step."""


def measure(result: Result) -> dict[str, float]:
    """Return the loss of the selected steps of a run, per cent: its mean, interval and maximum.

    The run is simulated again up to the last of these steps. ``loss_unsolved`` is the number of
    steps at which the solver reached its time limit. Without such steps there are no measures.
    """
    stored = result.settings["run"]
    if result.log is None:
        return {}
    workload = load_workload(result.log, msgspec.convert(stored["rules"], Rules))
    try:
        steps = collect_steps(workload, stored["scheduler_options"], SELECTION, stored["nodes"])
    except UsageError:  # no step has this number of waiting jobs
        return {}
    compared = list(compare_steps(steps, time_limit=TIME_LIMIT))
    losses = [step.loss_percent for step in compared]
    mean = kit.mean_interval(losses)
    return {
        "loss_mean": mean.value,
        "loss_low": mean.low,
        "loss_high": mean.high,
        "loss_worst": max(losses),
        "loss_steps": len(losses),
        "loss_unsolved": sum(step.status != "optimal" for step in compared),
    }
