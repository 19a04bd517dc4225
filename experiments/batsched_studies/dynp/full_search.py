"""Search the interpretations of full self-tuning for the monthly values of Table A.12.

    python -m batsched_studies.dynp.full_search SDSC-SP2-1998-4.reconstructed.swf.gz OUT.csv

All interpretations keep what gives half self-tuning all its printed digits: the unsorted list, and
one step for each submission. They differ in the further steps, at ends and after starts. Each is
simulated until the first whole month is known, and compared with its printed SLDwA.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
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
from batsched_py.schedulers.dynp.job_lists import LegacyList
from batsched_py.schedulers.dynp.order_switching import POLICIES
from batsched_studies.dynp import PUBLISHED

MONTHS = ("1998-05",)
JOBS = 3500
"""The first jobs of the log: those submitted in :data:`MONTHS`, and some that come later."""


class Interpretation(msgspec.Struct, frozen=True):
    """An interpretation of full self-tuning: its further steps, and what follows from them."""

    ends: Literal["none", "once", "each", "early"] = "once"
    """Steps before the starts of an instant, if jobs ended: one, one each, or one if any of them
    ended before its estimate."""
    after: Literal["none", "started", "each start", "always"] = "none"
    """Steps after the starts: if jobs started, after each of them, or also without starts."""
    after_at: Literal["both", "submissions", "ends"] = "both"
    """The instants that may have steps after the starts."""
    carried_out: bool = False
    """Whether the plan of a step after the starts is carried out at once."""
    order: Literal["active first", "fixed", "restored"] = "active first"
    """The order in which the further steps plan the policies, which matters for the unsorted list;
    ``restored``: their evaluation leaves the list unchanged."""
    planned_anew: bool = True
    """Whether the list is sorted by the new policy and planned again after a further step."""


def list_interpretations() -> list[Interpretation]:
    """Return all interpretations of the search, each once."""
    types = msgspec.structs.fields(Interpretation)
    values = [(True, False) if field.type is bool else field.type.__args__ for field in types]
    every = [Interpretation(*of_one) for of_one in product(*values)]
    return [
        made
        for made in every
        if made.after != "none" or (made.after_at == "both" and not made.carried_out)
    ]


class SearchedList(LegacyList):
    """The unsorted list, with the orders of evaluation of the search."""

    fixed = False

    def order_policies(self, old: str) -> tuple[str, ...]:
        """Return the policies to evaluate, the active one first unless the order is fixed."""
        return POLICIES if self.fixed else super().order_policies(old)

    def swap(self, jobs: list[Job] | None = None) -> list[Job]:
        """Replace the list, if ``jobs`` are not None, and return the one before."""
        before = self._list[:]
        self._list = before if jobs is None else jobs
        return before


class SearchedDynp(Dynp):
    """dynP with the unsorted list and the steps of an interpretation."""

    def __init__(self, made: Interpretation, decider: str) -> None:
        super().__init__(decider=decider)
        self._made = made
        self._lists = self._list = SearchedList()
        self._early = 0

    def job_ended(self, now: float, job: Job) -> None:
        """Count the ends before the estimates since the last pass."""
        self._early += now < job.expected_end

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Do the steps and the starts of an instant."""
        made, waiting = self._made, len(queue)
        old = waiting - len(list(queue.since(self._seen)))
        ended = machine.nb_ended - self._ended
        nb_ends = {"none": 0, "once": min(1, ended), "each": ended, "early": min(1, self._early)}
        had = {"submissions": old < waiting, "ends": ended > 0, "both": True}
        self._seen, self._ended, self._early = queue.nb_arrived, machine.nb_ended, 0
        further = [old] * nb_ends[made.ends]
        plan = self._plan_after(further, range(old + 1, waiting + 1), now, queue, machine)
        after = made.after if had[made.after_at] else "none"
        again = True
        while again:
            due = [job for job, start in plan if start == now and job.size <= machine.free]
            step = plan
            for job in due[:1] if after == "each start" and made.carried_out else due:
                self.counts.started[self.active] += 1
                yield Start(job)
                if after == "each start":
                    step = self._plan_after([len(queue)], (), now, queue, machine)
            if after == "always" or (after == "started" and due):
                step = self._plan_after([len(queue)], (), now, queue, machine)
            again = made.carried_out and bool(due) and after != "none"
            plan = step

    def _plan_after(
        self,
        further: Iterable[int],
        submissions: Iterable[int],
        now: float,
        queue: WaitingQueue,
        machine: Machine,
    ) -> list[tuple[Job, float]]:
        """Return the starts due now by the plan after steps, given the jobs that each plans."""
        planner, made, plan = self.planner, self._made, None
        base = planner.make_base(now, queue, machine)
        self._list.fixed = made.order == "fixed"
        for nb_planned in further:
            if nb_planned > 1:
                before = self._list.swap()
                plan = self._self_tuning_step(now, queue, base, nb_planned)
                self._list.swap(before if made.order == "restored" else None)
        self._list.fixed = False
        for nb_planned in submissions:
            if nb_planned > 1:
                self._self_tuning_step(now, queue, base, nb_planned)
                plan = None
        if plan is None or made.planned_anew:
            jobs = self._list.sort_jobs(self.active, planner, queue, len(queue))
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
    """Search with the advanced decider; then with the simple one in the ten that come closest."""
    rows: list[dict[str, Any]] = []
    every = list_interpretations()
    for decider in ("advanced", "simple"):
        for made in every:
            rows.append(search(log, made, decider))
            write_whole(out, csv_of_rows(rows[0], (row.values() for row in rows)))
        found = zip((abs(float(row["difference_percent"])) for row in rows), every, strict=False)
        every = [made for _, made in sorted(found, key=lambda pair: pair[0])[:10]]


if __name__ == "__main__":
    main(*sys.argv[1:])
