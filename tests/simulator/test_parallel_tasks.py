"""Parallel tasks against measurements of SimGrid, recorded jobs of Batsim, and a slow twin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import PlatformError
from batsched_py.simulator.platform.hosts import Host, Platform, make_homogeneous
from batsched_py.simulator.platform.network import (
    FullZone,
    Hop,
    Link,
    Network,
    Zone,
)
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.simulator.tasks.fair_bottleneck import FairBottleneck, RateLimits, Use
from batsched_py.simulator.tasks.parallel_tasks import ParallelTask, ParallelTasks
from helpers.parallel_tasks_twin import Cancel, Change, Speed, Start, Twin, stars


def ends(platform: Platform, changes: list[Change]) -> list[float | None]:
    """Carry out changes, in order of time, and return when each task ended."""
    running = ParallelTasks(platform)
    tasks: list[ParallelTask] = []
    for change in changes:
        while running.find_next_time() - change.time < 1e-9:
            running.advance(min(running.find_next_time(), change.time))
        if isinstance(change, Start):
            bytes_ = change.bytes_
            tasks.append(running.start(change.time, change.hosts, change.flops, bytes_))
        elif isinstance(change, Speed):
            running.set_speed(change.host, change.speed, change.time)
        elif change.task < len(tasks):
            running.cancel(tasks[change.task], change.time)
    while (date := running.find_next_time()) < inf:
        running.advance(date)
    return [task.end for task in tasks]


def all_to_all(nb: int, amount: float) -> list[float]:
    return [0.0 if i == j else amount for i in range(nb) for j in range(nb)]


def talk(hosts: Sequence[int], amount: float, flops: float = 0, time: float = 0) -> Start:
    """A task of which each executor computes and sends so many bytes to each other one."""
    return Start(time, list(hosts), [flops] * len(hosts), all_to_all(len(hosts), amount))


RING = [1e8 if j == (i + 1) % 4 else 0.0 for i in range(4) for j in range(4)]
ONE_WAY = [0.0, 1e9, 0.0, 0.0]
FOUR, OTHERS = range(4), range(4, 8)
MEASURED: dict[str, tuple[list[Change], list[float]]] = {
    "one host": ([Start(0, [0], [7.3e9], [])], [7.300000000000001]),
    "two jobs share a host": ([Start(0, [0], [1e9], []), Start(0, [0], [3e9], [])], [2.0, 4.0]),
    "two hosts": ([talk([0, 1], 1e8)], [0.8006000000000001]),
    "a ring": ([Start(0, [*FOUR], [0] * 4, RING)], [1.6006]),
    "one message": ([Start(0, [0, 1], [0, 0], ONE_WAY)], [8.0006]),
    "communication decides": ([talk(FOUR, 1e7, 1e8)], [0.48059999999999997]),
    "a small job comes later": ([talk(FOUR, 1e8), talk(OTHERS, 1e7, time=1)], [5.2806, 1.9606]),
    "different sizes": ([talk([0, 1], 1e8), talk(OTHERS, 1e7)], [1.2806, 0.9606]),
    "two jobs share hosts, links and backbone": (
        [talk(FOUR, 1e7, 4e9), talk(range(2, 6), 1e7, 1e9)],
        [5.0006, 2.0006],
    ),
    "a speed changes": ([Start(0, [0, 1], [1e10] * 2, []), Speed(4, 0, 5e8)], [15.999999999999998]),
}


@pytest.mark.parametrize("sentence", MEASURED)
def test_as_measured(ref_cluster: Platform, sentence: str) -> None:
    changes, measured = MEASURED[sentence]
    assert ends(ref_cluster, changes) == pytest.approx(measured, abs=1e-12)
    assert Twin(ref_cluster).ends(changes) == pytest.approx(measured, abs=1e-12)


@pytest.mark.parametrize(("flops", "speed"), [(7.3e9, 1e9), (1e9, 3e9), (123456789.0, 98.095e6)])
def test_one_task_alone_ends_to_the_last_bit(flops: float, speed: float) -> None:
    """The end of a computation is as SimGrid computes it, not as start + flops / speed."""
    platform = Platform([Host("a", (speed,))])
    assert ends(platform, [Start(1 / 3, [0], [flops], [])]) == [1 / 3 + 1 / (speed / flops)]


def test_random_mixes_as_measured(shared: Path, ref_cluster: Platform) -> None:
    """Twenty mixes of up to twelve jobs that share hosts, links and the backbone, or only this."""
    cases = (shared / "oracles" / "simgrid_l07" / "cases.jsonl").read_text().splitlines()
    assert len(cases) == 20
    for line in cases:
        jobs = sorted(json.loads(line)["jobs"], key=lambda job: job["start"])
        changes: list[Change] = [
            Start(job["start"], job["hosts"], job["flops"], job["bytes"]) for job in jobs
        ]
        assert ends(ref_cluster, changes) == pytest.approx(
            [job["finish"] for job in jobs], abs=1e-9
        )


@pytest.mark.parametrize(
    ("run", "platform", "storage", "duration"),
    [
        ("16_storage_mapping_pfs", "small_platform_pfs0.xml", "hosts_pfs0", 0.417565),
        ("16b_storage_role_small", "small_platform.xml", "Jupiter", 0.835644),
    ],
)
def test_storages_of_a_real_batsim(
    shared: Path, run: str, platform: str, storage: str, duration: float
) -> None:
    """Each of two executors reads 1 MB from a storage and writes 2 MB to it."""
    path = shared / "batsim_transcripts" / run / platform
    read = read_platform(path, roles={storage: "storage"})
    sent = [0, 0, 2e6, 0, 0, 2e6, 1e6, 1e6, 0]
    (end,) = ends(read, [Start(0.0, [0, 1, len(read.hosts)], [0, 0, 0], sent)])
    assert end == pytest.approx(duration, abs=0.6e-6)


def test_state_of_a_task(ref_cluster: Platform) -> None:
    """All is left during the latency; then it shrinks evenly; a cancelled task keeps the rest."""
    running = ParallelTasks(ref_cluster)
    task = running.start(0.0, [0, 1], [2e9, 1e9], 1e6)
    assert running.find_next_time() == pytest.approx(6e-4)
    assert running.remaining(task, 5e-4) == 1
    assert running.load(0) == 0
    assert running.advance(running.find_next_time()) == []
    assert running.load(0) == 1
    assert running.load(1) == 0.5
    assert running.remaining(task, 1.0006) == pytest.approx(0.5)
    running.cancel(task, 1.0006)
    assert running.load(0) == 0
    assert running.remaining(task, 3.0) == pytest.approx(0.5)
    assert running.find_next_time() == inf
    running.cancel(task, 2.0)
    assert task.end == 1.0006


def test_a_host_without_speed_waits_for_it() -> None:
    running = ParallelTasks(make_homogeneous(1))
    task = running.start(0.0, [0], [1e9])
    running.set_speed(0, 0.0, 0.5)
    assert running.find_next_time() == inf
    running.set_speed(0, 1e9, 10.0)
    assert running.advance(running.find_next_time()) == [task]
    assert task.end == pytest.approx(10.5)


def test_dates_within_a_nanosecond_are_one() -> None:
    running = ParallelTasks(make_homogeneous(3))
    late = running.start(0.0, [0], [1e9 + 0.5])
    early = running.start(0.0, [1], [1e9])
    other = running.start(0.0, [2], [1e9 + 5])
    assert running.advance(1.0) == [late, early]
    assert late.end == early.end == 1.0
    assert running.advance(running.find_next_time()) == [other]


def test_a_network_without_routes_matters_to_messages_only() -> None:
    platform = Platform(make_homogeneous(2).hosts, [], Network(problem="no routes here"))
    running = ParallelTasks(platform)
    assert running.start(0.0, [0, 1], [1e9, 1e9], 0.0).end is None
    assert running.start(0.0, [0, 1], [1e9, 1e9], [5.0 * 0] * 4).end is None
    with pytest.raises(PlatformError, match="no routes here"):
        running.start(0.0, [0, 1], [1e9, 1e9], 1.0)


# Against the twin --------------------------------------------------------------------------------

NB = 5


def full(latency: float) -> Platform:
    """Hosts in a row: a message crosses all links in between, forth and back."""
    links = [Link(f"l{i}", (1e8, 3e7, 2e8, 1e8)[i], latency, i == 2) for i in range(NB - 1)]
    links.append(Link("loopback", 5e8, latency, True))
    hops = {}
    for i in range(NB):
        for j in range(NB):
            way = tuple(range(min(i, j), max(i, j))) or (NB - 1,)
            hops[f"h{i}", f"h{j}"] = Hop(way, latency * len(way))
    zones: dict[str, Zone] = {"z": FullZone("z", None, hops)}
    hosts = [Host(f"h{i}", (1e9,)) for i in range(NB)]
    return Platform(hosts, [], Network(links, zones, {host.name: "z" for host in hosts}))


latencies = st.sampled_from([0.0, 1e-4, 0.3])
platforms = st.one_of(
    stars(latencies),
    st.builds(full, latencies),
)
amounts = st.sampled_from([0.0, 0.0, 1e6, 3.3e7, 1e8, 2e8])
work = st.sampled_from([0.0, 1e8, 7.7e8, 1e9, 3e9])
times = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.25, 5.5]) | st.floats(0, 10)


@st.composite
def starts(draw: st.DrawFn) -> Start:
    hosts = draw(st.lists(st.integers(0, NB - 1), min_size=1, max_size=4))
    flops = [draw(work) for _ in hosts]
    bytes_ = [draw(amounts) for _ in range(len(hosts) ** 2)]
    return Start(draw(times), hosts, flops, bytes_)


changes = st.lists(
    st.one_of(
        starts(),
        starts(),
        starts(),
        st.builds(Cancel, times, st.integers(0, 7)),
        st.builds(Speed, times, st.integers(0, NB - 1), st.sampled_from([5e8, 1e9, 3e9])),
    ),
    max_size=10,
).map(lambda drawn: sorted(drawn, key=lambda change: change.time))


@given(platforms, changes)
def test_as_the_slow_twin(platform: Platform, changes: list[Change]) -> None:
    ours, twins = ends(platform, changes), Twin(platform).ends(changes)
    assert ours == pytest.approx(twins, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize(
    ("bound", "other"),
    [(0.499, 0.501), (0.49998, 0.50002), (0.499996, 0.5), (0.5, 0.5)],
)
def test_a_resource_with_less_than_a_hundred_thousandth_left_is_closed(
    bound: float, other: float
) -> None:
    """Of two tasks on one resource, one cannot use its half; the other gets what is left of it."""
    nothing = (inf, 1.0)
    tasks = [RateLimits(bound, nothing), RateLimits(inf, nothing)]
    rates = FairBottleneck(tasks, [(1.0, [Use(0, 1.0), Use(1, 1.0)])]).find_rates()
    assert rates == pytest.approx([bound, other], rel=1e-12)
