"""What several targets begin with: a few jobs, a machine, a simulation of them."""

from __future__ import annotations

from functools import cache

import msgspec

from batsched_py.decision_process import DecisionProcess
from batsched_py.options.budgets import Budgets
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.schedulers.easy import Easy
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob, workload
from batsched_py.workload import Workload
from batsched_users.models.feedback import ThinkTimeFeedback

BUDGETS = Budgets(messages=2000, decisions=2000, jobs=200, jobs_at_once=200)
"""Enough for what ends."""


def jobs() -> Workload:
    """Return six jobs of two users, on a machine of four processors."""
    return workload(
        [
            DrawnJob(0, 2, 10, 20, user="a", finish=10),
            DrawnJob(1, 4, 5, 5, user="b", finish=15),
            DrawnJob(1.5, 1, 2, None, user="a", finish=3.5),
            DrawnJob(20, 3, 7, 3, user="b", finish=27),
            DrawnJob(40, 9, 1, 1, user="a", finish=41),
            DrawnJob(60, 1, 0, 1, user="b", finish=60),
        ],
        4,
    )


def process(*, users: bool = False) -> DecisionProcess:
    """Return EASY, with users who react or without."""
    model = ThinkTimeFeedback(jobs(), sessions="arrival:0") if users else None
    return DecisionProcess(Easy(), model, six_decimals=True, budgets=BUDGETS)


@cache
def exchange(*, users: bool = False) -> list[tuple[bytes, bytes]]:
    """Return the messages of a simulation, each with its reply."""
    options = Options(dynamic_jobs=users, profile_reuse=users)
    simulator = Simulator(make_homogeneous(4), [] if users else [jobs()], options)
    answer = process(users=users).answer
    said: list[tuple[bytes, bytes]] = []

    def partner(message: m.Message) -> m.Message:
        reply = answer(message)
        said.append((codec.encode_events(message), codec.encode_decisions(reply)))
        return reply

    simulator.run(partner)
    return said


def lines(raws: list[bytes]) -> bytes:
    """Return messages, one a line."""
    return b"".join(raw + b"\n" for raw in raws)


def recording(turns: list[tuple[bytes, bytes]]) -> bytes:
    """Return what `--record` writes."""
    said = [raw.decode() for turn in turns for raw in turn]
    sides = ("batsim", "sched")
    return lines(
        [
            msgspec.json.encode({"n": n, "from": sides[n % 2], "raw": raw})
            for n, raw in enumerate(said)
        ]
    )
