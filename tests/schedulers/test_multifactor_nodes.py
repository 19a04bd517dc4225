"""The policy multifactor on nodes of which jobs hold parts: by hand, and against a slow twin."""

from __future__ import annotations

from itertools import count
from math import ceil, inf
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from batsched_py.schedulers.multifactor.multifactor import Multifactor
from batsched_py.simulator.engine import Outcome
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, starts
from helpers.partitions import entry, machine_of, partition, run_on

EXACT: dict[str, Any] = {
    **dict.fromkeys(
        ("weight_fairshare", "weight_jobsize", "weight_partition", "weight_qos", "bf_interval"), 0
    ),
    "bf_resolution": 0,
    "bf_window": None,
}
"""In the order of submission, with backfilling at each event."""
Vector = tuple[int, int, int]
"""Cores, GPUs and MiB."""


class Wanted(NamedTuple):
    """A drawn job: times in seconds, its shares of nodes, the largest first."""

    submit: int
    run: int
    estimate: int
    partition: int
    shares: tuple[Vector, ...]
    exclusive: bool = False


class Case(NamedTuple):
    """Nodes, the nodes of each partition, jobs in the order of submission, and options."""

    nodes: list[Vector]
    partitions: list[range]
    jobs: list[Wanted]
    resolution: int = 0
    window: int | None = None
    reserve: int = 0
    max_test: int | None = None


class Twin:
    """The same schedule, slow and plain: plans look at each second, or step, one after another."""

    def __init__(self, case: Case) -> None:
        self.case, self.now = case, 0
        self.running: dict[int, tuple[int, list[int]]] = {}
        self.began: dict[int, tuple[int, list[int]]] = {}
        self.waiting: list[int] = []
        self.changed = False
        self.changed_in: set[int] = set()

    def free(self, ends: dict[int, float], time: float) -> list[Vector]:
        """Return what each node has free if running jobs hold their shares until ``ends``."""
        free = [list(node) for node in self.case.nodes]
        for job, (_, places) in self.running.items():
            if ends[job] > time:
                for place, share in zip(places, self.case.jobs[job].shares, strict=True):
                    whole = self.case.jobs[job].exclusive
                    held = self.case.nodes[place] if whole else share
                    free[place] = [a - b for a, b in zip(free[place], held, strict=True)]
        return [(cores, gpus, memory) for cores, gpus, memory in free]

    def find(self, job: int, free: list[Vector], without: set[int]) -> list[int] | None:
        """Return a node for each share: with fewest GPUs free now, then cores, memory, number."""
        wanted, places = self.case.jobs[job], list[int]()
        now = self.free(dict.fromkeys(self.running, inf), self.now)
        may = [
            [
                all(a >= b for a, b in zip(vector, share, strict=True))
                and (vector == self.case.nodes[at] or not wanted.exclusive)
                and at in self.case.partitions[wanted.partition]
                and at not in without
                for at, vector in enumerate(free)
            ]
            for share in wanted.shares
        ]
        ranked = sorted(range(len(free)), key=lambda at: (now[at][1], now[at][0], now[at][2], at))
        for row in may:
            places += [at for at in ranked if row[at] and at not in places][:1]
        if len(places) < len(may):  # another choice for the first shares may leave enough
            places = maximum_bipartite_matching(csr_array(may), perm_type="column").tolist()
        return None if -1 in places else places

    def find_now(self, job: int, without: set[int]) -> list[int] | None:
        free = self.free(dict.fromkeys(self.running, inf), self.now)
        return self.find(job, free, without)

    def start(self, job: int, places: list[int]) -> None:
        self.waiting.remove(job)
        self.running[job] = self.began[job] = self.now, places

    def main_pass(self) -> None:
        """Start jobs in order, on no nodes of a partition in which an earlier job waits."""
        waits, blocked = set[int](), set[int]()
        for job in list(self.waiting):
            place = self.case.jobs[job].partition
            if place in waits:
                continue
            if places := self.find_now(job, blocked):
                self.start(job, places)
            else:
                waits.add(place)
                blocked |= {*self.case.partitions[place]}

    def backfill_pass(self) -> None:
        """Start each job now, or reserve whole nodes as early as possible, in order."""
        step = self.case.resolution or 1
        begin = self.now // step * step
        window = inf if self.case.window is None else (self.now + self.case.window) // step * step
        reserved: list[tuple[int, int, int]] = []
        seen = [0] * len(self.case.partitions)
        linked = len(self.case.partitions) == 2 and {*self.case.partitions[0]} & {
            *self.case.partitions[1]
        }
        for job in self.waiting[: self.case.max_test]:
            wanted = self.case.jobs[job]
            if not linked and wanted.partition not in self.changed_in:
                continue
            seen[wanted.partition] += 1
            lasts = ceil((self.now - begin + wanted.estimate) / step) * step
            only_now = 0 < self.case.reserve < seen[wanted.partition]
            for time in count(begin, step):
                if time >= window or (only_now and time > begin) or time > 10_000:
                    break
                taken = {at for at, s, end in reserved if s < time + lasts and end > time}
                ends = {
                    other: ceil((start + self.case.jobs[other].estimate) / step) * step
                    for other, (start, _) in self.running.items()
                }
                free = self.free(ends, time)
                if places := self.find_now(job, taken) if time == begin else None:
                    self.start(job, places)
                    break
                if time > begin and (places := self.find(job, free, taken)):
                    reserved += [(at, time, time + lasts) for at in places]
                    break

    def decide(self, new: list[int]) -> None:
        self.changed = self.changed or any(self.find_now(job, set()) for job in new)
        self.changed_in |= {self.case.jobs[job].partition for job in new}
        self.waiting += new
        if not self.changed:
            return
        self.main_pass()
        free = sum(cores for cores, _, _ in self.free(dict.fromkeys(self.running, inf), self.now))
        if any(
            sum(share[0] for share in self.case.jobs[job].shares) <= free for job in self.waiting
        ):
            self.backfill_pass()
            self.changed, self.changed_in = False, set()

    def schedule(self) -> dict[int, tuple[int, list[int]]]:
        """Return the start of each job that can ever run, and its nodes."""
        jobs = self.case.jobs
        times = {job.submit for job in jobs}
        while times:
            self.now = min(times)
            times.remove(self.now)
            for job, (start, _) in list(self.running.items()):
                if start + jobs[job].run <= self.now:
                    del self.running[job]
                    self.changed = True
                    self.changed_in.add(jobs[job].partition)
            new = [number for number, job in enumerate(jobs) if job.submit == self.now]
            self.decide([job for job in new if self.find(job, self.case.nodes, set())])
            times |= {start + jobs[job].run for job, (start, _) in self.running.items()}
        return self.began


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw nodes, partitions that may share some, and jobs that collide."""
    some = st.integers(1, 4)
    nodes = draw(st.lists(st.tuples(some, st.integers(0, 3), some), min_size=1, max_size=4))
    last, scale = len(nodes), draw(st.sampled_from([1, 20]))
    partitions = [range(last)]
    if last > 1 and draw(st.booleans()):
        partitions = [
            range(draw(st.integers(1, last))),
            range(draw(st.integers(0, last - 1)), last),
        ]
    share = st.tuples(*(st.sampled_from([0, 0, 1, 1, 2, 3]) for _ in range(3)))
    jobs = []
    for _ in range(draw(st.integers(3, 12))):
        one = draw(share)
        shares = draw(st.sampled_from([[one], [one], [one, one]])) + draw(
            st.lists(share, max_size=1)
        )
        with_cores = sorted(((max(c, 1), g, m) for c, g, m in shares), reverse=True)
        run = scale * draw(st.integers(1, 6))
        times = (
            scale * draw(st.integers(0, 4)),
            run,
            run + scale * draw(st.sampled_from([0, 0, 0, 2])),
        )
        place = draw(st.integers(0, len(partitions) - 1))
        exclusive = draw(st.sampled_from([False] * 7 + [True]))
        jobs.append(Wanted(*times, place, tuple(with_cores), exclusive))
    return Case(
        nodes,
        partitions,
        sorted(jobs, key=lambda job: job.submit),
        draw(st.sampled_from([0, 60 if scale > 1 else 3])),
        draw(st.sampled_from([None, None, 4 * scale])),
        draw(st.sampled_from([0, 0, 1, 2])),
        draw(st.sampled_from([None, None, 4])),
    )


def simulate(case: Case) -> Outcome:
    text = "".join(
        entry("nodes", count=1, cores=cores, gpus=gpus, memory=memory)
        for cores, gpus, memory in case.nodes
    )
    for place, nodes in enumerate(case.partitions):
        text += partition(f"p{place}", f"{nodes[0]}-{nodes[-1]}")
    options = EXACT | {
        "bf_resolution": case.resolution,
        "bf_window": case.window,
        "bf_job_part_count_reserve": case.reserve,
        "bf_max_job_test": case.max_test,
    }
    jobs = [
        (
            {
                "partition": f"p{job.partition}",
                "chunks": "+".join(
                    f"1:ncpus={c}:ngpus={g}" + f":mem={m}mb" * bool(m) for c, g, m in job.shares
                ),
                "exclusive": job.exclusive,
            },
            J(job.submit, sum(share[0] for share in job.shares), job.run, job.estimate),
        )
        for job in case.jobs
    ]
    return run_on(machine_of(text), lambda: Multifactor(**options), jobs)


@given(cases())
def test_starts_as_a_slow_simulation(case: Case) -> None:
    outcome = simulate(case)
    node_of = [at for at, (cores, _, _) in enumerate(case.nodes) for _ in range(cores)]
    placed = {
        number: (job.start_time, sorted({node_of[core] for core in job.alloc}))
        for number, job in enumerate(sorted(outcome.jobs, key=lambda job: job.description.id))
        if job.alloc
    }
    twin = Twin(case).schedule()
    assert placed == {job: (start, sorted(places)) for job, (start, places) in twin.items()}
