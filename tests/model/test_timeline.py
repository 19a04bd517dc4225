"""The timeline against a twin that keeps one number per second."""

from __future__ import annotations

from math import inf, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import InvariantError
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.timeline import Timeline

LENGTH = 1200
"""Seconds that the twin knows; beyond, everything is free."""


class PerSecond:
    """Free processors of each second, by counting: slow and obviously right."""

    def __init__(self, nb: int, begin: int) -> None:
        self.nb, self.begin = nb, begin
        self.free = [nb] * LENGTH

    def take(self, start: int, end: int, size: int) -> None:
        for second in range(max(start, self.begin), min(end, LENGTH)):
            self.free[second] -= size

    def at(self, second: int) -> int:
        return self.free[second] if second < LENGTH else self.nb

    def fits(self, start: int, duration: int, size: int) -> bool:
        return all(self.at(second) >= size for second in range(start, start + max(duration, 1)))

    def earliest(self, size: int, duration: int, after: int) -> float:
        if size > self.nb:
            return inf
        start = max(after, self.begin)
        while not self.fits(start, duration, size):
            start += 1
        return start


def check(line: Timeline, twin: PerSecond) -> None:
    assert line.times == sorted(set(line.times))
    assert len(line.times) == len(line.free)
    expanded: list[int] = []
    for begin, end, free in zip(line.times, [*line.times[1:], LENGTH], line.free, strict=True):
        expanded += [free] * int(end - begin)
    assert expanded == twin.free[twin.begin :], line
    assert line.free_at(LENGTH + 5) == twin.nb


steps = st.lists(
    st.tuples(
        st.sampled_from(["place", "reserve", "release", "occupy", "advance", "earliest"]),
        st.integers(0, 90),
        st.integers(0, 25),
        st.integers(1, 9),
    ),
    max_size=40,
)


@given(steps, st.integers(1, 8))
def test_equals_its_twin(steps: list[tuple[str, int, int, int]], nb: int) -> None:
    line, twin = Timeline(nb, 0), PerSecond(nb, 0)
    taken: list[tuple[int, int, int]] = []
    for what, start, duration, size in steps:
        end = start + duration
        if what == "advance":
            twin.begin = max(twin.begin, min(start // 8, 60))
            line.advance(twin.begin)
        elif what == "earliest":
            assert line.earliest(size, duration, start) == twin.earliest(size, duration, start)
            least = min((twin.at(second) for second in range(start, end)), default=None)
            if duration and start >= twin.begin:
                assert line.least_free(start, end) == least
        elif what == "place" and size <= nb:
            begin_placed = line.place(size, duration, start)
            assert begin_placed == twin.earliest(size, duration, start)
            twin.take(int(begin_placed), int(begin_placed) + duration, size)
            taken.append((int(begin_placed), int(begin_placed) + duration, size))
        elif what == "reserve" and start >= twin.begin:
            if duration and not twin.fits(start, duration, size):
                before = line.copy()
                with pytest.raises(InvariantError, match=f"{size} processors were reserved"):
                    line.reserve(start, end, size)
                assert (line.times, line.free) == (before.times, before.free)
            else:
                line.reserve(start, end, size)
                twin.take(start, end, size)
                taken.append((start, end, size))
        elif what == "occupy":  # a limit of the site, processors that will be out of order
            line.occupy(start, end, size)
            twin.take(start, end, size)
            taken.append((start, end, size))
        elif what == "release" and taken:  # a job ends early: what it had left is free again
            begin, end, size = taken.pop(start % len(taken))
            early = max(begin, min(end, begin + duration))
            line.release(early, end, size)
            twin.take(early, end, -size)
        check(line, twin)


def test_for_ever_it_must_fit_for_ever() -> None:
    line = Timeline(4, 0)
    line.reserve(5, 20, 3)
    assert (line.earliest(1, inf), line.earliest(4, inf)) == (0, 20)


def test_the_timeline_of_a_machine() -> None:
    """Jobs that end together are one step; one that is late ends right after now; one whose end
    nobody knows never does; processors out of order do not come back."""
    machine = Machine(10)
    jobs = []
    for number, (size, start, estimate) in enumerate(
        [(2, 0, 30), (1, 10, 20), (3, 0, 5), (1, 0, inf)]
    ):
        job = Job(f"w0!{number}", number, size, None, estimate, start, {})
        machine.start(job, start)
        jobs.append(job)
    assert Timeline.of(machine, 5).times == [5, nextafter(5, inf), 30], "an end of now is to come"
    soon = nextafter(20, inf)
    line = Timeline.of(machine, 20)
    assert (line.times, line.free) == ([20, soon, 30], [3, 6, 9])
    assert line.free_at(inf) == 9
    late = jobs[2]
    machine.set_available(late.processors, available=False)
    line = Timeline.of(machine, 20)
    assert line.free == [3, 3, 6]
    assert machine.free_at(30) == 6
    assert line.earliest(7, 1) == inf


def test_exact_ties_of_floats() -> None:
    """Ends are compared exactly: 0.1 + 0.2 is later than 0.3."""
    line = Timeline(1, 0.0)
    line.reserve(0.0, 0.1 + 0.2, 1)
    assert line.earliest(1, 1.0) == 0.1 + 0.2
    assert line.earliest(1, 1.0) > 0.3


def test_wrong_reservations() -> None:
    line = Timeline(4, 10)
    for start, end in ((5, 20), (20, 15)):
        with pytest.raises(InvariantError, match="was requested"):
            line.reserve(start, end, 1)
    assert repr(line) == "Timeline(10: 4)"
