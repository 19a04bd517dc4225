"""Draws the users and jobs of a made-up GPU site; README.md has the sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from batsched_studies.gpu_site.packing import Job, Node

HOUR, DAY, GIB = 3600, 86400, 1024


class NodeGroup(NamedTuple):
    """Equal nodes, which are a partition."""

    partition: str
    prefix: str
    """Of the names of nodes."""
    nb_nodes: int
    cores: int
    gib: int
    gpus: int = 0
    gpu_type: str = ""


GROUPS = {
    group.partition: group
    for group in (
        NodeGroup("cpu", "c", 96, 64, 256),
        NodeGroup("gpu", "g", 24, 64, 512, 4, "a100"),
        NodeGroup("gpu8", "h", 8, 128, 1024, 8, "h100"),
    )
}
LIMITS_H = (1, 2, 4, 12, 24, 48)
"""Times that users request."""
LONGEST_ANYWAY = 0.15
"""Share of batches whose users request the longest time, however long their jobs run."""
GPU_LIMIT = 32
"""GPUs of the running jobs of a user in the QOS ``gpu``."""
SCAVENGERS = 0.04
"""Share of batches in GPU partitions with the QOS ``scavenger``: without limit, and preempted."""
PREEMPTED, PREEMPTED_FOR_GOOD = 0.4, 0.2
"""Share of runs of scavengers that are preempted, and share of these that do not run again."""
INTERRUPTED = {"NODE_FAIL": 0.004, "REQUEUED": 0.002}
"""Share of runs after which the job runs again."""
MOST_RUNS = 4
REQUEUE_DELAY = 121
"""Seconds from the end of a run until the next is eligible: Slurm's default and one."""
UNFINISHED = {"FAILED": 0.14, "CANCELLED": 0.06, "OUT_OF_MEMORY": 0.01}
"""Share of runs that end early."""
CANCELLED_SOON, PATIENCE_H = 0.04, 0.5
"""Share of jobs that users cancel some time after the submission, and the median of that time."""
NB_USERS, NB_ACCOUNTS = 200, 24
USERS_OF = {"cpu": 150, "gpu": 80, "gpu8": 30}
DAY_SHAPE = (3, 2, 2, 2, 2, 2, 3, 5, 8, 10, 11, 11, 9, 10, 11, 11, 10, 9, 7, 6, 5, 5, 4, 4)
WEEKEND = 0.45
"""Arrivals in each hour of a working day (relative), and the factor of Saturday and Sunday."""


class Kind(NamedTuple):
    """Jobs of one purpose. Sizes are of a node, with their weights."""

    name: str
    weight: float
    """Share of the batches of a partition."""
    nodes: Mapping[int, float]
    sizes: Mapping[int, float]
    """GPUs, or cores of jobs without GPUs."""
    batch: float
    """Mean number of jobs in a batch (geometric)."""
    median_h: float
    sigma: float
    """Run times of batches are lognormal."""
    is_array: bool = False
    chained: float = 0.0
    """Share of batches in which each job depends on the one before."""
    exclusive: float = 0.0
    """Share of batches with ``--exclusive``."""


ONE = {1: 1.0}
KINDS = {
    "cpu": (
        Kind("test", 0.30, ONE, {4: 0.5, 16: 0.3, 64: 0.2}, 2, 0.1, 1.2),
        Kind("serial", 0.12, ONE, {1: 0.5, 2: 0.2, 4: 0.3}, 15, 1.0, 1.2, is_array=True),
        Kind("threads", 0.35, ONE, {8: 0.3, 16: 0.3, 32: 0.3, 64: 0.1}, 3, 2.5, 1.3, chained=0.1),
        Kind("mpi", 0.23, {2: 0.45, 4: 0.3, 8: 0.15, 16: 0.1}, {64: 0.85, 48: 0.15}, 2, 3.5, 1.1,
             chained=0.2, exclusive=0.15),
    ),
    "gpu": (
        Kind("notebook", 0.30, ONE, ONE, 1.5, 0.3, 1.3),
        Kind("sweep", 0.15, ONE, ONE, 12, 1.5, 1.0, is_array=True),
        Kind("train", 0.45, ONE, {1: 0.45, 2: 0.3, 4: 0.25}, 2, 4.0, 1.2, chained=0.08,
             exclusive=0.03),
        Kind("distributed", 0.10, {2: 0.7, 4: 0.3}, {4: 1.0}, 1.5, 4.0, 1.1, chained=0.2),
    ),
    "gpu8": (
        Kind("notebook", 0.25, ONE, ONE, 1.5, 0.3, 1.3),
        Kind("train", 0.68, ONE, {1: 0.1, 2: 0.25, 4: 0.35, 8: 0.3}, 2, 4.0, 1.2, chained=0.1,
             exclusive=0.03),
        Kind("distributed", 0.07, {2: 1.0}, {8: 1.0}, 1.5, 4.0, 1.1, chained=0.2),
    ),
}  # fmt: skip
CPU_ONLY = Kind("prepare", 1.0, ONE, {4: 0.3, 8: 0.4, 16: 0.3}, 4, 2.0, 1.2)
"""Jobs without a GPU in a GPU partition."""
COURSE = Kind("exercise", 1.0, ONE, ONE, 8, 0.5, 0.6, is_array=True)
COURSE_NODES, COURSE_JOBS = 2, 500
"""Last nodes of ``gpu`` that are reserved for a course from Monday, 8 h, to Friday, 18 h."""
LEAST_WITH_COURSE = 20_000
"""Number of records from which on there is a course."""


class Population(NamedTuple):
    """How often users ask for more of a node than goes with their GPUs, or cores."""

    above: float
    """Share of batches above it in cores, and as many in memory."""
    cpu_only: float = 0.0
    """Share of the batches in GPU partitions that have no GPU."""


POPULATIONS = {
    "disciplined": Population(0.0),
    "mixed": Population(0.08),
    "hogs": Population(0.18),
    "shared": Population(0.0, cpu_only=0.25),
    "site": Population(0.08, cpu_only=0.03),
}


class Size(NamedTuple):
    """What a job has, in total."""

    nodes: int
    cores: int
    gpus: int
    mib: int


class Draft(NamedTuple):
    """A job: what its user knows at the submission, and how its runs go."""

    partition: str
    kind: str
    user: int
    qos: str
    requested: Size
    size: Size
    """What it gets: whole nodes with ``--exclusive``."""
    limit: int
    offset: int
    """Seconds after the first submission of the batch."""
    runs: tuple[tuple[int, str], ...]
    """Run time and state of each run. All but the last are followed by a requeue."""
    is_array: bool
    is_chained: bool
    """Whether it depends on the job of the batch before it."""
    patience: int = -1
    """Seconds after which its user cancels it, -1 if never."""
    in_course: bool = False


class Run(NamedTuple):
    """A run of a job. Times are seconds of the site."""

    draft: Draft
    job: int
    """Number of the job, in the order of the submissions."""
    first_of_array: int
    """Number of the first job of its array, -1 if it is in none."""
    restarts: int
    submit: int
    """Of the job. Further runs are submitted when the run before ends."""
    run_time: int
    state: str
    follows: int = -1
    """Place of the run after whose end it becomes eligible, -1 if there is none."""


class Site(NamedTuple):
    """The runs of a site."""

    runs: list[Run]
    """In the order of the submissions of their jobs."""
    accounts: Sequence[int]
    """Of each user."""
    span: int
    """Seconds in which jobs are submitted. They begin on a Monday at 0 h."""
    course: tuple[int, int] | None
    """Begin and end of the reservation."""


def make_nodes(*, with_course: bool = False) -> list[Node]:
    """Return the nodes, then those of the course once more, as a partition of their own.

    Example:
        >>> make_nodes()[96]
        (64, 4, 524288, 'gpu')
    """
    nodes: list[Node] = []
    for name, group in GROUPS.items():
        nodes += [(group.cores, group.gpus, group.gib * GIB, name)] * group.nb_nodes
        if name == "gpu":
            of_course = [(*nodes[-1][:3], "course")] * (COURSE_NODES * with_course)
    return nodes + of_course


def plain_jobs(site: Site) -> list[Job]:
    """Return the runs of a site as tuples, each submitted with its job.

    Example:
        >>> site = draw_site(seed=1, nb_records=500, load=0.65, population="hogs", plain=True)
        >>> len(plain_jobs(site))
        500
    """
    return [
        (
            *(run.submit, *run.draft.size, run.draft.limit, run.run_time),
            "course" if run.draft.in_course else run.draft.partition,
        )
        for run in site.runs
    ]


def draw_site(
    seed: int = 1,
    nb_records: int = 200_000,
    load: float = 0.8,
    population: str = "site",
    *,
    plain: bool = False,
) -> Site:
    """Draw the runs of a site.

    The next batch is always for the partition with the least work. The span is the time in which
    the partitions can do their work at this load. So each partition has the load: of its GPUs, or
    of its cores where it has none.

    Args:
        seed: of all random numbers.
        nb_records: number of runs.
        load: share of what a partition can do.
        population: a name in :data:`POPULATIONS`.
        plain: only jobs that run once, independent of others, and outside of a course.
    """
    draws = _Draws(np.random.default_rng(seed), POPULATIONS[population], plain)
    has_course = not plain and nb_records >= LEAST_WITH_COURSE
    nb_left = nb_records - COURSE_JOBS * has_course
    done = dict.fromkeys(KINDS, 0.0)
    batches = []
    while nb_left > 0:
        partition = min(done, key=lambda name: done[name])
        batch = _first_runs(draws.batch(partition), nb_left)
        nb_left -= sum(len(draft.runs) for draft in batch)
        done[partition] += sum(map(_full_seconds, batch))
        batches.append(batch)
    span = int(max(done.values()) / load)
    begins = draws.times(len(batches), 0, span)
    course = None
    if has_course:
        monday = int(span * 0.4) // (7 * DAY) * 7 * DAY
        course = monday + 8 * HOUR, monday + 4 * DAY + 18 * HOUR
        exercises = draws.exercises()
        batches += exercises
        begins += draws.times(len(exercises), *course)
    return Site(_number(batches, begins), draws.accounts, span, course)


def _first_runs(batch: Sequence[Draft], nb_runs: int) -> list[Draft]:
    """Return the first jobs of a batch, with at most ``nb_runs`` runs."""
    kept = []
    for draft in batch:
        if nb_runs > 0:
            kept.append(draft._replace(runs=draft.runs[:nb_runs]))
        nb_runs -= len(draft.runs)
    return kept


def _full_seconds(draft: Draft) -> float:
    """Return how long all of the partition would need for a job."""
    if draft.patience >= 0:
        return 0.0
    group = GROUPS[draft.partition]
    share = draft.size.gpus / group.gpus if group.gpus else draft.size.cores / group.cores
    return share / group.nb_nodes * sum(run_time for run_time, _ in draft.runs)


def _number(batches: Sequence[Sequence[Draft]], begins: Sequence[int]) -> list[Run]:
    """Return the runs of batches that begin at these times."""
    jobs = [
        (begin + draft.offset, number, place, draft)
        for number, (begin, batch) in enumerate(zip(begins, batches, strict=True))
        for place, draft in enumerate(batch)
    ]
    jobs.sort(key=lambda job: job[:3])
    runs: list[Run] = []
    first_of, last_of = dict[int, int](), dict[int, int]()
    for job, (submit, number, _, draft) in enumerate(jobs):
        first = first_of.setdefault(number, job) if draft.is_array else -1
        follows = last_of.get(number, -1) if draft.is_chained else -1
        for restarts, (run_time, state) in enumerate(draft.runs):
            runs.append(Run(draft, job, first, restarts, submit, run_time, state, follows))
            follows = last_of[number] = len(runs) - 1
    return runs


class _Draws:
    """Random batches and times."""

    def __init__(self, random: np.random.Generator, population: Population, plain: bool) -> None:
        self._random, self._population, self._plain = random, population, plain
        self.accounts = random.choice(NB_ACCOUNTS, NB_USERS, p=_zipf(NB_ACCOUNTS)).tolist()
        self._users = {name: random.permutation(NB_USERS)[:nb] for name, nb in USERS_OF.items()}

    def times(self, count: int, begin: int, end: int) -> list[int]:
        """Return ``count`` times, most of them when users are at work."""
        hours = np.arange(begin // HOUR, max(end // HOUR, begin // HOUR + 1))
        weights = np.array(DAY_SHAPE)[hours % 24] * np.where(hours // 24 % 7 < 5, 1, WEEKEND)
        drawn = self._random.choice(hours, count, p=weights / weights.sum())
        times: list[int] = (drawn * HOUR + self._random.integers(HOUR, size=count)).tolist()
        return times

    def exercises(self) -> list[list[Draft]]:
        """Return the batches of the course."""
        batches, nb_left = [], COURSE_JOBS
        while nb_left > 0:
            drafts = self._batch("gpu", COURSE)[:nb_left]
            nb_left -= len(drafts)
            changes: dict[str, Any] = {"qos": "normal", "patience": -1, "in_course": True}
            batches.append([draft._replace(runs=draft.runs[-1:], **changes) for draft in drafts])
        return batches

    def batch(self, partition: str) -> list[Draft]:
        """Return jobs that a user submits together."""
        kinds = KINDS[partition]
        if partition != "cpu" and self._random.random() < self._population.cpu_only:
            return self._batch(partition, CPU_ONLY)
        weights = [kind.weight for kind in kinds]
        return self._batch(partition, kinds[self._random.choice(len(kinds), p=weights)])

    def _batch(self, partition: str, kind: Kind) -> list[Draft]:
        random, users = self._random, self._users[partition]
        user = int(users[random.choice(len(users), p=_zipf(len(users)))])
        requested, size = self._size(GROUPS[partition], kind)
        qos = "normal" if partition == "cpu" else "gpu"
        if qos == "gpu" and random.random() < SCAVENGERS and not self._plain:
            qos = "scavenger"
        count = int(random.geometric(1 / kind.batch))
        median = kind.median_h * HOUR * random.lognormal(0, kind.sigma)
        limit = self._limit(median)
        run_times = np.clip(median * random.lognormal(0, 0.4, count), 5, limit).astype(int)
        gaps = random.lognormal(4, 1, count).astype(int) * (not kind.is_array)
        is_chain = random.random() < kind.chained and not self._plain
        gaps[0] = 0
        drafts: list[Draft] = []
        for run_time, offset in zip(run_times.tolist(), np.cumsum(gaps).tolist(), strict=True):
            patience = -1
            if random.random() < CANCELLED_SOON and not self._plain:
                patience = int(PATIENCE_H * HOUR * random.lognormal(0, 1.5)) + 1
            runs = self._runs(run_time, limit, qos)
            drafts.append(
                Draft(
                    *(partition, kind.name, user, qos, requested, size, limit, offset),
                    runs=runs if patience < 0 else runs[-1:],
                    is_array=kind.is_array,
                    is_chained=is_chain and bool(drafts),
                    patience=patience,
                )
            )
        return drafts

    def _size(self, group: NodeGroup, kind: Kind) -> tuple[Size, Size]:
        """Return what a job requests, and what it gets."""
        nodes, of_node = self._weighted(kind.nodes), self._weighted(kind.sizes)
        units = group.gpus or group.cores
        above_cores, above_memory = self._random.random(2) < self._population.above
        if group.gpus and kind is not CPU_ONLY:
            share = group.cores // group.gpus
            factor = self._choose((1.25, 1.5, 2, 3) if above_cores else (0.125, 0.25, 0.5, 1))
            gpus, cores = of_node, min(int(of_node * share * factor), group.cores)
        else:
            gpus, cores, units = 0, of_node, group.cores
        gib_share = group.gib // units
        factor = self._choose((1.25, 1.5, 2, 3) if above_memory else (0.25, 0.5, 0.5, 0.9))
        gib = min(max(int(of_node * gib_share * factor), 1), group.gib)
        requested = Size(nodes, nodes * cores, nodes * gpus, nodes * gib * GIB)
        if self._random.random() >= kind.exclusive:
            return requested, requested
        return requested, requested._replace(cores=nodes * group.cores, gpus=nodes * group.gpus)

    def _limit(self, median: float) -> int:
        """Return a round request of a user whose jobs run for about so long."""
        wanted = median * self._random.uniform(1.2, 5)
        if self._random.random() < LONGEST_ANYWAY:
            wanted = LIMITS_H[-1] * HOUR
        return next((h * HOUR for h in LIMITS_H if h * HOUR >= wanted), LIMITS_H[-1] * HOUR)

    def _runs(self, run_time: int, limit: int, qos: str) -> tuple[tuple[int, str], ...]:
        random, interrupted = self._random, list[tuple[int, str]]()
        while not self._plain and len(interrupted) < MOST_RUNS - 1:
            chances = INTERRUPTED | {"PREEMPTED": PREEMPTED * (qos == "scavenger")}
            if (state := self._event(chances)) is None:
                break
            interrupted.append((int(run_time * random.random()) + 1, state))
            if state == "PREEMPTED" and random.random() < PREEMPTED_FOR_GOOD:
                return tuple(interrupted)
        state = self._event(UNFINISHED)
        if state is not None:
            run_time = int(run_time * random.random() ** 2) + 1
        elif run_time == limit:
            state = "TIMEOUT"
        return (*interrupted, (run_time, state or "COMPLETED"))

    def _event(self, chances: Mapping[str, float]) -> str | None:
        """Return one of these, or none."""
        left = self._random.random()
        for name, chance in chances.items():
            left -= chance
            if left < 0:
                return name
        return None

    def _weighted(self, weights: Mapping[int, float]) -> int:
        return int(self._random.choice(list(weights), p=list(weights.values())))

    def _choose(self, values: Sequence[float]) -> float:
        return float(self._random.choice(values))


def _zipf(count: int) -> NDArray[np.float64]:
    """Return probabilities in proportion to 1 / rank."""
    weights = 1 / np.arange(1, count + 1, dtype=np.float64)
    return weights / float(weights.sum())
