"""The reasons that policies give, on schedules that can be drawn by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from batsched_py import simulate
from batsched_py.errors import InputError, PluginError
from batsched_py.explain.job_watch import Ended
from batsched_py.explain.waiting_lines import Explanation, Line, explain_job
from batsched_py.explain.wording import describe
from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.policy import Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from helpers.calling import command
from helpers.explained import JOBS, record, watched
from helpers.grids import Row, grid_jobs, grid_workload
from helpers.withdrawing import Impatient

Maker = Callable[[], Scheduler]


def explained(path: Path, policy: Scheduler, job: str, most: int = 30) -> Explanation:
    """Explain a job of the exchange in ``path``."""
    return explain_job(watched(path, job, policy), type(policy).__name__.lower(), most)


def why(
    path: Path,
    jobs: list[J],
    nb: int,
    policy: Maker,
    number: int,
    more: dict[str, Any] | None = None,
) -> Explanation:
    load = workload(jobs, nb)
    for key, value in (more or {}).items():
        load.jobs[number].extra[key] = value
    record(path / "x.jsonl", load, policy())
    return explained(path / "x.jsonl", policy(), f"w0!{number:04d}")


def account(told: Explanation) -> str:
    return "\n".join(describe(told))


def short(line: Line) -> tuple[Any, ...]:
    """Return begin, end, decisions and reason."""
    return line.begin, line.end, line.decisions, line.why


def test_easy(tmp_path: Path) -> None:
    head = why(tmp_path, JOBS, 8, Easy, 1)
    (line,) = head.held
    assert short(line) == (10, 100, 6, "head")
    assert line.until == (100, 100)
    assert line.free == (0, 2)
    assert line.needs_end_of == ["w0!0000"]
    assert head.waited == 90
    assert head.overtaken_by == ["w0!0002"]
    assert head.started is not None
    assert head.started.happened.ended == [Ended("w0!0000", 6, 0.0)]
    assert head.started.free == 8

    started = why(tmp_path, JOBS, 8, Easy, 2).started
    assert started is not None
    assert (started.behind, started.reservation) == ("w0!0001", 100)
    assert started.still_waiting == ["w0!0001"]

    jobs = [J(0, 2, 10, 50), J(0, 2, 30, 40), J(0, 4, 60), J(1, 8, 5)]
    assert why(tmp_path, jobs, 8, Easy, 3).held[0].until == (60, 60), "the widest ends last"
    why(tmp_path, JOBS, 8, Easy, 3)
    with pytest.raises(InputError, match=r"not of this policy.*EXECUTE_JOB"):
        explained(tmp_path / "x.jsonl", Fcfs(), "w0!0001")


def test_easy_tells_a_job_that_fits_from_one_that_does_not(tmp_path: Path) -> None:
    told = why(tmp_path, [JOBS[0], JOBS[1], JOBS[3], JOBS[4], JOBS[5]], 8, Easy, 2)
    assert [short(line) for line in told.held] == [
        (14, 16, 2, "reservation"),
        (16, 36, 1, "processors"),
        (36, 100, 1, "reservation"),
        (100, 150, 1, "head"),
    ]
    first = told.held[0]
    assert first.by == ["w0!0001"]
    assert first.until == (100, 100)
    assert (first.free, first.extra, first.place, first.waiting) == ((2, 2), (0, 0), (2, 2), (2, 3))
    text = account(told)
    assert (
        "fits into the 2 free processors, but would delay the reservation of w0!0001 at t=100 "
        "(00:01:40): it would run until t=314 (00:05:14), and needs more than the 0 extra nodes; "
        "place 2 of 2, at last 2 of 3"
    ) in text
    assert (
        "from t=16 (00:00:16) to t=36 (00:00:36) (1 decision): 2 processors needed, 1 free" in text
    )
    assert "overtaken by 1 later job: w0!0004" in text


def test_fcfs(tmp_path: Path) -> None:
    """The short job fits all the time, and nobody overtakes."""
    told = why(tmp_path, JOBS[:3], 8, Fcfs, 2)
    assert [short(line) for line in told.held] == [(12, 100, 1, "behind"), (100, 150, 1, "head")]
    assert told.held[0].by == ["w0!0001"]
    assert told.held[0].place == (2, 2)


def test_conservative_compresses(tmp_path: Path) -> None:
    told = why(tmp_path, [J(0, 8, 10, 50), J(1, 8, 20, 30), J(2, 8, 5)], 8, Conservative, 2)
    assert [(line.begin, line.until[0], line.moved_from) for line in told.held] == [
        (2, 80, None),
        (10, 40, 80),
    ]
    assert told.held[1].moved_by is not None
    assert told.held[1].moved_by.ended == [Ended("w0!0000", 8, 40.0)]
    assert told.start == 30


def test_planning(tmp_path: Path) -> None:
    """A shorter job pushes the plan of the longer one back; its end early pulls it forward."""
    policy = partial(Planning, order="sjf")
    jobs = [J(0, 8, 100), J(10, 8, 50), J(20, 8, 5, 40)]
    told = why(tmp_path, jobs, 8, policy, 1)
    assert [(*short(line), line.until[0], line.moved_from) for line in told.held] == [
        (10, 20, 1, "plan", 100, None),
        (20, 105, 2, "plan", 140, 100),
    ]
    assert told.held[1].place == (2, 1)
    assert told.held[1].waiting == (2, 1)
    text = account(told)
    assert "planned for t=140" in text
    assert "moved from t=100" in text


def test_an_advance_reservation(tmp_path: Path) -> None:
    """It starts at its time with nothing else happening, or is rejected for want of room.

    And a limit of the site keeps the machine empty, with the rule that does so named.
    """
    jobs = [J(0, 2, 100), J(5, 4, 10)]
    told = why(tmp_path, jobs, 8, Planning, 1, {"reserved_start": 40})
    assert [(*short(line), line.until[0]) for line in told.held] == [(5, 40, 1, "plan", 40)]
    assert told.held[0].note == "an advance reservation"
    assert told.started is not None
    assert told.started.happened.called
    rejected = why(tmp_path, [J(0, 8, 100), J(5, 4, 10)], 8, Planning, 1, {"reserved_start": 40})
    assert (rejected.state, rejected.start, rejected.end) == ("REJECTED", None, 5)
    assert "an advance reservation" in account(rejected)
    limits = [{"from": "06:00", "to": "20:00", "max_size": 4}]
    nightly = partial(Planning, limits=limits, begins="mon 19:00")
    limited = why(tmp_path, [J(0, 8, 60)], 8, nightly, 0)
    assert [(line.why, line.until) for line in limited.held] == [("limit", (3600, 3600))]
    assert "max_size 4" in account(limited)


# Plug-ins ------------------------------------------------------------------------------------


class Silent:
    """FCFS without a word."""

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        while (head := queue.head) and head.size <= machine.free:
            yield Start(head)


class Speaking(Silent):
    def held(
        self, job: Job, now: float, queue: WaitingQueue, machine: Machine
    ) -> WaitingReason | None:
        if now >= 100:
            return None
        return WaitingReason("limit", until=100, free=machine.free, note="lunch")


def test_plugins_with_held_and_without(tmp_path: Path) -> None:
    silent = why(tmp_path, JOBS[:3], 8, Silent, 2)
    assert [short(line) for line in silent.held] == [(12, 150, 2, "unknown")]
    assert "gives no reasons" in account(silent)
    told = why(tmp_path, JOBS[:3], 8, Speaking, 2)
    assert [short(line) for line in told.held] == [(12, 100, 1, "limit"), (100, 150, 1, "unknown")]
    text = account(told)
    assert "(lunch)" in text
    assert "gives no reasons" not in text
    wrong = type("Wrong", (Silent,), {"held": lambda *_: "because"})
    with pytest.raises(PluginError, match="WaitingReason or None"):
        why(tmp_path, JOBS[:3], 8, wrong, 2)


def test_many_moves_become_few_lines(tmp_path: Path) -> None:
    """Planned anew forty times: told one by one if asked, else as one line with its range."""
    jobs = [J(0, 8, 1000), J(1, 8, 500), *(J(2 + i, 8, 1 + i) for i in range(40))]
    policy = partial(Planning, order="sjf")
    few = why(tmp_path, jobs, 8, policy, 1)
    path = tmp_path / "x.jsonl"
    many = explained(path, policy(), "w0!0001", most=10**6)
    assert len(few.held) == 1
    assert few.held[0].moves == 40
    assert few.held[0].decisions == sum(line.decisions for line in many.held)
    assert len(many.held) == 41
    assert "it moved 40 times" in account(few)


# On a grid ---------------------------------------------------------------------------------------


SPREAD: dict[str, Any] = {"scenario": "multi_site"}
TWO_OF_THREE = [(0, 3, 10), (0, 3, 10), (1, 2, 5)]
EASY = [(0, 3, 10), (0, 2, 8), (1, 4, 5), (2, 1, 20)]
LONG = [(0, 4, 50), (0, 2, 60), (0, 4, 50), *((10 * at, 1, 5) for at in range(1, 5))]
LATE = [(0, 3, 10, 30), (0, 2, 5), (0, 3, 10)]
HOMES = [(0, 4, 10), (1, 4, 5), (2, 2, 9, 9, 1), (3, 4, 5, 5, 1)]
RESERVED = SPREAD | {"reservation": "easy"}
PARTS = [(0, 2, 10), (0, 2, 30), (0, 4, 20), (1, 3, 10), (1, 4, 5)]


def told(
    folder: Path, rows: list[Row], sites: str, options: dict[str, Any], job: str, *more: str
) -> str:
    """Return what is said of a job."""
    load = grid_workload(grid_jobs(rows), sum(map(int, sites.split(","))))
    run = folder / "run"
    simulate(
        load,
        scheduler="grid",
        scheduler_options=options,
        sites=sites,
        record=Path(f"{run}_exchange.jsonl"),
    ).write(run)
    done = command(folder, "explain", run, "--job", job, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("rows", "sites", "options", "job", "reason"),
    [
        (TWO_OF_THREE, "4,4", {}, "C", "on site1 at t=10 (00:00:10), when w0!A"),
        (TWO_OF_THREE, "4,4", SPREAD | {"lower_bound": 2}, "C", "of its size are not spread"),
        (TWO_OF_THREE, "4,4", SPREAD | {"fragments": "1-4:1,5-8:2"}, "C", "are not spread"),
        (LONG, "4,4", {}, "C", "1 to 2 free"),  # one line, however many are free meanwhile
        ([(0, 3, 10), (1, 5, 5)], "4,2,2", SPREAD | {"fragments": "1-8:2"}, "B", "than 2 frag"),
        (
            LATE,
            "4,4",
            SPREAD | {"overhead": 0.5, "adaptive": True},
            "C",
            "than on 2 now, 1.5 times",
        ),
        (EASY, "4,2", {}, "D", "than the 0 extra nodes there"),
        (PARTS, "6,6", RESERVED | {"lower_bound": 3, "overhead": 1}, "E", "than the 1 extra nodes"),
        (
            [(0, 4, 10), (1, 5, 5)],
            "3,3",
            RESERVED,
            "B",
            "reservation at t=10 (00:00:10), when w0!A",
        ),
        (HOMES, "4,4", {"scenario": "local"}, "D", "on site2 at t=11 (00:00:11), when w0!C"),
    ],
)
def test_reasons(
    tmp_path: Path, rows: list[Row], sites: str, options: dict[str, Any], job: str, reason: str
) -> None:
    assert reason in told(tmp_path, rows, sites, options, job)


def test_a_job_that_runs_in_another_form(tmp_path: Path) -> None:
    """B starts at 5, when A ends, on both sites, and ends 1.5 * 30 + 20 s later; C wants all."""
    rows = [(0, 2, 5, 5, 1), (0, 5, 30, 40), (3, 6, 10), (4, 1, 7)]
    case = tmp_path, rows, "4,2", SPREAD | {"overhead": 0.5, "transfer": 20}
    found = json.loads(told(*case, "B", "--json"))
    assert (found["job"], found["start"], found["end"], found["size"]) == ("w0!B", 5, 70, 5)
    assert (found["dilation"], found["transfer"]) == (1.5, 20)
    assert found["started"]["sites"] == {"site1": 3, "site2": 2}
    alone = json.loads(told(*case, "w0!A", "--json"))
    assert not {"dilation", "transfer"} & set(alone)
    assert alone["started"]["sites"] == {"site2": 2}
    assert not any("placed!" in told(*case, job) for job in "ABCD")
    refused = command(tmp_path, "explain", "run", "--job", "placed!w0:B")
    assert (refused.returncode, "no such job" in refused.stderr) == (2, True)


def test_jobs_that_users_withdraw_or_that_wait_for_others(tmp_path: Path) -> None:
    """A job is withdrawn with the one that it depends on; another starts when one has ended."""
    load = workload([J(0, 4, 100), J(1, 4, 50), J(2, 1, 10), J(3, 1, 10), J(4, 1, 10)], 4)
    load.jobs[2].after, load.jobs[3].after = ("0001",), ("0000",)
    path, ids = tmp_path / "x.jsonl", [f"dyn!000{number}" for number in range(5)]
    record(path, load, Fcfs(), Impatient(load, patience=60, spread=30.0))
    watches = [watched(path, job, Fcfs(), withdrawn=frozenset(ids[1:3])) for job in ids]
    told = [account(explain_job(watch, "fcfs", 9)) for watch in watches]
    for text, words in (
        (told[0], "started at t=0 "),
        (told[1], "withdrawn by its user at t=91 (00:01:31), after 1 min 30 s (90 s)"),
        (told[2], "or since a job that it depends on did not end well at t=91 (00:01:31), after"),
        (told[3], "started at t=100 "),
        (told[3], "it may start only after these jobs have ended well: dyn!0000"),
        (told[4], "started at t=100 "),
    ):
        assert words in text
    states = [watch.life and watch.life.state for watch in watches]
    assert states[1:4] == ["WITHDRAWN", "WITHDRAWN", "COMPLETED_SUCCESSFULLY"]


def test_jobs_that_users_kill(tmp_path: Path) -> None:
    """Messages do not say that it was not the policy: the replayed one kills nothing."""
    load = workload([J(0, 4, 100), J(1, 4, 20)], 4)
    path = tmp_path / "x.jsonl"
    record(path, load, Fcfs(), Impatient(load, patience=60, spread=30.0, kill=True))
    watches = [watched(path, f"dyn!000{number}", Fcfs()) for number in range(2)]
    assert [watch.life and watch.life.state for watch in watches] == [
        *("COMPLETED_KILLED", "COMPLETED_SUCCESSFULLY")
    ]
