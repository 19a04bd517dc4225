"""Small grids: jobs as tuples, and where they ran under the policy and under its slow twin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from batsched_py import simulate
from batsched_py.decision_process import DecisionProcess
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.processors.sets import from_text
from batsched_py.results.job_table import JobTable
from batsched_py.run.result import Result
from batsched_py.schedulers.grid.grid_policy import Grid
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.external_events import ExternalEvent
from batsched_py.simulator.platform.hosts import make_grid
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.grid_sites import nb_processors, parse_sites
from helpers import grid_twin
from helpers.grid_twin import Fragments, GridJob

Row = tuple[Any, ...]
"""(submission, size, run time), then the estimate (default: the run time) and the home."""


class Ran(NamedTuple):
    """Where and when a job ran; fragments are (site, processors) in the order of the sites."""

    start: float
    end: float
    fragments: Fragments

    @property
    def sites(self) -> list[int]:
        """Where it ran."""
        return [site for site, _ in self.fragments]


def grid_jobs(rows: Sequence[Row]) -> list[GridJob]:
    """Return jobs A, B, C, ..., as many as there are letters."""
    return [
        GridJob(chr(ord("A") + at), row[0], row[1], row[2], *(row[3:] or row[2:3]))
        for at, row in enumerate(rows)
    ]


def grid_workload(
    jobs: Sequence[GridJob],
    nb_res: int,
    more: dict[str, Any] | None = None,
) -> Workload:
    """Return the jobs, whose homes are site1, site2, ...; they run on beyond their estimates.

    Those that are submitted at the same time come in the order of their ids. ``more`` are further
    fields of some: ``{"A": {"data": 5}}``.
    """
    return Workload(
        name="drawn",
        nb_res=nb_res,
        jobs=[
            WorkloadJob(
                id=job.id,
                submit_time=job.submit,
                size=job.size,
                profile=f"d{job.run_time}",
                estimate=job.estimate,
                extra={"home": f"site{job.home + 1}"} | (more or {}).get(job.id, {}),
            )
            for job in jobs
        ],
        profiles={f"d{job.run_time}": {"type": "delay", "delay": job.run_time} for job in jobs},
    )


def simulated(
    jobs: Sequence[GridJob],
    sites: str,
    more: dict[str, Any] | None = None,
    scheduler: str = "grid",
    **options: Any,
) -> Result:
    """Return the run of a policy with these options; ``sites`` may be one number: no sites."""
    described = None if sites.isdecimal() else sites
    load = grid_workload(jobs, nb_processors(parse_sites(sites)), more)
    return simulate(load, scheduler=scheduler, sites=described, scheduler_options=options)


def allocations(result: Result) -> list[tuple[Any, ...]]:
    """Return (id, start, end, processors) of each job, in order of completion."""
    table = result.table_as_written()
    columns = table.texts["job_id"], table.start, table.finish, table.texts["allocated_resources"]
    return [
        (name, float(start), float(end), at) for name, start, end, at in zip(*columns, strict=True)
    ]


def ran(
    jobs: Sequence[GridJob], sites: str, more: dict[str, Any] | None = None, **options: Any
) -> dict[str, Ran | None]:
    """Return where and when each job ran under the policy, None if it was refused."""
    return placements(simulated(jobs, sites, more, **options).table_as_written(), jobs, sites)


def placements(table: JobTable, jobs: Sequence[GridJob], sites: str) -> dict[str, Ran | None]:
    """Return where and when each job ran by a table of results, None if it was refused."""
    rows = {name: row for row, name in enumerate(table.texts["job_id"])}
    return {job.id: _ran(table, rows[job.id], sites) for job in jobs}


def _ran(table: JobTable, row: int, sites: str) -> Ran | None:
    if not table.ran[row]:
        return None
    processors = from_text(table.texts["allocated_resources"][row])
    parts = [len(processors & site.processors) for site in parse_sites(sites)]
    fragments = tuple((site, number) for site, number in enumerate(parts) if number)
    return Ran(float(table.start[row]), float(table.finish[row]), fragments)


def by_the_twin(
    jobs: Sequence[GridJob], sites: Sequence[int], **options: Any
) -> dict[str, Ran | None]:
    """Return the same under the twin, with the policy's names of the options."""
    given = dict(options)
    given["bound_reading"] = given.pop("bound", "above")
    given["fragment_limit"] = _limit(given.pop("fragments", "unlimited"))
    if "reservation" not in given:  # as the thesis's tables say
        multi_site = given.get("scenario", "sharing") == "multi_site"
        given["reservation"] = "none" if multi_site else "easy"
    given.setdefault("scenario", "sharing")
    placed = grid_twin.schedule(jobs, sites, grid_twin.Options(**given))
    return {
        name: job and Ran(job.start, job.end, tuple(sorted(job.fragments)))
        for name, job in placed.items()
    }


def _limit(table: str) -> Callable[[int], int] | None:
    """Return what ``1-4:1,5-20:2`` says."""
    if table == "unlimited":
        return None
    rows = [row.partition(":")[::2] for row in table.split(",")]
    return lambda width: next(int(n) for to, n in rows if width <= int(to.split("-")[-1]))


def placed(rows: Sequence[Row], sites: Sequence[int], **options: Any) -> dict[str, Any]:
    """Return where and when each job ran; assert that the policy is as its twin."""
    jobs = grid_jobs(rows)
    under_policy = ran(jobs, ",".join(map(str, sites)), **options)
    assert under_policy == by_the_twin(jobs, sites, **options)
    return under_policy


def begins(rows: Sequence[Row], sites: Sequence[int], **options: Any) -> list[float | None]:
    """Return when each job started, None if it was refused."""
    return [job and job.start for job in placed(rows, sites, **options).values()]


Failure = tuple[float, str, bool]
"""When, which processors, and whether they come back then."""


def outcome_with_failures(
    jobs: Sequence[GridJob], sites: str, failures: Sequence[Failure], policy: Grid
) -> Outcome:
    """Simulate; after each pass the policy says of each job what holds it."""
    parts = parse_sites(sites)
    load = grid_workload(jobs, nb_processors(parts))
    events = [
        ExternalEvent(time, "drawn", from_text(processors), back)
        for time, processors, back in failures
    ]
    options = Options(dynamic_jobs=True, profile_reuse=True)
    process = DecisionProcess(policy, sites=parts)

    def ask(now: float, queue: WaitingQueue, machine: Machine) -> None:
        for job in queue:
            assert policy.held(job, now, queue, machine).place is not None

    process.observer = ask
    return Simulator(make_grid(parts), [load], options, events=events).run(process.answer)
