"""What agents see, against plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, log1p
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batsched_py import Decision, Job, Machine, WaitingQueue
from batsched_py.environments import JOB_FEATURES, Encoder, SchedulingEnv
from batsched_py.model.queue.orders import find_order
from batsched_py.schedulers.easy import Easy, shadow_time_and_extra_nodes
from batsched_py.units import MONTH
from helpers.agents import encoders
from helpers.logs import swf_line, swf_text
from together import checks
from together.worlds import World, worlds


def scale(seconds: float) -> float:
    return log1p(seconds) / log1p(MONTH)


def describe(job: Job, now: float, machine: Machine, reserved: tuple[Job, float, int]) -> Any:
    """Return the features of a job by name, as their description says."""
    first, shadow_time, extra_nodes = reserved
    nb, wait = machine.nb_processors, max(now - job.submit_time, 0.0)
    fits = job.size <= machine.free
    in_time = now + job.estimate <= shadow_time or job.size <= extra_nodes
    return {
        "log_estimate": scale(job.estimate),
        "size": job.size / nb,
        "log_wait": scale(wait),
        "fits": fits,
        "may_backfill": fits and in_time,
        "is_first": job is first,
        "exists": 1,
        "log_size": log1p(job.size) / log1p(nb),
        "log_slowdown": scale(wait / max(job.estimate, 10)),
        "log_area": scale(job.estimate) * log1p(job.size) / log1p(nb),
    }


def arrange(encoder: Encoder, now: float, queue: WaitingQueue) -> list[Job]:
    """Return the jobs of the window."""
    jobs, most = list(queue), encoder.window
    if encoder.arrangement == "ends" and len(jobs) > most:
        return jobs[: most - most // 2] + jobs[len(jobs) - most // 2 :]
    if encoder.arrangement not in ("submission", "ends"):
        jobs = list(find_order(encoder.arrangement).at(now, queue))
    return jobs[:most]


def check(
    encoder: Encoder, now: float, queue: WaitingQueue, machine: Machine, reserved: Any = None
) -> None:
    """Compare what is seen with plain Python; values are cut off at 1."""
    seen = encoder.encode(encoder.look(now, queue, machine, reserved), np.ones(3, bool))
    if reserved is None:
        first = next(iter(queue))
        reserved = first, now, machine.free - first.size
        if first.size > machine.free:
            reserved = first, *shadow_time_and_extra_nodes(first, machine)
    rows = [describe(job, now, machine, reserved) for job in arrange(encoder, now, queue)]
    jobs = np.zeros(encoder.shape)
    jobs[: len(rows)] = [[min(row[name], 1) for name in encoder.features] for row in rows]
    of_machine = {
        "free": machine.free / machine.nb_processors,
        "queue_length": log1p(len(list(queue))) / log1p(10_000),
        "time_to_shadow": scale(max(reserved[1] - now, 0)),
        "extra_nodes": reserved[2] / machine.nb_processors,
    }
    assert seen.jobs == pytest.approx(jobs, rel=1e-6)
    expected = [min(of_machine[name], 1) for name in encoder.machine_features]
    assert seen.machine.tolist() == pytest.approx(expected, rel=1e-6)
    assert (seen.jobs.dtype, seen.machine.dtype) == (np.float32, np.float32)
    for array in (seen.jobs, seen.machine):
        assert ((array >= 0) & (array <= 1)).all()  # so all are finite


TIMES = [0.0, 1e-9, 1.0, 3600.0, 1e7, 1e10, inf]


@given(st.data(), encoders(), st.sampled_from([1, 9]), st.sampled_from(TIMES[:-1]))
def test_any_queue(data: st.DataObject, encoder: Encoder, nb: int, now: float) -> None:
    machine, queue = Machine(nb), WaitingQueue()
    shape = st.tuples(st.integers(1, nb), st.sampled_from(TIMES))
    for number, (size, estimate) in enumerate(data.draw(st.lists(shape, min_size=1, max_size=12))):
        submit = data.draw(st.sampled_from([0.0, now / 2, now]))
        queue.append(Job(f"w0!{number}", number, size, None, estimate, submit, {}))
        if len(queue) > 1 and data.draw(st.integers(0, 4)) == 0:
            queue.remove(data.draw(st.sampled_from(list(queue))))
    shadow_time = data.draw(st.sampled_from([-inf, 0.0, now, now + 5.0, inf]))
    first, extra = data.draw(st.sampled_from(list(queue))), data.draw(st.integers(0, nb))
    check(encoder, now, queue, machine, (first, shadow_time, extra))


@settings(
    max_examples=max(8, settings().max_examples // 4), suppress_health_check=list(HealthCheck)
)
@given(worlds(policy="easy"), encoders())
def test_all_that_a_policy_meets(world: World, encoder: Encoder) -> None:
    """On machines with outages, partitions and sleeping processors."""

    class Looks(Easy):
        def schedule(self, now: float, queue: Any, machine: Any) -> Iterator[Decision]:
            if len(queue):
                check(encoder, now, queue, machine)
            yield from super().schedule(now, queue, machine)

    checks.simulate(world, scheduler=Looks)


def test_run_times_are_not_seen(tmp_path: Path) -> None:
    """Two jobs run, a wide and two narrow ones wait: run times change nothing of what is seen."""
    seen, sizes = [], (2, 1, 4, 1, 1)
    for run_times in ((50, 40, 30, 20, 10), (60, 1, 60, 1, 9)):
        shapes = enumerate(zip(run_times, sizes, strict=True), 1)
        jobs = [swf_line(number, 0, run, size) for number, (run, size) in shapes]
        (tmp_path / "log.swf").write_text(swf_text(*jobs))
        settings = {"log": str(tmp_path / "log.swf"), "jobs": 5, "walltime": "requested"}
        env = SchedulingEnv(**settings, window=3, features=tuple(JOB_FEATURES))
        seen.append({name: array.tolist() for name, array in env.reset()[0].items()})
        env.close()
    assert seen[0] == seen[1]
    assert seen[0]["jobs"][0][0] == pytest.approx(scale(60))
