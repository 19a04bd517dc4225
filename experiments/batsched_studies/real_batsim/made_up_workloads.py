"""Workloads with jobs that communicate, fail, send messages, or have partitions."""

from __future__ import annotations

import random
from typing import Any

from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.log_archive import SAMPLE, find_log
from batsched_py.workload.machine_description import PARTITION

PARTITIONS = "day", "all", "whole", "day", "alone"
GIGA = 1e9
"""The flops of a second on the hosts of our platforms."""
Profile = dict[str, Any]


def make_mixed(kinds: list[str], *, widest: int = 8) -> Workload:
    """Return a workload of 200 jobs that have the ``kinds`` of profiles in turn.

    Gaps are drawn with a mean of 200 s, sizes up to ``widest``; work is of 1 to 1000 s.
    All times have three decimals, so that hardly anything happens at the same instant. Each
    seventh job is killed by its walltime.
    """
    chance = random.Random(f"{kinds} 1")
    profiles: dict[str, Profile] = {}
    made: list[WorkloadJob] = []
    now = 0.0
    for number in range(1, 201):
        now = round(now + chance.expovariate(1 / 200), 3)
        size = chance.randint(1, widest)
        seconds = round(10 ** chance.uniform(0, 3), 3)
        profiles |= _profiles(f"p{number}", kinds[number % len(kinds)], size, seconds, chance)
        walltime = round(seconds / 3, 3) if number % 7 == 0 else 20 * seconds
        made.append(
            WorkloadJob(
                id=str(number), submit_time=now, size=size, profile=f"p{number}", walltime=walltime
            )
        )
    name = f"made up: {', '.join(kinds)}"
    return Workload(name=name, nb_res=widest, jobs=made, profiles=profiles)


def put_in_partitions() -> Workload:
    """Return 600 jobs of the sample log, put in :data:`PARTITIONS` in turn if they fit."""
    workload = load_workload(find_log(SAMPLE), Rules(first=600))
    for number, job in enumerate(workload.jobs):
        name = PARTITIONS[number % len(PARTITIONS)]
        job.extra = {**job.extra, PARTITION: "day" if name == "alone" and job.size > 4 else name}
    return workload


def _profiles(
    name: str, kind: str, size: int, seconds: float, chance: random.Random
) -> dict[str, Profile]:
    """Return the profile ``name`` and its parts; alone on its hosts it takes about ``seconds``."""
    flops = seconds * GIGA
    traffic = seconds * 1e7
    """Bytes between two hosts."""
    match kind:
        case "delay":
            return {name: {"type": "delay", "delay": seconds}}
        case "failing":
            return {name: {"type": "delay", "delay": seconds, "ret": 3}}
        case "compute":
            return {name: {"type": "parallel_homogeneous", "cpu": flops, "com": 0}}
        case "uneven":
            cpu = [flops * chance.uniform(0.2, 1) for _ in range(size)]
            return {name: {"type": "parallel", "cpu": cpu, "com": [0.0] * size**2}}
        case "total":
            total = {"type": "parallel_homogeneous_total", "cpu": flops * size, "com": 0}
            return {name: total}
        case "communicating":
            return {name: {"type": "parallel_homogeneous", "cpu": flops / 2, "com": traffic}}
        case "matrix":
            com = [traffic * chance.random() for _ in range(size**2)]
            return {name: {"type": "parallel", "cpu": [flops / 2] * size, "com": com}}
        case "composed":
            first, second = (f"{name}{part}" for part in "ab")
            return {
                first: {"type": "delay", "delay": round(seconds / 10, 3)},
                second: {"type": "parallel_homogeneous", "cpu": flops / 5, "com": 0},
                name: {"type": "composed", "repeat": 3, "seq": [first, second]},
            }
        case "talking":
            return _talking(name, seconds)
    raise ValueError(kind)


def _talking(name: str, seconds: float) -> dict[str, Profile]:
    """Return a job that sends a message, works if the reply allows it, and ends."""
    say, hear, work, leave = (f"{name}{part}" for part in ("say", "hear", "work", "leave"))
    return {
        say: {"type": "send", "msg": {"asks": name}, "sleeptime": 0.5},
        hear: {"type": "recv", "regex": "go", "success": work, "failure": leave, "polltime": 0.125},
        work: {"type": "delay", "delay": seconds},
        leave: {"type": "delay", "delay": 0.25},
        # Batsim drops profiles that only a recv names.
        name: {"type": "composed", "repeat": 1, "seq": [say, hear, work, leave]},
    }
