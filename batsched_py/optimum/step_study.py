"""Simulates dynP, compares some of its steps with their optimum, and prints the table.

The optimal plan is only compared, never carried out, so that the steps that follow are those that
dynP would have had anyway. Source: Streit 2003, section 4.6 and Table 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from math import inf
from statistics import mean
from threading import Thread
from typing import Any, TypeVar

import msgspec

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import UsageError, parameter
from batsched_py.files.csv_text import csv_of_rows
from batsched_py.optimum.scheduling_step import (
    Instance,
    Plan,
    PlannedJob,
    choose_scale,
    compute_artww,
    compute_loss,
    compute_quality,
    find_last_end,
)
from batsched_py.optimum.solver import solve
from batsched_py.optimum.step_selection import Selection
from batsched_py.options.option_values import finite
from batsched_py.plugins import plugins
from batsched_py.schedulers.dynp.dynp_policy import Dynp, SelfTuningStep
from batsched_py.schedulers.dynp.order_switching import POLICIES
from batsched_py.simulator.engine import Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.workload import Workload

AUTO, EXACT = "auto", "exact"
T = TypeVar("T")


class ChosenStep(msgspec.Struct, frozen=True):
    """A scheduling step: its jobs, the plan of each policy, and the policy that dynP chose."""

    instance: Instance
    plans: dict[str, Plan]
    chosen: str


class StepComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a step and its optimum; times in seconds, values are ARTwW in seconds."""

    time: float
    jobs: int
    makespan: float
    """From ``time`` to the last end of the policies' plans."""
    accumulated_run_time: float
    """Sum of the estimates of the jobs."""
    scale: float | None
    """Of the solver's grid; None: exact."""
    chosen: str
    values: dict[str, float]
    """Of each policy's plan."""
    optimum: float
    quality: float
    """``optimum`` by the value of the chosen policy's plan."""
    loss_percent: float
    status: str
    gap: float
    solver_seconds: float


def collect_steps(
    workload: Workload, options: Mapping[str, Any], selection: Selection, nodes: int | None = None
) -> list[ChosenStep]:
    """Simulate ``workload`` under dynP until the selected steps have been seen; return them.

    The machine has ``nodes`` processors (None: as many as the workload's). Raises
    :class:`UsageError` for options that dynP does not know or that no program knows, and if no
    step is selected.
    """
    if options.get("limits"):
        raise UsageError("limits: the integer program does not support limits")
    policy = plugins.make(Dynp, "dynp", (), dict(options))
    chosen: list[ChosenStep] = []
    numbers = count()

    def keep_selected(step: SelfTuningStep) -> None:
        waiting = len(step.plans[step.new])
        if step.now >= selection.from_time and selection.least_waiting <= waiting <= most:
            if next(numbers) % selection.every == 0:
                chosen.append(_chosen_step(step))
            if len(chosen) == selection.steps:
                raise _Enough

    most = inf if selection.most_waiting is None else selection.most_waiting
    policy.observer = keep_selected
    machine = make_homogeneous(workload.nb_res if nodes is None else nodes)
    with suppress(_Enough):
        Simulator(machine, [workload]).run(DecisionProcess(policy).answer)
    if not chosen:
        raise UsageError(
            f"no self-tuning step of {workload.name} matches the selection: try a smaller "
            f"{parameter('least_waiting')} ({selection.least_waiting}) or {parameter('from_time')} "
            f"({selection.from_time:g})"
        )
    return chosen


class _Enough(Exception):  # noqa: N818 - no error
    """All selected steps were seen."""


def _chosen_step(step: SelfTuningStep) -> ChosenStep:
    plans = {
        policy: tuple(
            (PlannedJob(job.id, job.submit_time, job.size, job.estimate), start)
            for job, start in plan
        )
        for policy, plan in step.plans.items()
    }
    jobs = sorted((job for job, _ in plans[step.new]), key=lambda job: (job.submit, job.id))
    return ChosenStep(Instance(step.now, tuple(step.history), tuple(jobs)), plans, step.new)


def compare_steps(
    steps: Iterable[ChosenStep],
    *,
    time_scale: str | float = AUTO,
    time_limit: float = 60.0,
    mip_rel_gap: float = 0.0,
) -> Iterator[StepComparison]:
    """Find the optimum of each step, and yield the comparison with dynP's plan.

    ``time_scale`` is the solver's grid: ``auto`` (as in the thesis, eq. 4.7), ``exact``, or
    seconds; ``time_limit`` is in seconds for each step. Raises :class:`UsageError` for a step
    that is too large for the solver.
    """
    search = partial(solve, time_limit=time_limit, mip_rel_gap=mip_rel_gap)
    for step in steps:
        now = step.instance.now
        makespan = max(find_last_end(plan) for plan in step.plans.values()) - now
        run_time = sum(job.duration for job in step.instance.jobs)
        seconds = None
        if time_scale != EXACT:
            seconds = float(choose_scale(makespan, run_time) if time_scale == AUTO else time_scale)
        plans = list(step.plans.values())
        solution = _interruptible(partial(search, step.instance, plans, scale=seconds))
        chosen = step.plans[step.chosen]
        yield StepComparison(
            time=now,
            jobs=len(step.instance.jobs),
            makespan=makespan,
            accumulated_run_time=run_time,
            scale=seconds,
            chosen=step.chosen,
            values={policy: compute_artww(step.plans[policy]) for policy in POLICIES},
            optimum=compute_artww(solution.plan),
            quality=compute_quality(solution.plan, chosen),
            loss_percent=compute_loss(solution.plan, chosen),
            status=solution.status,
            gap=solution.gap,
            solver_seconds=solution.seconds,
        )


def _interruptible(function: Callable[[], T]) -> T:
    """Call ``function`` in another thread, since HiGHS lets no Ctrl-C through."""
    outcome: Future[T] = Future()

    def call() -> None:
        try:
            outcome.set_result(function())
        except BaseException as error:  # raised again where the caller is
            outcome.set_exception(error)

    thread = Thread(target=call, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    return outcome.result()


def parse_scale(text: str) -> str | float:
    """Read ``auto``, ``exact`` or seconds; raises :class:`UsageError` for anything else."""
    if text in (AUTO, EXACT):
        return text
    seconds = finite(text)
    if not seconds > 0:
        raise UsageError(f"{parameter('scale')} {text}: expected auto, exact, or seconds")
    return seconds


COLUMNS = (
    *("time", "jobs", "makespan", "accumulated_run_time", "scale", "chosen", "value_chosen"),
    *(f"value_{policy}" for policy in POLICIES),
    *("value_optimum", "quality", "loss_percent", "status", "gap", "solver_seconds"),
)
"""Columns of the CSV file."""


def format_csv(rows: Sequence[StepComparison]) -> str:
    """Return the comparisons as CSV; times and values in seconds."""
    return csv_of_rows(COLUMNS, map(_cells, rows))


def _cells(row: StepComparison) -> tuple[object, ...]:
    return (
        *(f"{row.time:.15g}", row.jobs, f"{row.makespan:.15g}"),
        f"{row.accumulated_run_time:.15g}",
        "" if row.scale is None else f"{row.scale:.15g}",
        *(row.chosen, f"{row.values[row.chosen]:.6f}"),
        *(f"{row.values[policy]:.6f}" for policy in POLICIES),
        *(f"{row.optimum:.6f}", f"{row.quality:.6f}", f"{row.loss_percent:.4f}"),
        *(row.status, f"{row.gap:.6f}", f"{row.solver_seconds:.2f}"),
    )


_LINE = "{:>9} {:>4} {:>9} {:>10} {:>6} {:6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>8} {:18} {:>7}"


def format_header() -> str:
    """Return the heading line of the printed table."""
    return _LINE.format(
        *("time", "jobs", "makespan", "run times", "scale", "chosen", "value"),
        *(*POLICIES, "optimum", "quality", "loss", "status", "seconds"),
    )


def format_line(row: StepComparison) -> str:
    """Return a comparison as a line of the printed table."""
    status = row.status if not row.gap else f"{row.status}, {100 * row.gap:.1f} %"
    return _LINE.format(
        *(f"{row.time:.0f}", row.jobs, f"{row.makespan:.0f}", f"{row.accumulated_run_time:.0f}"),
        *(EXACT if row.scale is None else f"{row.scale:g}", row.chosen),
        f"{row.values[row.chosen]:.1f}",
        *(f"{row.values[policy]:.1f}" for policy in POLICIES),
        *(f"{row.optimum:.1f}", f"{row.quality:.4f}", f"{row.loss_percent:.2f} %"),
        *(status, f"{row.solver_seconds:.1f}"),
    )


def describe_averages(rows: Sequence[StepComparison]) -> str:
    """Return the averages over the steps, at least one, as a sentence."""
    losses = [row.loss_percent for row in rows]
    optimal = sum(row.status == "optimal" for row in rows)
    return (
        f"{len(rows)} steps, {optimal} solved to the end; on average "
        f"{mean(row.jobs for row in rows):.1f} jobs, makespan "
        f"{mean(row.makespan for row in rows):.0f} s, run times "
        f"{mean(row.accumulated_run_time for row in rows):.0f} s, quality "
        f"{mean(row.quality for row in rows):.4f}, loss {mean(losses):.2f} % "
        f"({min(losses):.2f} to {max(losses):.2f} %), "
        f"{mean(row.solver_seconds for row in rows):.1f} s"
    )
