"""The policy multifactor on nodes of which jobs hold parts: by hand, and against a slow twin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from math import ceil, inf
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from batsched_py import Decision, Machine, WaitingQueue
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


# By hand -----------------------------------------------------------------------------------------

TWO = entry("nodes", count=2, cores=8, gpus=4)
OVERLAPPING = TWO + partition("all") + partition("few", "1")


def job(gpus: int, nodes: int = 1, **fields: Any) -> dict[str, Any]:
    return {"gpus": gpus, "nodes": nodes, **fields}


BLOCKED = [(job(4), J(0, 4, 10)), (job(8, 2), J(1, 8, 10))]
"""All GPUs of a node are busy until 10, then the second job wants those of both nodes."""
IN_TURN = [
    *((job(4), J(0, cores, time)) for cores, time in ((4, 10), (6, 20))),
    *((job(4), J(at, 4, 10)) for at in (1, 2)),
    (job(0), J(3, 1, 18)),
]
"""Two jobs are planned for 10 and 20. The last one ends at 21."""

CASES: dict[str, tuple[str, dict[str, Any], list[tuple[Any, J]], list[float]]] = {
    "three GPUs and 7 cores on a node: the jobs complement each other": (
        TWO,
        {},
        [(job(1), J(0, 6, 10)), (job(2), J(0, 1, 10)), (job(8, 2), J(1, 8, 10))],
        [0, 0, 10],
    ),
    "planned nodes are reserved whole: cores are free, but not for 20 s until the start at 10": (
        TWO,
        {},
        [*BLOCKED, *((job(0), J(at, 1, time)) for at, time in ((2, 20), (3, 7), (3, 20)))],
        [0, 10, 10, 3, 10],
    ),
    "a window of 5 s: nobody is planned for 10, and the third job delays the second": (
        TWO,
        {"bf_window": 5},
        [*BLOCKED, (job(1), J(2, 1, 20))],
        [0, 22, 2],
    ),
    "in steps of 60 s the third job, which ends at 115, ends with the first": (
        TWO,
        {"bf_resolution": 60},
        [(job(4), J(0, 4, 100)), (job(8, 2), J(1, 8, 10)), (job(0), J(65, 1, 50))],
        [0, 100, 65],
    ),
    "both jobs behind the first are planned": (TWO, {}, IN_TURN, [0, 0, 10, 20, 10]),
    "only the first is planned": (
        TWO,
        {"bf_job_part_count_reserve": 1},
        IN_TURN,
        [0, 0, 10, 20, 3],
    ),
    "a job behind the first is not planned, though it has room for a while": (
        TWO,
        {"bf_job_part_count_reserve": 1},
        [
            *((job(4), J(0, cores, time)) for cores, time in ((4, 10), (2, 50))),
            (job(4), J(1, 4, 10)),
            (job(0, 2), J(2, 2, 20)),
            (job(0), J(3, 1, 30)),
        ],
        [0, 0, 10, 10, 3],
    ),
    "a job of 7 s on both nodes is not planned for 5, but behind the one that is for 10": (
        TWO,
        {},
        [
            *((job(4), J(0, cores, time)) for cores, time in ((4, 10), (2, 50))),
            (job(0), J(0, 6, 5)),
            (job(4), J(1, 4, 10)),
            (job(0, 2), J(1, 8, 7)),
            (job(0), J(2, 1, 6)),
        ],
        [0, 0, 0, 10, 10, 2],
    ),
    "no nodes of a partition in which an earlier job waits": (
        OVERLAPPING,
        {"backfill": "none"},
        [*BLOCKED, (job(1, partition="few"), J(2, 1, 5))],
        [0, 10, 20],
    ),
    "but backfilling finds them": (
        OVERLAPPING,
        {},
        [*BLOCKED, (job(1, partition="few"), J(2, 1, 5)), (job(1, partition="few"), J(3, 1, 9))],
        [0, 10, 2, 20],
    ),
    "a partition of whole nodes": (
        TWO + partition("whole", whole_nodes=True) + partition("parts"),
        {},
        [
            (job(1, partition="parts"), J(0, 1, 10)),
            (job(1, partition="whole"), J(1, 8, 10)),
            (job(1, partition="parts"), J(2, 1, 5)),
            (job(1, partition="whole"), J(3, 8, 5)),
        ],
        [0, 1, 2, 10],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_by_hand(case: tuple[str, dict[str, Any], list[tuple[Any, J]], list[float]]) -> None:
    text, options, jobs, expected = case
    outcome = run_on(machine_of(text), lambda: Multifactor(**EXACT | options), jobs)
    check_machine(outcome)
    assert starts(outcome) == expected


# Against a twin ----------------------------------------------------------------------------------

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

    def free(self, ends: Mapping[int, float], time: float) -> list[Vector]:
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


def simulate(case: Case, make: Callable[..., Multifactor] = Multifactor) -> Outcome:
    text = "".join(
        entry("nodes", count=1, cores=cores, gpus=gpus, memory=memory)
        for cores, gpus, memory in case.nodes
    )
    for place, nodes in enumerate(case.partitions):
        text += partition(f"p{place}", f"{nodes[0]}-{nodes[-1]}")
    options: dict[str, Any] = EXACT | {
        "bf_resolution": case.resolution,
        "bf_window": case.window,
        "bf_job_part_count_reserve": case.reserve,
        "bf_max_job_test": case.max_test,
    }
    jobs: list[tuple[Any, J]] = [
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
    outcome: Outcome = run_on(machine_of(text), lambda: make(**options), jobs)
    return outcome


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


class Promising(Multifactor):
    """Asserts that the planned start of the first waiting job never moves back."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.promised: dict[str, float] = {}

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        yield from super().schedule(now, queue, machine)
        if queue.head is not None:
            until = self.held(queue.head, now, queue, machine).until
            assert now < until <= self.promised.get(queue.head.id, 10_000)
            self.promised[queue.head.id] = until


@given(cases())
def test_the_first_job_starts_by_its_planned_start(case: Case) -> None:
    jobs = [job._replace(partition=0) for job in case.jobs]
    policy = Promising(**EXACT)
    outcome = simulate(Case(case.nodes, [range(len(case.nodes))], jobs), lambda **_: policy)
    began = {job.description.id: job.start_time for job in outcome.jobs}
    assert all(began[name] <= until for name, until in policy.promised.items())


def test_why_a_job_waits() -> None:
    """Two are planned on a node each, one behind them, and the last one is not looked at."""
    seen: list[Any] = []

    class Watched(Multifactor):
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
            yield from super().schedule(now, queue, machine)
            if now == 3:
                seen.extend(self.held(job, now, queue, machine) for job in queue)

    jobs = [*IN_TURN, (job(0), J(3, 1, 99))]
    run_on(machine_of(TWO), lambda: Watched(**EXACT, bf_max_job_test=3), jobs)
    assert [(each.why, each.place, each.by, each.until) for each in seen] == [
        ("head", 1, None, 10),
        ("plan", 2, "w0!0002", 20),
        ("plan", 3, "w0!0002", 20),
        ("behind", 4, "w0!0002", inf),
    ]
