"""Machines that sleep, five schedules worked out by hand; times in seconds."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

WATTS = {"idle": 50, "busy": 120, "off": 60, "asleep": 5, "on": 80}
"""Of a processor in each state; "off" and "on": while it is being switched."""


class SleepingCase(NamedTuple):
    """What is simulated, and what is expected."""

    about: str
    policy: str
    idle_time: float
    keep: int
    seconds: list[tuple[float, float] | None]
    """To switch each processor off and on; None if it is always on."""
    jobs: list[tuple[str, float, int, float, float]]
    """Id, submission, size, run time and walltime."""
    runs: dict[str, tuple[float, float, tuple[int, ...]]]
    """Start, end and processors of each job."""
    switches: list[tuple[float, str, tuple[int, ...], float]]
    """When asked, to "off" or "on", for which processors, when done."""
    lives: list[str]
    """The states of each processor until the last end, each with its end."""
    joules: list[float]
    outages: tuple[tuple[float, float, int], ...] = ()
    """Begin, end and processor."""
    withdrawals: tuple[tuple[float, str], ...] = ()
    """Time and job."""


CASES = [
    SleepingCase(
        "Idle processors are switched off after 25 s, and only those that b needs are woken.",
        "fcfs",
        idle_time=25,
        keep=0,
        seconds=[(10, 40)] * 3,
        jobs=[("a", 0, 1, 35, 50), ("b", 200, 2, 20, 30)],
        runs={"a": (0, 35, (0,)), "b": (240, 260, (0, 1))},
        switches=[(25, "off", (1, 2), 35), (60, "off", (0,), 70), (200, "on", (0, 1), 240)],
        lives=[
            "busy 35, idle 60, off 70, asleep 200, on 240, busy 260",
            "idle 25, off 35, asleep 200, on 240, busy 260",
            "idle 25, off 35, asleep 260",
        ],
        joules=[12300, 8275, 2975],
    ),
    SleepingCase(
        "Unequal processors, of which 3 is always on and counts as the one that is kept.",
        "fcfs",
        idle_time=10,
        keep=1,
        seconds=[(10, 40), (10, 40), (4, 20), None],
        jobs=[("a", 0, 1, 30, 40), ("b", 100, 4, 10, 10)],
        runs={"a": (0, 30, (0,)), "b": (140, 150, (0, 1, 2, 3))},
        switches=[
            (10, "off", (1,), 20),
            (10, "off", (2,), 14),
            (40, "off", (0,), 50),
            (100, "on", (0, 1), 140),
            (100, "on", (2,), 120),
        ],
        lives=[
            "busy 30, idle 40, off 50, asleep 100, on 140, busy 150",
            "idle 10, off 20, asleep 100, on 140, busy 150",
            "idle 10, off 14, asleep 100, on 120, idle 140, busy 150",
            "idle 140, busy 150",
        ],
        joules=[9350, 5900, 4970, 8200],
    ),
    SleepingCase(
        "EASY: b waits for a's end, which comes before 1 would be on. c is bound when b ends.",
        "easy",
        idle_time=15,
        keep=0,
        seconds=[(10, 40)] * 2,
        jobs=[("a", 0, 1, 60, 60), ("b", 50, 1, 20, 20), ("c", 65, 2, 10, 10)],
        runs={"a": (0, 60, (0,)), "b": (60, 80, (0,)), "c": (105, 115, (0, 1))},
        switches=[(15, "off", (1,), 25), (65, "on", (1,), 105)],
        lives=["busy 80, idle 105, busy 115", "idle 15, off 25, asleep 65, on 105, busy 115"],
        joules=[12050, 5950],
    ),
    SleepingCase(
        "b is bound to 1 and 2 while these are switched off. 2 breaks, so b is put back.",
        "fcfs",
        idle_time=20,
        keep=0,
        seconds=[(10, 30)] * 3,
        jobs=[("a", 0, 1, 100, 100), ("b", 25, 2, 10, 20)],
        runs={"a": (0, 100, (0,)), "b": (90, 100, (1, 2))},
        switches=[(20, "off", (1, 2), 30), (30, "on", (1, 2), 60)],
        lives=[
            "busy 100",
            "idle 20, off 30, on 60, idle 90, busy 100",
            "idle 20, off 30, on 60, idle 90, busy 100",
        ],
        joules=[12000, 6700, 6700],
        outages=((40, 90, 2),),
    ),
    SleepingCase(
        "EASY: c is bound to the extra node, d to what is woken for the head b. c is withdrawn.",
        "easy",
        idle_time=10,
        keep=0,
        seconds=[(10, 40)] * 4,
        jobs=[
            ("a", 0, 2, 200, 200),
            ("b", 50, 3, 10, 10),
            ("c", 60, 1, 30, 150),
            ("d", 70, 1, 20, 20),
        ],
        runs={
            "a": (0, 200, (0, 1)),
            "b": (200, 210, (0, 1, 3)),
            "c": (inf, inf, ()),
            "d": (100, 120, (3,)),
        },
        switches=[
            (10, "off", (2, 3), 20),
            (50, "on", (2,), 90),
            (60, "on", (3,), 100),
            (100, "off", (2,), 110),
        ],
        lives=[
            "busy 210",
            "busy 210",
            "idle 10, off 20, asleep 50, on 90, idle 100, off 110, asleep 210",
            "idle 10, off 20, asleep 60, on 100, busy 120, idle 200, busy 210",
        ],
        joules=[25200, 25200, 6050, 12100],
        withdrawals=((80, "c"),),
    ),
]
