"""Search the interpretations of full self-tuning for the monthly values of Table A.12.

    python -m batsched_studies.dynp.full_search SDSC-SP2-1998-4.reconstructed.swf.gz OUT.csv

All interpretations keep what half self-tuning needs for all its printed digits: the unsorted list,
and one step for each submission. They differ in the further steps. Each is simulated until the
first months are known, and compared with their printed SLDwA.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from typing import Any, Literal

import msgspec
import numpy as np

from batsched_py import simulate
from batsched_py.files.csv_text import csv_of_rows
from batsched_py.files.writers import write_whole
from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.schedulers.dynp.order_switching import POLICIES
from batsched_studies.dynp import PUBLISHED

MONTHS = ("1998-05",)
JOBS = 3500
"""The first jobs of the log: those submitted in :data:`MONTHS`, and some that come later."""


class Interpretation(msgspec.Struct, frozen=True):
    """An interpretation of full self-tuning: its steps, and what follows from them."""

    submissions: Literal["each", "once"] = "each"
    """Steps before the starts of an instant: for each submission, or one for all of them."""
    ends: Literal["none", "once", "each", "early"] = "once"
    """Steps before them for ends: one for all, one each, or one if an estimate was not reached."""
    after: Literal["none", "started", "each start", "always"] = "none"
    """Steps after the starts: if jobs started, after each of them, or also without starts."""
    after_at: Literal["both", "submissions", "ends"] = "both"
    """The instants that may have steps after the starts."""
    carried_out: bool = False
    """Whether the plan of a step after the starts is carried out at once."""
    order: Literal["active first", "fixed"] = "active first"
    """The order in which a step plans the policies, which matters for the unsorted list."""
    planned_anew: bool = True
    """Whether the list is sorted by the new policy and planned again after the decision."""


def list_interpretations() -> list[Interpretation]:
    """Return all interpretations of the search, each once."""
    types = msgspec.structs.fields(Interpretation)
    values = [(True, False) if field.type is bool else field.type.__args__ for field in types]
    return [
        made for made in map(Interpretation, *zip(*product(*values), strict=True)) if _differs(made)
    ]


def _differs(made: Interpretation) -> bool:
    if made.after == "none":
        return made.after_at == "both" and not made.carried_out
    return True


class SearchedDynp(Dynp):
    """dynP with the unsorted list and the steps of an interpretation."""

    def __init__(self, made: Interpretation, decider: str) -> None:
        super().__init__(decider=decider, legacy_fcfs_list_order=True)
        self._made = made
        self._early = self._all_ended = 0
        if made.order == "fixed":
            self._lists.order_policies = lambda old: POLICIES  # type: ignore[method-assign]

    def job_ended(self, now: float, job: Job) -> None:
        """Count the ends since the last pass."""
        self._all_ended += 1
        self._early += now < job.expected_end

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Do the steps and the starts of an instant."""
        made, waiting = self._made, len(queue)
        nb_new = len(list(queue.since(self._seen)))
        nb_ends = {"none": 0, "once": min(1, self._all_ended), "each": self._all_ended}
        nb_ends["early"] = min(1, self._early)
        had = {"submissions": nb_new > 0, "ends": self._all_ended > 0, "both": True}
        self._seen, self._early, self._all_ended = queue.nb_arrived, 0, 0
        steps = [waiting - nb_new] * nb_ends[made.ends]
        first = waiting - nb_new + 1 if made.submissions == "each" else waiting
        steps += range(first, waiting + 1) if nb_new else ()
        plan = self._plan_after(steps, now, queue, machine)
        after = made.after if had[made.after_at] else "none"
        again = True
        while again:
            due = [job for job, start in plan if start == now and job.size <= machine.free]
            for job in due[:1] if after == "each start" and made.carried_out else due:
                self.counts.started[self.active] += 1
                yield Start(job)
                if after == "each start":
                    step = self._plan_after([len(queue)], now, queue, machine)
            if after in ("always", "started") and (due or after == "always"):
                step = self._plan_after([len(queue)], now, queue, machine)
            again = made.carried_out and bool(due) and after != "none"
            plan = step if again else plan

    def _plan_after(
        self, steps: list[int], now: float, queue: WaitingQueue, machine: Machine
    ) -> list[tuple[Job, float]]:
        """Return the starts due now by the plan after ``steps``, each of some waiting jobs."""
        planner = self.planner
        base, plan = planner.make_base(now, queue, machine), None
        for nb_planned in steps:
            if nb_planned > 1:
                plan = self._self_tuning_step(now, queue, base, nb_planned)
        if plan is None or self._made.planned_anew:
            jobs = self._lists.sort_jobs(self.active, planner, queue, len(queue))
            plan = planner.make_plan(base, jobs, now_only=True)
        return plan.list_now_or_never(now)


def compute_months(log: str, policy: Dynp, jobs: int | None = JOBS) -> dict[str, float]:
    """Return SLDwA by month of submission (UTC) of the first jobs of a log under a policy."""
    result = simulate(log, rules="dynp", size="allocated", scheduler=policy, first=jobs)
    table = result.table
    months = (result.settings["unix_start_time"] + table.submit).astype("datetime64[s]")
    months = months.astype("datetime64[M]")
    response, area = table.size * (table.finish - table.submit), table.size * table.execution
    return {
        str(month): float(response[months == month].sum() / area[months == month].sum())
        for month in np.unique(months)
    }


def search(log: str, made: Interpretation, decider: str) -> dict[str, Any]:
    """Return a row with the values of an interpretation, and how far they are from the thesis's."""
    policy = SearchedDynp(made, decider)
    months = compute_months(log, policy)
    column = PUBLISHED["monthly"]["columns"].index(f"{decider} full")
    row = {"decider": decider, **msgspec.structs.asdict(made), "steps": policy.counts.steps}
    for month in MONTHS:
        thesis = PUBLISHED["monthly"]["SDSC"][month][column]
        row |= {month: f"{months[month]:.4f}", f"{month}_thesis": thesis}
        row["difference_percent"] = f"{100 * (months[month] / thesis - 1):.3f}"
    return row


def main(log: str, out: str) -> None:
    """Search with the advanced decider, and write a row per interpretation."""
    rows = []
    for made in list_interpretations():
        rows.append(search(log, made, "advanced"))
        write_whole(out, csv_of_rows(rows[0], (row.values() for row in rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
