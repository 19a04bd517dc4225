"""Schedulers that do as they are told, for tests of the embedded simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from batsched_py.protocol import messages as m
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.external_events import ExternalEvent
from batsched_py.simulator.platform.hosts import Platform, make_homogeneous
from batsched_py.workload import Workload, WorkloadJob
from helpers.processors import processors

Make = Callable[[float], m.Event]
"""Makes a decision, given the time."""
GIGA = 1e9
"""The flops of a second on the hosts of ``homogeneous``."""


class Script:
    """A scheduler that answers the n-th message with the n-th list of decisions."""

    def __init__(self, *replies: list[Make]) -> None:
        self.replies = list(replies)
        self.seen: list[m.Message] = []

    def __call__(self, message: m.Message) -> m.Message:
        self.seen.append(message)
        makers = self.replies.pop(0) if self.replies else []
        return m.Message(message.now, [make(message.now) for make in makers])


class Timetable:
    """A scheduler that decides at given times (seconds), for which it asks to be called.

    What it decides at 0 it does when it sees the static jobs, at once if there are none.
    """

    def __init__(self, plan: Mapping[float, Sequence[Make]]) -> None:
        self._plan = dict(plan)
        self.seen: list[m.Message] = []

    def __call__(self, message: m.Message) -> m.Message:
        self.seen.append(message)
        now, decisions = message.now, []
        first = message.events[0]
        if isinstance(first, m.SimulationBegins):
            decisions = [m.CallMeLater(timestamp=0.0, time=time) for time in self._plan if time]
            if first.workloads:
                return m.Message(now, decisions)
        for time in sorted(time for time in self._plan if time <= now):
            decisions += [make(now) for make in self._plan.pop(time)]
        return m.Message(now, decisions)

    def events(self, *kinds: type[m.Event]) -> list[Any]:
        """Return what it was told, only of these kinds."""
        return [e for message in self.seen for e in message.events if isinstance(e, kinds)]


def say(kind: type[m.Event], **fields: Any) -> Make:
    return lambda now: kind(timestamp=now, **fields)


def execute(job_id: str, alloc: str, **fields: Any) -> Make:
    return say(m.ExecuteJob, job_id=job_id, alloc=processors(alloc), **fields)


def kill(*job_ids: str) -> Make:
    return say(m.KillJob, job_ids=list(job_ids))


def tell(job_id: str, text: str) -> Make:
    return say(m.ToJobMsg, job_id=job_id, msg=text)


def switch(machines: str, state: str) -> Make:
    return say(m.SetResourceState, resources=processors(machines), state=state)


def register_profile(name: str, profile: dict[str, Any]) -> Make:
    """Register a profile of the workload ``dyn``."""
    return say(m.RegisterProfile, workload_name="dyn", profile_name=name, profile=profile)


def register_job(name: str, profile: str, walltime: float | None = None) -> Make:
    """Register a job of one processor in the workload ``dyn``."""
    description = m.JobDescription(f"dyn!{name}", 0.0, 1, profile, walltime)
    return say(m.RegisterJob, job_id=f"dyn!{name}", job=description)


FINISHED = say(m.Notify, type="registration_finished")
QUERY = say(m.Query, requests={"consumed_energy": {}})


def compute(seconds: float, **fields: Any) -> dict[str, Any]:
    """A profile that computes so long on hosts of 1 Gflop/s."""
    return {"type": "parallel_homogeneous", "cpu": seconds * GIGA, "com": 0, **fields}


def delay(seconds: float, **fields: Any) -> dict[str, Any]:
    return {"type": "delay", "delay": seconds, **fields}


def composed(*parts: str, **fields: Any) -> dict[str, Any]:
    return {"type": "composed", "seq": list(parts), **fields}


def job(name: str, profile: str, walltime: float | None = None, size: int = 1) -> WorkloadJob:
    """A job that is submitted at 0."""
    return WorkloadJob(id=name, submit_time=0.0, size=size, profile=profile, walltime=walltime)


def workload(profiles: Mapping[str, dict[str, Any]], *jobs: WorkloadJob) -> Workload:
    return Workload(name="test", nb_res=4, jobs=list(jobs), profiles=dict(profiles))


def simulate(
    scheduler: Callable[[m.Message], m.Message],
    load: Workload | None = None,
    options: Options | None = None,
    platform: Platform | None = None,
    events: Sequence[ExternalEvent] | None = None,
) -> Outcome:
    """Simulate on four hosts of 1 Gflop/s, or on ``platform``."""
    loads = [] if load is None else [load]
    return Simulator(platform or make_homogeneous(4), loads, options, events).run(scheduler)


def ends(outcome: Outcome) -> dict[str, tuple[str, float]]:
    """Return state (without COMPLETED) and end of each job by its name."""
    return {
        done.description.id.partition("!")[2]: (
            done.final_state.removeprefix("COMPLETED_"),
            done.finish_time,
        )
        for done in outcome.jobs
    }
