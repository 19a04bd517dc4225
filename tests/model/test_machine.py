"""What a policy may ask the machine for, and give it; partitions beside a slow twin."""

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
from batsched_py.model.partitions import make_views, split_into_regions
from batsched_py.model.site import Site
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, to_text
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, run, starts, workload
from batsched_py.workload.grid_sites import parse_sites
from batsched_py.workload.machine_description import MachineDescription, Partition
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


# Partitions --------------------------------------------------------------------------------------


NB, UNIT = 24, 4


@st.composite
def descriptions(draw: st.DrawFn) -> MachineDescription:
    """Some partitions of six nodes of four processors, of whole nodes or not."""
    partitions = []
    for number in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, 5))
        last = draw(st.integers(first, 5))
        whole = draw(st.booleans())
        partitions.append(
            Partition(
                name=f"p{number}",
                number=number,
                processors=ProcessorSet.interval(first * UNIT, (last + 1 - first) * UNIT),
                unit=UNIT if whole else 1,
            )
        )
    return MachineDescription(nb_processors=NB, partitions=tuple(partitions))


class Twin:
    """Each processor and what is on it."""

    def __init__(self, part: Partition) -> None:
        self.part, self.members = part, list(part.processors)

    def node(self, processor: int) -> list[int]:
        if self.part.unit == 1:
            return [processor]
        first = processor // UNIT * UNIT
        return list(range(first, first + UNIT))

    def free(self, running: list[Job], out: set[int]) -> set[int]:
        taken = {p for job in running for p in job.processors} | out
        return {p for p in self.members if not taken & set(self.node(p))}

    def releases(self, running: list[Job], out: set[int]) -> dict[float, int]:
        """How many processors come back at which time: a node with the last of its jobs."""
        back: dict[float, int] = {}
        for p in self.members:
            ends = [job.expected_end for job in running if set(job.processors) & set(self.node(p))]
            if ends and not out & set(self.node(p)):
                back[max(ends)] = back.get(max(ends), 0) + 1
        return back


@given(descriptions(), st.data())
def test_views_are_what_each_processor_says(
    described: MachineDescription, data: st.DataObject
) -> None:
    """Jobs start on free processors of a partition, end, and processors fail and come back."""
    machine = Machine(NB, (), described)
    running: list[Job] = []
    out: set[int] = set()
    for number in range(data.draw(st.integers(1, 12))):
        _change(machine, running, out, number, data)
        for view, part in zip(machine.partitions, described.partitions, strict=True):
            twin = Twin(part)
            assert set(view.free_processors) == twin.free(running, out), view.name
            assert view.free == len(view.free_processors)
            back: dict[float, int] = {}
            for end, size, _, _ in view.expected_releases():
                if size:
                    back[end] = back.get(end, 0) + size
            assert back == twin.releases(running, out)


def _change(
    machine: Machine, running: list[Job], out: set[int], number: int, data: st.DataObject
) -> None:
    what = data.draw(st.sampled_from(["start", "start", "end", "fail", "repair"]))
    free = sorted(machine.free_processors)
    if what == "start" and free:
        view: Any = data.draw(st.sampled_from(machine.partitions))
        most = view.free
        if most:
            size = data.draw(st.integers(1, most))
            job = Job(f"w0!{number}", number, size, None, data.draw(st.integers(1, 5)), 0.0, {})
            machine.start(job, 0.0, view.free_processors.lowest(size))
            running.append(job)
    elif what == "end" and running:
        machine.end(running.pop(data.draw(st.integers(0, len(running) - 1))))
    elif what == "fail":
        node = data.draw(st.integers(0, 5))
        machine.set_available(ProcessorSet.interval(node * UNIT, UNIT), False)
        out |= set(range(node * UNIT, node * UNIT + UNIT))
    elif what == "repair" and out:
        node = min(out) // UNIT
        machine.set_available(ProcessorSet.interval(node * UNIT, UNIT), True)
        out -= set(range(node * UNIT, node * UNIT + UNIT))


def test_queues_of_the_same_processors_have_one_view() -> None:
    """Jobs that take whole nodes see others there, so that theirs is another."""
    all_of_it = ProcessorSet.interval(0, 8)
    parts = [
        Partition(name=name, processors=all_of_it, unit=unit)
        for name, unit in (("day", 1), ("night", 1), ("whole", 4), ("wide", 4))
    ]
    day, night, whole, wide = make_views(parts)
    assert day is night
    assert whole is wide
    assert day is not whole
    assert day.shared
    assert whole.shared


@given(descriptions())
def test_regions_are_what_is_in_the_same_partitions(described: MachineDescription) -> None:
    """Disjoint, and each processor of a partition is in one."""
    views = make_views(described.partitions)
    of = {p: members for processors, members in split_into_regions(views) for p in processors}
    assert len(of) == sum(len(processors) for processors, _ in split_into_regions(views))
    for p in range(NB):
        there = frozenset(n for n, part in enumerate(described.partitions) if p in part.processors)
        assert of.get(p, frozenset()) == there
    assert len({members for _, members in split_into_regions(views)}) == len(
        split_into_regions(views)
    ), [to_text(processors) for processors, _ in split_into_regions(views)]
