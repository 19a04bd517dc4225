"""Jobs that hold cores, GPUs and memory of nodes, against a slow and obvious simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from batsched_py.schedulers.conservative_streit import ConservativeOfStreit
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import starts
from helpers.partitions import entry, machine_of, run_on

Vector = tuple[int, int, int]
"""Cores, GPUs and MiB."""


class Wanted(NamedTuple):
    """A drawn job: times in seconds, its shares of nodes, the largest first."""

    submit: int
    run: int
    estimate: int
    shares: tuple[Vector, ...]
    exclusive: bool = False


class Twin:
    """EASY on nodes, where the nodes that are planned for the first job are reserved whole."""

    def __init__(
        self, nodes: list[Vector], jobs: list[Wanted], extra: bool, backfill: bool
    ) -> None:
        self.nodes, self.jobs, self.extra, self.backfill = nodes, jobs, extra, backfill
        self.running: dict[int, tuple[int, list[int]]] = {}
        self.began: dict[int, tuple[int, list[int]]] = {}

    def free(self, at: float, now: int) -> list[Vector]:
        """Return what each node has free at a time if running jobs end when they are expected."""
        free = [list(node) for node in self.nodes]
        for job, (start, places) in self.running.items():
            if start + self.jobs[job].estimate > at or at == now:
                for place, share in zip(places, self.jobs[job].shares, strict=True):
                    for kind in range(3):
                        whole = self.nodes[place][kind]
                        free[place][kind] -= whole if self.jobs[job].exclusive else share[kind]
        return [(cores, gpus, memory) for cores, gpus, memory in free]

    def find(
        self, job: int, free: list[Vector], order: list[Vector], without: set[int]
    ) -> list[int] | None:
        """Return a node for each share: fewest GPUs in ``order``, then cores, memory, number."""
        wanted, places = self.jobs[job], list[int]()
        may = [
            [
                all(a >= b for a, b in zip(vector, share, strict=True))
                and (vector == self.nodes[at] or not wanted.exclusive)
                and at not in without
                for at, vector in enumerate(free)
            ]
            for share in wanted.shares
        ]
        ranked = sorted(
            range(len(free)), key=lambda at: (order[at][1], order[at][0], order[at][2], at)
        )
        for row in may:
            places += [at for at in ranked if row[at] and at not in places][:1]
        if len(places) < len(may):  # another choice for the first shares may leave enough
            places = maximum_bipartite_matching(csr_array(may), perm_type="column").tolist()
        return None if -1 in places else places

    def start(self, job: int, now: int, places: list[int]) -> None:
        self.running[job] = self.began[job] = now, places

    def decide(self, now: int, queue: list[int]) -> None:
        while queue:
            free = self.free(now, now)
            places = self.find(queue[0], free, free, set())
            if places is None:
                break
            self.start(queue.pop(0), now, places)
        if not queue or not self.backfill:
            return
        free = self.free(now, now)
        for shadow in sorted(
            start + self.jobs[job].estimate for job, (start, _) in self.running.items()
        ):
            planned = self.find(queue[0], self.free(shadow, now), free, set())
            if planned is not None:
                break
        every = set(range(len(self.nodes)))
        for job in queue[1:]:
            free = self.free(now, now)
            in_time = now + self.jobs[job].estimate <= shadow
            without = set() if in_time else set(planned or ()) if self.extra else every
            places = self.find(job, free, free, without)
            if places is not None:
                queue.remove(job)
                self.start(job, now, places)

    def schedule(self) -> dict[int, tuple[int, list[int]]]:
        """Return the start of each job that can ever run, and its nodes."""
        queue: list[int] = []
        times = {job.submit for job in self.jobs}
        while times:
            now = min(times)
            times.remove(now)
            ended = [j for j, (start, _) in self.running.items() if start + self.jobs[j].run <= now]
            for job in ended:
                del self.running[job]
            for number, job in enumerate(self.jobs):
                if job.submit == now and self.find(number, self.nodes, self.nodes, set()):
                    queue.append(number)
            self.decide(now, queue)
            times |= {start + self.jobs[job].run for job, (start, _) in self.running.items()}
        return self.began


@st.composite
def drawn(draw: st.DrawFn) -> tuple[list[Vector], list[Wanted]]:
    """Draw nodes and jobs that collide."""
    some = st.integers(1, 4)
    nodes = draw(st.lists(st.tuples(some, st.integers(0, 3), some), min_size=1, max_size=4))
    share = st.tuples(*(st.sampled_from([0, 0, 1, 1, 2, 3]) for _ in range(3)))
    jobs = []
    for _ in range(draw(st.integers(3, 9))):
        one = draw(share)
        shares = draw(st.sampled_from([[one], [one], [one, one]])) + draw(
            st.lists(share, max_size=1)
        )
        with_cores = sorted(((max(c, 1), g, m) for c, g, m in shares), reverse=True)
        run = draw(st.integers(1, 6))
        times = draw(st.integers(0, 4)), run, run + draw(st.sampled_from([0, 0, 0, 2]))
        jobs.append(Wanted(*times, tuple(with_cores), draw(st.sampled_from([False] * 7 + [True]))))
    return nodes, sorted(jobs, key=lambda job: job.submit)


def machine_text(nodes: list[Vector]) -> str:
    return "".join(
        entry("nodes", count=1, cores=cores, gpus=gpus, memory=memory)
        for cores, gpus, memory in nodes
    )


Placed = dict[int, tuple[float, list[int]]]


def simulate(nodes: list[Vector], jobs: list[Wanted], policy: Callable[[], Any]) -> Placed:
    """Return the start and the nodes of each job that ran."""
    given = [
        (fields(job), J(job.submit, sum(share[0] for share in job.shares), job.run, job.estimate))
        for job in jobs
    ]
    outcome = run_on(machine_of(machine_text(nodes)), policy, given)
    node_of = [at for at, (cores, _, _) in enumerate(nodes) for _ in range(cores)]
    in_order = sorted(outcome.jobs, key=lambda job: job.description.id)
    return {
        number: (job.start_time, sorted({node_of[core] for core in job.alloc}))
        for number, job in enumerate(in_order)
        if job.alloc
    }


def fields(job: Wanted) -> dict[str, Any]:
    """Return the fields of a workload for a job."""
    chunks = "+".join(f"1:ncpus={c}:ngpus={g}" + f":mem={m}mb" * bool(m) for c, g, m in job.shares)
    return {"chunks": chunks, "exclusive": job.exclusive}


POLICIES: dict[str, tuple[Callable[[], Any], bool, bool]] = {
    "easy": (Easy, True, True),
    "no extra nodes": (ConservativeOfStreit, False, True),
    "fcfs": (Fcfs, False, False),
}


@pytest.mark.parametrize("name", POLICIES)
@given(drawn())
def test_starts_as_a_slow_simulation(name: str, case: tuple[list[Vector], list[Wanted]]) -> None:
    make, extra, backfill = POLICIES[name]
    nodes, jobs = case
    twin = Twin(nodes, jobs, extra=extra, backfill=backfill).schedule()
    assert simulate(nodes, jobs, make) == {
        job: (start, sorted(places)) for job, (start, places) in sorted(twin.items())
    }


ONE = entry("nodes", count=1, cores=64, gpus=4)
TWO = entry("nodes", count=2, cores=64, gpus=4)


def by_gpus(*jobs: tuple[int, int, float]) -> list[tuple[Any, J]]:
    """Return jobs of one node by GPUs, cores and hours, that come together."""
    return [({"gpus": gpus, "nodes": 1}, J(0, cores, 3600 * hours)) for gpus, cores, hours in jobs]


def test_jobs_that_complement_each_other_share_a_node() -> None:
    jobs = by_gpus((1, 48, 10), (2, 8, 1))
    assert starts(run_on(machine_of(ONE), Easy, jobs)) == [0, 0]


def test_gpus_on_two_nodes_are_not_two_gpus_of_one_node() -> None:
    jobs = by_gpus((3, 3, 10), (3, 3, 10), (2, 2, 1))
    assert starts(run_on(machine_of(TWO), Easy, jobs)) == [0, 0, 36000]


def test_nobody_overtakes_a_job_that_waits_for_unknown_ends() -> None:
    """Without a walltime nobody knows when the first job ends: the second must not starve."""
    jobs = [
        ({"gpus": gpus, "nodes": 1}, J(at, 1, run, None))
        for at, (gpus, run) in enumerate([(3, 10), (4, 10), (1, 100)])
    ]
    assert starts(run_on(machine_of(ONE), Easy, jobs)) == [0, 10, 20]
