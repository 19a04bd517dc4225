"""Small schedules for tests: jobs as tuples in, start times out."""

from __future__ import annotations

from typing import Any, NamedTuple

from batsched_py.decision_process import DecisionProcess
from batsched_py.model.decisions import Scheduler
from batsched_py.model.user_model import UserModel
from batsched_py.simulator.engine import Options, Outcome, Simulator
from batsched_py.simulator.platform.platform import homogeneous
from batsched_py.workload import Workload, WorkloadJob


class J(NamedTuple):
    """A job: submission, size, run time, and walltime (default: the run time; None: no limit)."""

    submit: float
    size: int
    run: float
    walltime: float | None = -1
    user: str | None = None
    finish: float | None = None


def workload(jobs: list[J], nb_res: int, profile: str = "parallel_homogeneous") -> Workload:
    """Return the jobs as a workload; their ids are 0, 1, ... in the order given."""
    made, profiles = [], {}
    for number, job in enumerate(jobs):
        name = f"r{job.run}"
        content: dict[str, Any] = {"type": profile, "delay": job.run}
        if profile != "delay" or not job.run:
            content = {"type": "parallel_homogeneous", "cpu": job.run * 1e9, "com": 0}
        profiles[name] = content
        walltime = job.run if job.walltime == -1 else job.walltime
        made.append(
            WorkloadJob(
                id=f"{number:04d}",
                submit_time=job.submit,
                size=job.size,
                profile=name,
                walltime=walltime or None,
                user=job.user,
                finish_time=job.finish,
            )
        )
    return Workload(name="test", nb_res=nb_res, jobs=made, profiles=profiles)


def run(
    load: Workload,
    scheduler: Scheduler,
    users: UserModel | None = None,
    speed: float = 1.0,
    shake: int | None = None,
) -> Outcome:
    """Simulate ``load`` on its machine."""
    options = Options(dynamic_jobs=users is not None, profile_reuse=True, shake=shake)
    static = [load] if users is None else []
    simulator = Simulator(homogeneous(load.nb_res, speed), static, options)
    return simulator.run(DecisionProcess(scheduler, users).answer)


def starts(outcome: Outcome) -> list[float | None]:
    """Return the start times in the order of the job ids, None for a rejected job."""
    ended = sorted(outcome.jobs, key=lambda job: job.description.id)
    return [None if job.final_state == "REJECTED" else job.start_time for job in ended]
