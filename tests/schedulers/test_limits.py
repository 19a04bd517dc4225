"""Limits of QOS, accounts and users: whom they hold, whom they refuse, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import Job, Machine, Start, WaitingQueue
from batsched_py.errors import InputError, WorkloadError
from batsched_py.model.job import ENDED, RUNNING
from batsched_py.schedulers.admission import Admission, Outages
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.schedulers.filler import Filler
from batsched_py.schedulers.multifactor.multifactor import Multifactor
from batsched_py.schedulers.partitioned import adapt_to_partitions
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload.grid_sites import GridSites
from batsched_py.workload.log_partitions import with_whole_nodes
from batsched_py.workload.machine_description import find_owner
from batsched_py.workload.unused_input import find_unused_in_jobs
from helpers.partitions import entry, machine_of, partition
from helpers.slow_limits import SlowLimits
from helpers.withdrawn_jobs import run_withdrawing

Make = Callable[[], Any]
MULTIFACTOR = partial(Multifactor, bf_interval=0, bf_resolution=0, weight_jobsize=0)
POLICIES: dict[str, Make] = {
    "easy": Easy,
    "conservative": Conservative,
    "filler": Filler,
    "multifactor": MULTIFACTOR,
}
EIGHT = entry("nodes", count=8)


def limits(**values: Any) -> str:
    return entry("limits", **values)


def start_times(
    text: str, jobs: list[tuple[J, dict[str, Any]]], make: Make = Easy, **options: Any
) -> list[float | None]:
    """Return when jobs, each with its further fields, start on eight processors."""
    fields = {place: more for place, (_, more) in enumerate(jobs)}
    described = machine_of(EIGHT + text)
    only = [job for job, _ in jobs]
    return run_withdrawing(make, only, {}, 8, described=described, fields=fields, **options)


def of(
    user: str, submit: float, gpus: int, size: int = 1, **fields: Any
) -> tuple[J, dict[str, Any]]:
    return J(submit, size, 10, user=user), {"gpus": gpus, **fields}


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_a_held_job_holds_no_smaller_one(make: Make) -> None:
    """A has 4 of the 8 GPUs of its user; B, who needs all, waits, C with 2 starts at once.

    B has no reservation, so D of another user is not delayed by it; E has no GPU.
    """
    jobs = [of("u", 0, 4), of("u", 1, 8, 8), of("u", 2, 2), of("v", 3, 8, 3), of("u", 4, 0, 3)]
    assert start_times(limits(per="user", gpus=8), jobs, make) == [0, 14, 2, 3, 4]


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_what_a_start_leaves_no_room_for_leaves_the_queue_at_once(make: Make) -> None:
    """All come together: with A running, B has no room, so C need not wait for the head B."""
    jobs = [of("u", 0, 4), of("u", 0, 6, 8), of("v", 0, 6, 7)]
    assert start_times(limits(per="user", gpus=8), jobs, make) == [0, 10, 0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (limits(of="account:7", jobs=1), [0, 10, 2, 3]),
        (limits(per="account", jobs=1), [0, 10, 2, 12]),
        (limits(of="qos:debug", cpus=2), [0, 1, 2, 10]),
        (limits(of="qos:debug", per="user", jobs=1), [0, 1, 2, 11]),
        (limits(of="partition:small", jobs=1), [0, 1, 2, 10]),
        (limits(of="partition:2", jobs=1), [0, 1, 2, 10]),
        (limits(of="user:v", memory="4 GiB"), [0, None, 2, 3]),
        (limits(of="user:u", memory="4 GiB"), [0, 1, 10, 3]),
        (limits(jobs=2), [0, 1, 10, 11]),
        (limits(of="account:7", jobs=0), [None, None, 2, 3]),
        (limits(of="qos:other", jobs=0), [0, 1, 2, 3]),
    ],
)
@pytest.mark.parametrize("make", [Easy, MULTIFACTOR], ids=["easy", "multifactor"])
def test_whose_jobs_count(make: Make, text: str, expected: list[float | None]) -> None:
    parts = partition("large", number=1) + partition("small", number=2)
    jobs = [
        of("u", 0, 0, partition="small", group=7, queue="debug", memory_mib=3000),
        of("v", 1, 0, partition="large", group=7, queue="debug", memory_mib=4097),
        of("u", 2, 0, partition="large", group=8, queue="long", memory_mib=3000),
        of("v", 3, 0, partition="small", group=8, queue="debug", memory_mib=1000),
    ]
    assert start_times(parts + text, jobs, make) == expected


def test_two_limits_at_once() -> None:
    """Of its user's 4 GPUs B leaves room, of the 6 of all it does not; C fits into both."""
    text = limits(per="user", gpus=4) + limits(gpus=6)
    jobs = [of("u", 0, 3), of("v", 0, 4), of("v", 1, 3), of("u", 2, 2)]
    assert start_times(text, jobs) == [0, 11, 1, 10]


@pytest.mark.parametrize(("limit", "seconds"), [("gpus", 10), ("memory", 10), ("cpus", 1)])
def test_what_only_chunks_name_counts(limit: str, seconds: float) -> None:
    chunks = {"chunks": "1:ncpus=1:ngpus=3:mem=3mb"}
    jobs = [(J(0, 1, 10), chunks), (J(1, 1, 10), chunks)]
    assert start_times(limits(**{limit: 5}), jobs) == [0, seconds]


def test_a_partition_that_counts_gpus_counts_those_of_chunks() -> None:
    text = entry("nodes", count=2, cores=8, gpus=4) + partition("a", unit="gpu")
    fields = ({"chunks": "2:ncpus=4:ngpus=2"}, {"chunks": "1:ncpus=4"}, {"gpus": 3})
    load = workload([J(0, 8, 10)] * 3, 16)
    for job, more in zip(load.jobs, fields, strict=True):
        job.extra |= more
    counted = with_whole_nodes(load, machine_of(text))
    assert [job.size for job in counted.jobs] == [4, 3]
    assert counted.notes[-1].startswith("1 jobs were dropped: they hold no GPU")


def test_notes_on_limits_that_bind_no_job() -> None:
    described = machine_of(EIGHT + limits(of="qos:gup", gpus=1) + limits(memory=1))
    load = workload([J(0, 1, 1)] * 2, 8)
    load.jobs[0].extra |= {"queue": "gpu", "memory_mib": 1}
    assert find_unused_in_jobs(
        load.jobs,
        "easy",
        "rigid",
        reads_reservations=False,
        follows_dependencies=False,
        sites=GridSites(),
        described=described,
    ) == [
        "no job is of qos:gup, which the machine file limits",
        "1 of 2 jobs that a limit binds have unknown memory: they count as 0",
    ]


def test_equal_jobs_are_seen_as_far_as_there_is_room() -> None:
    """Of three equal jobs the policy sees two; of three that differ each has room."""
    described = machine_of(EIGHT + limits(gpus=2))
    for sizes, seen in (((1, 1, 1), 2), ((1, 2, 3), 3)):
        queue = WaitingQueue()
        lengths: list[int] = []

        class Counting:
            def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> list[Start]:
                lengths.append(len(queue))  # noqa: B023
                return []

        for number, size in enumerate(sizes):
            queue.append(Job(str(number), number, size, 1.0, 1.0, 0.0, {"gpus": 1}))
        policy = adapt_to_partitions(Counting, described)
        assert not [*policy.schedule(0.0, queue, Machine(8, (), described))]
        assert lengths == [seen]


def test_why_a_job_is_held() -> None:
    described = machine_of(EIGHT + limits(of="qos:1", per="user", gpus=1))
    policy: Any = adapt_to_partitions(Easy, described)
    machine, queue = Machine(8, (), described), WaitingQueue()
    for number in range(2):
        queue.append(Job(str(number), number, 1, 9.0, 9.0, 0.0, {"gpus": 1, "queue": 1}, "u"))
    for decision in policy.schedule(0.0, queue, machine):
        machine.start(decision.job, 0.0, decision.processors)
        queue.remove(decision.job)
    reason = policy.held(queue.head, 0.0, queue, machine)
    assert reason.why == "limit"
    assert "limit of 1 gpus per user of qos:1" in reason.note


class OwnList:
    """A policy that keeps a list of its own, from which it starts what fits."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.nb_seen = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Any:
        self.jobs += queue.since(self.nb_seen)
        self.nb_seen = queue.nb_arrived
        for job in [*self.jobs]:
            if job.size <= machine.free:
                yield Start(job)
            if job.state is RUNNING:
                self.jobs.remove(job)

    def job_hidden(self, now: float, job: Job) -> None:
        self.jobs.remove(job)


def test_a_policy_with_a_list_of_its_own_starts_no_hidden_job() -> None:
    jobs = [of("u", 0, 4), of("u", 0, 3), of("u", 0, 2), of("u", 0, 1)]
    assert start_times(limits(gpus=5), jobs, OwnList) == [0, 10, 10, 0]


def test_held_by_a_limit_and_by_an_outage() -> None:
    """B waits for the GPU of A until 10, and then for the end of the outage."""
    outage = entry("outages", begin=15, end=30)
    jobs = [of("u", 0, 1), of("u", 1, 1), of("u", 2, 0, 2)]
    assert start_times(limits(gpus=1) + outage, jobs) == [0, 30, 2]


@pytest.mark.parametrize("make", [*POLICIES.values(), Fcfs], ids=[*POLICIES, "fcfs"])
@given(data=st.data())
def test_the_slow_twin_gives_the_same_schedule(make: Make, data: st.DataObject) -> None:
    """And what runs never holds more than a limit allows."""
    text = "".join(data.draw(st.lists(drawn_limits(), min_size=1, max_size=3)))
    jobs = data.draw(st.lists(drawn_jobs(), max_size=25))
    jobs.sort(key=lambda job: job[0].submit)
    parts = data.draw(st.sampled_from(["", partition("a") + partition("b", "4-7", tier=2)]))
    outage = data.draw(st.sampled_from(["", entry("outages", begin=15, end=30, nodes="0-2")]))
    starts = start_times(text + parts + outage, jobs, make)
    with patch("batsched_py.schedulers.admission.JobLimits", SlowLimits):
        assert start_times(text + parts + outage, jobs, make) == starts
    described = machine_of(EIGHT + text + parts)
    for limit in described.limits:
        for time in {start for start in starts if start is not None}:
            used: dict[Any, dict[str, int]] = {}
            for (job, fields), start in zip(jobs, starts, strict=True):
                waiting = Job("0", 0, job.size, None, 0.0, 0.0, fields, job.user or "")
                if start is None or not start <= time < start + job.run:
                    continue
                if limit.binds(waiting, fields["partition"]):
                    held = used.setdefault(
                        find_owner(limit.per, waiting), dict.fromkeys(limit.most, 0)
                    )
                    for resource in held:
                        held[resource] += {"jobs": 1, "cpus": job.size}.get(
                            resource, fields["gpus"]
                        )
            assert all(
                held[name] <= most for held in used.values() for name, most in limit.most.items()
            )


@st.composite
def drawn_limits(draw: st.DrawFn) -> str:
    of = draw(st.sampled_from([None, "qos:q", "account:1", "user:u"]))
    named = {} if of is None else {"of": of}
    per = draw(st.sampled_from(["user", "account", "all"]))
    most = draw(
        st.dictionaries(
            st.sampled_from(["gpus", "cpus", "jobs"]), st.integers(1, 8), min_size=1, max_size=2
        )
    )
    return limits(**named, per=per, **most)


@st.composite
def drawn_jobs(draw: st.DrawFn) -> tuple[J, dict[str, Any]]:
    run = draw(st.sampled_from([1, 5, 10, 20]))
    walltime = run * draw(st.sampled_from([1, 1, 2]))
    user, size = draw(st.sampled_from("uvw")), draw(st.sampled_from([1, 1, 2, 4, 8]))
    fields = {
        "gpus": draw(st.sampled_from([0, 1, 1, 2, 4])),
        "group": draw(st.sampled_from([1, 2])),
        "queue": draw(st.sampled_from("pq")),
        "partition": draw(st.sampled_from("ab")),
    }
    return J(draw(st.sampled_from([0, 0, 5, 6, 20])), size, run, walltime, user=user), fields


def test_five_thousand_equal_jobs_cost_microseconds_per_event() -> None:
    costs = []
    for nb in (50, 5000):
        admission = Admission(Outages(()), machine_of(EIGHT + limits(per="user", jobs=8)), 1)
        queue, running = admission.queues[0], list[Job]()
        admission.update(0.0, [Job(str(at), at, 1, None, 1.0, 0.0, {}, "u") for at in range(nb)])
        begin = process_time()
        for _ in range(40):
            while queue.head:
                running.append(queue.head)
                running[-1].state = RUNNING
                admission.start(running[-1])
            ended = running.pop(0)
            ended.state = ENDED
            admission.limits.end(ended)
            admission.update(0.0, [])
        costs.append((process_time() - begin) / 80)
    assert max(costs) < 1e-3  # a pass over 5,000 jobs costs more
    assert len(running) == 7


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"of": "quos:gpu", "gpus": 1}, "limits 1: of = 'quos:gpu'.*expected qos:NAME, partition"),
        ({"of": "qos: ", "gpus": 1}, "limits 1: of = 'qos: '"),
        (
            {"of": "partition:gup", "gpus": 1},
            "limits 1: of = 'partition:gup': expected a partition",
        ),
        ({"of": "qos:gpu"}, "limits 1: it limits nothing: expected gpus"),
        ({"per": "job", "gpus": 1}, "limits 1: per = 'job'"),
        ({"memory": "much"}, "limits 1: memory = 'much'.*such as '512 GiB'"),
        ({"gpus": -1}, "limits 1: gpus = -1"),
    ],
)
def test_wrong_tables(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        machine_of(EIGHT + limits(**values))


@pytest.mark.parametrize("gpus", ["four", -1, 0.5, True])
def test_a_number_of_gpus_that_makes_no_sense_is_named(gpus: Any) -> None:
    with pytest.raises(WorkloadError, match=r"gpus = .*expected a whole number, at least 0"):
        start_times(limits(gpus=1), [(J(0, 1, 1), {"gpus": gpus})])
