"""The policy grid: the same as its slow twin, and what else holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.results.job_table import JobTable
from batsched_py.support.processor_sets import from_text
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.sites import parse_sites
from helpers.grid_twin import Fragments, GridJob, Options, schedule


def workload_of(jobs: Sequence[GridJob], nb_res: int) -> Workload:
    """Return the jobs, whose homes are site1, site2, ...; they run on beyond their estimates."""
    return Workload(
        name="drawn",
        nb_res=nb_res,
        jobs=[
            WorkloadJob(
                id=f"{at:04d}",  # equal submissions: in string order
                submit_time=job.submit,
                size=job.size,
                profile=f"d{job.run_time}",
                estimate=job.estimate,
                extra={"home": f"site{job.home + 1}"},
            )
            for at, job in enumerate(jobs)
        ],
        profiles={f"d{job.run_time}": {"type": "delay", "delay": job.run_time} for job in jobs},
    )


Ran = tuple[float, float, Fragments] | None


def ran(jobs: Sequence[GridJob], sites: Sequence[int], **options: Any) -> list[Ran]:
    """Return (start, end, fragments by site) of each job under the policy, None if refused."""
    text = ",".join(map(str, sites))
    result = simulate(
        workload_of(jobs, sum(sites)), scheduler="grid", sites=text, scheduler_options=options
    )
    table = result.table_as_written()
    by_job = {row: at for at, row in enumerate(table.texts["job_id"])}
    return [_ran(table, by_job[f"{at:04d}"], text) for at in range(len(jobs))]


def _ran(table: JobTable, row: int, sites: str) -> Ran:
    if not table.ran[row]:
        return None
    processors = from_text(table.texts["allocated_resources"][row])
    parts = [(processors & site.processors).bit_count() for site in parse_sites(sites)]
    fragments = tuple((site, number) for site, number in enumerate(parts) if number)
    return float(table.start[row]), float(table.finish[row]), fragments


def as_the_twin(jobs: Sequence[GridJob], sites: Sequence[int], options: Options) -> list[Ran]:
    """Return the same of the twin."""
    placed = schedule(jobs, sites, options)
    return [
        at and (at.start, at.end, tuple(sorted(at.fragments)))
        for at in (placed[job.id] for job in jobs)
    ]


TABLES = {"unlimited": None, "1-4:1,5-20:2": lambda width: 1 if width <= 4 else 2}
a_job = st.tuples(
    st.integers(0, 30), st.integers(1, 9), st.integers(1, 12), st.integers(1, 20), st.integers(0, 2)
)


@given(st.lists(a_job, min_size=1, max_size=25), st.data())
def test_as_the_twin(rows: list[Any], data: st.DataObject) -> None:
    jobs = [GridJob(f"{at:04d}", *row) for at, row in enumerate(sorted(rows, key=lambda r: r[0]))]
    sites = data.draw(st.sampled_from([[4, 3, 1], [5, 5, 5], [9, 1, 1]]))
    fragments = data.draw(st.sampled_from(list(TABLES)))
    chosen = {
        "scenario": data.draw(st.sampled_from(["local", "sharing", "multi_site"])),
        "selection": data.draw(st.sampled_from(["best_fit", "biggest_free", "equal_util"])),
        "reservation": data.draw(st.sampled_from(["easy", "none"])),
        "overhead": data.draw(st.sampled_from([0, 0.25, 0.5, 3])),
        "lower_bound": data.draw(st.integers(0, 5)),
        "adaptive": data.draw(st.booleans()),
        "booked_overhead": data.draw(st.booleans()),
    }
    bound = data.draw(st.sampled_from(["above", "from"]))
    options = Options(**chosen, bound_reading=bound, fragment_limit=TABLES[fragments])
    assert ran(jobs, sites, **chosen, bound=bound, fragments=fragments) == as_the_twin(
        jobs, sites, options
    )
