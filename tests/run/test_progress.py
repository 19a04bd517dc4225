"""The line that a long simulation shows."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Iterator
from functools import partial

import pytest

from batsched_py.decision_process import DecisionProcess
from batsched_py.model.decisions import Decision
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.run import progress
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.engine import Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Slow(Fcfs):
    """Its last pass takes a while."""

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        yield from super().schedule(now, queue, machine)
        if now == 172_800:
            time.sleep(0.3)


def shown(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, asked: bool | None, nb_jobs: int | None
) -> str:
    """Return what is written to ``stream`` as standard error meanwhile."""
    monkeypatch.setattr(sys, "stderr", stream)
    process = DecisionProcess(Slow())
    jobs = [J(0, 3, 86_400), J(0, 1, 200_000), J(172_800, 4, 5), J(172_800, 4, 5)]
    monkeypatch.setenv("COLUMNS", "100")
    with progress.show_progress(partial(progress.describe_progress, process, nb_jobs), asked):
        Simulator(make_homogeneous(4), [workload(jobs, 4)]).run(process.answer)
    return stream.getvalue()


def test_a_line_in_place_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LOOK", 0.01)
    monkeypatch.setattr(progress, "_PATIENCE", 0.05)
    assert shown(monkeypatch, Terminal(), False, 4) == ""
    text = shown(monkeypatch, Terminal(), None, 4)
    assert "\n" not in text
    lines = {line.rstrip() for line in text.split("\r")}
    counts = "1 of 4 jobs ended, 1 run, 2 wait, 3 calls of the policy"
    assert f"0 s: simulated 2.0 days, {counts}" in lines
    assert re.fullmatch(r".*\r +\r", text)  # nothing of it is left
