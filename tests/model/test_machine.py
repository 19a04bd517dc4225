"""What a policy may ask the machine for, and give it: sets of processors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from procset import ProcSet

from batsched_py import (
    Decision,
    Job,
    Machine,
    Start,
    WaitingQueue,
)
from batsched_py.errors import InvariantError
from batsched_py.model.site import Site
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, run, starts, workload
from batsched_py.workload.grid_sites import parse_sites
from helpers.processors import processors

FORMS: dict[str, Callable[[list[int]], Any]] = {
    "procset": lambda numbers: ProcSet(*numbers),
    "numbers": lambda numbers: numbers,
    "set": set,
}


class HighestFirst:
    """FCFS on the highest free processors, in one of the forms."""

    def __init__(self, form: Callable[[list[int]], Any]) -> None:
        self.form = form

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        while (head := queue.head) and head.size <= machine.free:
            free = machine.free_procset()
            assert len(free) == machine.free
            highest = list(free)[-head.size :]
            yield Start(head, self.form(highest))


@pytest.mark.parametrize("kind", FORMS)
def test_a_policy_may_choose_processors(kind: str) -> None:
    jobs = [J(0, 2, 5), J(0, 1, 9), J(1, 2, 3)]
    outcome = run(workload(jobs, 4), HighestFirst(FORMS[kind]))
    assert starts(outcome) == [0, 0, 5]
    check_machine(outcome)
    chosen = {job.description.id[-1]: job.alloc for job in outcome.jobs}
    assert chosen == {"0": processors("2-3"), "1": processors("1"), "2": processors("2-3")}


@pytest.mark.parametrize("chosen", [ProcSet(0), ProcSet(3, 4), 0b0011, [0, 0], [0, -1], "0-1", 0.5])
def test_what_is_refused(chosen: Any) -> None:
    """Too few, too many, not there, and what is no set of processors."""
    machine = Machine(4)
    with pytest.raises(InvariantError, match="job w0!1"):
        machine.start(Job("w0!1", 0, 2, 5.0, 5.0, 0.0, {}), 0.0, chosen)
    assert machine.free == 4


def waiting(number: int, size: int, estimate: float = 10.0) -> Job:
    return Job(f"w0!{number}", number, size, None, estimate, 0.0, {})


@pytest.mark.parametrize(("dilation", "transfer"), [(0, 0), (inf, 0), (nan, 0), (1, -1), (1, nan)])
def test_a_dilation_that_cannot_be(dilation: float, transfer: float) -> None:
    with pytest.raises(InvariantError, match="the dilation"):
        Machine(4).start(waiting(0, 2), 0.0, processors("0-1"), dilation, transfer)


def test_a_dilated_job_is_expected_to_run_longer_and_may_change_its_size() -> None:
    machine = Machine(4)
    job = waiting(0, 2)
    assert job.lasts(1.5, 3) == 18
    machine.start(job, 100.0, processors("0-2"), 1.5, 3)
    assert (job.size, job.dilation, job.transfer, job.expected_end) == (3, 1.5, 3, 118)
    with pytest.raises(InvariantError, match="of size 2"):
        machine.start(waiting(1, 2), 100.0, processors("3"))
    machine.end(job)
    assert machine.free == 4


@given(st.data())
def test_sites_agree_with_what_runs(data: st.DataObject) -> None:
    """Starts, ends, failures and repairs in any order, against sums over the running jobs."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    sites = parse_sites(",".join(map(str, sizes)))
    machine = Machine(sum(sizes), sites)
    running: list[Job] = []
    failed = NO_PROCESSORS
    for step in range(data.draw(st.integers(1, 25))):
        action = data.draw(st.sampled_from(["start", "start", "end", "fail", "repair"]))
        some = ProcessorSet.of(data.draw(st.sets(st.integers(0, sum(sizes) - 1))))
        if action == "start" and (some := some & machine.free_processors):
            job = waiting(step, len(some), float(data.draw(st.integers(1, 5))))
            dilation = data.draw(st.sampled_from([1.0, 1.0, 1.5]))
            assert machine.start(job, 0.0, some, dilation) == some
            running.append(job)
        elif action == "end" and running:
            machine.end(running.pop(data.draw(st.integers(0, len(running) - 1))))
        elif action == "fail":
            machine.set_available(some, available=False)
            failed |= some
        elif action == "repair":
            machine.set_available(some, available=True)
            failed -= some
        whole = (machine, ProcessorSet.interval(0, sum(sizes)))
        parts = zip(machine.sites, (site.processors for site in sites), strict=True)
        for site, here in (whole, *parts):
            check_site(site, here - failed, here, running)


def check_site(
    site: Site, usable: ProcessorSet, all_here: ProcessorSet, running: list[Job]
) -> None:
    """Assert that ``site``, whose processors are known, agrees with the running jobs."""
    here = [job for job in running if job.processors & all_here]
    free = usable
    for job in here:
        free -= job.processors
    assert (site.free_processors, site.free) == (free, len(free))
    assert site.nb_available == len(usable)

    def size(job: Job, part: ProcessorSet) -> int:
        return len(job.processors & part)

    order = sorted(here, key=lambda job: (job.expected_end, size(job, all_here), job.number))
    assert list(site.releases()) == order
    assert site.expected_releases() == [
        (job.expected_end, size(job, usable), job.number, job) for job in order
    ]
