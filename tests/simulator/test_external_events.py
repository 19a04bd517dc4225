"""Machines that fail and come back, and events that are only handed on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import InputError, ProtocolError
from batsched_py.simulator.engine import Options, Outcome
from batsched_py.simulator.external_events import ExternalEvent, read_events
from helpers.scripted_schedulers import (
    Make,
    Timetable,
    compute,
    delay,
    ends,
    execute,
    job,
    simulate,
    workload,
)


def line(kind: str, time: float, machines: str = "0") -> str:
    return f'{{"type":"machine_{kind}","resources":"{machines}","timestamp":{time}}}\n'


def gone(time: float, machines: str = "0") -> str:
    return line("unavailable", time, machines)


def back(time: float, machines: str = "0") -> str:
    return line("available", time, machines)


def read(folder: Path, *texts: str, forward: bool = False) -> list[ExternalEvent]:
    """Read files called 0, 1, ... of events for four machines."""
    paths = [folder / str(number) for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode(errors="surrogateescape"))
    return read_events(paths, 4, forward_unknown=forward)


# Files --------------------------------------------------------------------------------------------

ORDERS: dict[str, tuple[list[str], list[tuple[float, str]]]] = {
    "in order of time, not of lines": (
        ["\n  \r\n" + gone(5) + gone(2, "1") + gone(3, "2") + gone(3, "3")],
        [(2, "0:4"), (3, "0:5"), (3, "0:6"), (5, "0:3")],
    ),
    "of several files together": (
        [gone(1) + gone(5, "1"), back(3)],
        [(1, "0:1"), (3, "1:1"), (5, "0:2")],
    ),
}


@pytest.mark.parametrize("sentence", ORDERS)
def test_order(sentence: str, tmp_path: Path) -> None:
    texts, expected = ORDERS[sentence]
    events = read(tmp_path, *texts)
    assert [(event.time, Path(event.where).name) for event in events] == expected


MALFORMED: dict[str, tuple[str, str]] = {
    "no JSON": ("{", "0:1: not JSON"),
    "the second line": (gone(1) + "what\n", "0:2: not JSON"),
    "before the beginning": (gone(-1), "0:1: timestamp = -1"),
    "no type": ('{"timestamp":1}', "0:1: there is no type: expected a text"),
    "machines that do not exist": (
        gone(1, "3-4"),
        "0:1: resources '3-4', expected machines from 0 to 3",
    ),
    "unavailable twice": (gone(1, "0-1") + gone(2, "1-2"), "0:2: '1' is unavailable already"),
    "available from the beginning": (back(1, "2"), "0:1: '2' is available already"),
    "machines with commas": (gone(1, "0,1"), "0:1: resources: '0,1' is not a set"),
}


@pytest.mark.parametrize("sentence", MALFORMED)
def test_malformed(sentence: str, tmp_path: Path) -> None:
    text, message = MALFORMED[sentence]
    with pytest.raises(InputError, match=f"^{tmp_path}/{message}"):
        read(tmp_path, text)


# Runs ---------------------------------------------------------------------------------------------

PROFILES = {"wait": delay(4), "four": compute(4)}


def run(
    plan: dict[float, list[Make]], events: list[ExternalEvent] | None, *names: str, **options: Any
) -> tuple[Timetable, Outcome]:
    scheduler = Timetable(plan)
    load = workload(PROFILES, *(job(name, name.rstrip("0123")) for name in names))
    return scheduler, simulate(scheduler, load, Options(**options), events=events)


RUNS: dict[str, tuple[str, dict[float, list[Make]], dict[str, tuple[str, float]]]] = {
    "a machine is lost before its job ends, and free when it is back after that": (
        gone(1, "0-1") + back(6, "0-1"),
        {0: [execute("w0!four1", "0")], 6: [execute("w0!four2", "0")]},
        {"four1": ("SUCCESSFULLY", 4), "four2": ("SUCCESSFULLY", 10)},
    ),
    "back while its job still runs, it is free after its end": (
        gone(1) + back(2),
        {0: [execute("w0!wait1", "0")], 4: [execute("w0!wait2", "0")]},
        {"wait1": ("SUCCESSFULLY", 4), "wait2": ("SUCCESSFULLY", 8)},
    ),
    "free again at the instant it is back": (
        gone(2) + back(3) + gone(3) + back(3),
        {3: [execute("w0!wait", "0")]},
        {"wait": ("SUCCESSFULLY", 7)},
    ),
}


@pytest.mark.parametrize("sharing", [False, True])
@pytest.mark.parametrize("sentence", RUNS)
def test_running_jobs_survive(sentence: str, sharing: bool, tmp_path: Path) -> None:
    text, plan, expected = RUNS[sentence]
    _, outcome = run(plan, read(tmp_path, text), *expected, compute_sharing=sharing)
    assert ends(outcome) == expected


def test_no_job_starts_at_the_instant_it_is_gone(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match="machine 0 is unavailable"):
        run({2: [execute("w0!wait", "0")]}, read(tmp_path, gone(2)), "wait")
