"""Views of partitions beside a twin that looks at each processor."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from batsched_py import Job, Machine
from batsched_py.model.partitions import make_views, split_into_regions
from batsched_py.processors.sets import ProcessorSet, to_text
from batsched_py.workload.machine_description import MachineDescription, Partition

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
