"""Jobs that processors are woken for, explained: four processors, off in 20 s and on in 50 s."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from batsched_py import Decision, Easy, Fcfs, Kill, Machine, Scheduler, WaitingQueue
from batsched_py.decision_process import DecisionProcess
from batsched_py.explain.gantt import draw_job
from batsched_py.explain.job_watch import Ended, Watch
from batsched_py.explain.replayed_exchange import read_turns, replay
from batsched_py.explain.waiting_lines import Explanation, explain_job
from batsched_py.explain.wording import describe
from batsched_py.figures.chart_files import render_chart
from batsched_py.processors.sets import ProcessorSet
from batsched_py.schedulers.shutdown.rules import make_rule
from batsched_py.schedulers.shutdown.settings import Shutdown
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.external_events import ExternalEvent
from batsched_py.simulator.platform.hosts import add_pstates, make_homogeneous
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.transport.recording import Recorder, record_messages
from helpers.powers import groups_of

POWER = groups_of([(20, 50)] * 4)


def process_of(policy: Scheduler, idle_time: float) -> DecisionProcess:
    return DecisionProcess(policy, power=POWER, shutdown=make_rule(Shutdown(idle_time=idle_time)))


def watch(
    folder: Path,
    jobs: list[J],
    policy: type[Scheduler],
    number: int,
    idle_time: float = 30,
    events: list[ExternalEvent] | None = None,
) -> Watch:
    """Record a run of the jobs, and watch one of them in its replay."""
    exchange, platform = folder / "x.jsonl", add_pstates(make_homogeneous(4), POWER)
    load, options = [workload(jobs, 4)], Options(switching=True)
    simulator = Simulator(platform, load, options, events)
    with Recorder(exchange) as recorder:
        simulator.run(record_messages(process_of(policy(), idle_time).answer, recorder))
    again = policy()
    watched = Watch(f"w0!{number:04d}", again, 0.05)
    replay(read_turns(exchange), process_of(again, idle_time), watched)
    return watched


def explain(watched: Watch) -> Explanation:
    return explain_job(watched, type(watched.policy).__name__.lower(), 30)


def account(found: Explanation) -> list[str]:
    return list(describe(found))


# a runs on 0 and 1 until 60; all sleep when b comes at 300
WOKEN = [J(0, 2, 60), J(300, 3, 40)]


def test_a_job_is_bound_to_sleepers(tmp_path: Path) -> None:
    watched = watch(tmp_path, WOKEN, Fcfs, 1)
    found = explain(watched)
    assert (found.start, found.waited, found.held) == (350, 50, [])
    first, second = account(found)
    assert "started at t=350 (00:05:50), waited 50 s" in first
    assert second == (
        "bound to 0-2 at t=300 (00:05:00), waking until t=350 (00:05:50): at once, 3 processors "
        "needed, 4 free"
    )
    chart = draw_job(watched, 0.05)
    sleep = chart.layer[0].data
    assert set(sleep["state"]) == {"asleep", "being switched"}
    assert b"asleep" in render_chart("svg", chart.to_dict())


def test_jobs_that_are_bound_at_the_same_instant(tmp_path: Path) -> None:
    """c is bound too, and d, which comes while b's processors are woken, must wait for 3."""
    jobs = [*WOKEN, J(300, 1, 20), J(310, 1, 20)]
    for number, free in ((1, 4), (2, 4), (3, 1)):
        found = explain(watch(tmp_path, jobs, Fcfs, number))
        assert found.started is not None
        assert found.started.waking_until == (350 if number < 3 else None)
        others = {1: ["w0!0002"], 2: ["w0!0001"], 3: []}[number]
        assert (found.started.together_with, found.started.free) == (others, free)
    assert [(line.begin, line.end) for line in found.held] == [(310, 370)]
    assert found.started.happened.ended == [Ended("w0!0002", 1, 0.0)]


def test_a_job_that_lost_a_processor_before_it_was_awake(tmp_path: Path) -> None:
    """1 fails at 310, so that b gets 3, which is awake at 360."""
    fails = ExternalEvent(310.0, "line 1", ProcessorSet.of([1]), False)
    found = explain(watch(tmp_path, WOKEN, Fcfs, 1, events=[fails]))
    assert found.started is not None
    assert (found.started.time, found.started.waking_until, found.start) == (310, 360, 360)
    assert (found.processors, found.waited) == ("0 2-3", 60)
    assert found.started.happened.machine_changed
    back = ExternalEvent(320.0, "line 2", ProcessorSet.of([1]), True)
    wide = [WOKEN[0], J(300, 4, 40)]
    found = explain(watch(tmp_path, wide, Fcfs, 1, events=[fails, back]))
    assert [(line.begin, line.end) for line in found.held] == [(310, 320)]
    assert found.started is not None
    assert (found.started.time, found.started.waking_until, found.start) == (320, 350, 350)


class Regretful(Fcfs):
    """First come, first served; kills what does not run yet when it is called again."""

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        yield from (Kill(job) for job in machine.releases() if job.start_time > now)
        yield from super().schedule(now, queue, machine)


def test_a_job_that_never_ran_since_it_was_killed_while_processors_woke(tmp_path: Path) -> None:
    found = explain(watch(tmp_path, [*WOKEN, J(310, 1, 20)], Regretful, 1))
    assert (found.state, found.start, found.waited) == ("REJECTED", None, 10)
    _, ended, bound = account(found)
    assert ended == "regretful ended it while its processors were being woken"
    assert bound.startswith("bound to 0-2 at t=300")


def test_easy_waits_where_that_is_sooner_than_to_wake(tmp_path: Path) -> None:
    """b could begin at 150 on sleepers, but at 130 on those of a."""
    head = explain(watch(tmp_path, [J(0, 2, 130), J(100, 2, 50)], Easy, 1))
    assert head.held[0].needs_end_of == ["w0!0000"]
    assert account(head)[2:] == [
        "  from t=100 (00:01:40) to t=130 (00:02:10) (1 decision): 2 processors needed, 2 free; "
        "head of the queue, reservation at t=130 (00:02:10), when w0!0000 should have ended; "
        "waiting is sooner than waking processors",
        "started at t=130 (00:02:10) on processors 0-1: w0!0000 (2 processors) ended, which made "
        "4 free instead of 2",
    ]
