"""The protocol of Batsim 5 changes no schedule: every policy and user model beside version 4."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5.exact_calls import read_exact_time, round_down_to_milliseconds
from batsched_py.run.simulate import simulate
from batsched_py.transport.exchange_replay import Turn, read_decisions, read_turns
from batsched_py.transport.recording import read_exchange
from batsched_studies.real_batsim.cases import CASES, Case
from helpers.calling import command

pytestmark = pytest.mark.process

OF_ALL_SIDES = ("`easy`", "`grid` (spread)", "`feedback`", "`resampled`", "`site`")
"""Of the cases of policies and users, those that always run with version 4's protocol too."""
ANY_SIZE = [case for case in CASES if case.group.split("; ")[0] != "more jobs"]
COMPARED = [case for case in ANY_SIZE if "Batsim's options" not in case.group]
"""Simulations of our policies and users, most of 600 jobs."""


def jobs(case: Case, side: str, folder: Path) -> str:
    left = case.run(side, folder / side)
    return Path(f"{left.prefix}_jobs.csv").read_text()


def check_equal(case: Case, one: str, other: str) -> None:
    """Tables are equal to the byte.

    Batsim 5 submits the form of a job that runs longer when it starts, so the stretch of the job
    is found from dates of six decimals: one that lasts 1e-5 s has it to 0.1.
    """
    if one == other or not case.name.startswith("`grid`"):
        assert one == other
        return
    for ours, theirs in zip(*map(rows, (one, other)), strict=True):
        fields = {name for name in ours if ours[name] != theirs[name]}
        assert fields <= {"stretch"}
        assert not fields or ours["execution_time"] == "0.000010"
        assert float(ours["stretch"]) == pytest.approx(float(theirs["stretch"]), rel=0, abs=0.1)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in COMPARED])
def test_the_same_jobs_to_the_byte(case: Case, tmp_path: Path) -> None:
    here = jobs(case, "embedded", tmp_path)
    assert here.count("\n") > 100
    check_equal(case, here, jobs(case, "socket5", tmp_path))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=case.name, marks=() if case.name in OF_ALL_SIDES else pytest.mark.long
        )
        for case in COMPARED
    ],
)
def test_over_both_sockets(case: Case, tmp_path: Path) -> None:
    check_equal(case, *(jobs(case, side, tmp_path) for side in ("socket5", "socket")))


@pytest.fixture(scope="module")
def exchanges(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same simulation recorded in both protocols: users whose think times have digits."""
    folder = tmp_path_factory.mktemp("exchanges")
    for side in ("socket", "socket5"):
        simulate(
            "sample",
            first=150,
            users="feedback",
            speed_factor=1.3,
            backend=side,
            record=folder / side,
        ).write(folder / f"of_{side}")
    return {side: folder / side for side in ("socket", "socket5")}


def test_calls_come_at_fractions_of_a_millisecond(exchanges: dict[str, Path]) -> None:
    """They are asked for at the millisecond before; without that there would be nothing to test."""
    times = [
        event.time
        for turn in read_turns(exchanges["socket5"])
        for event in (turn.reply.events if turn.reply else ())
        if isinstance(event, m.CallMeLater)
    ]
    between = [time for time in times if round_down_to_milliseconds(time) / 1000 != time]
    assert len(between) > 50
    raw = b"".join(record.frame for record in read_exchange(exchanges["socket5"])).decode()
    assert all(f'"at {time!r}"' in raw for time in between)
    assert read_exact_time(f"at {between[0]!r}") == between[0]


def told(turn: Turn) -> tuple[float, list[str], object]:
    assert turn.reply is not None
    kinds = sorted(type(event).__name__ for event in turn.message.events)
    return turn.message.now, kinds, read_decisions(turn.reply)


def test_recordings_of_both_say_the_same(exchanges: dict[str, Path]) -> None:
    """What was told, when and what was decided: what only the protocols need is not among it."""
    four, five = (list(map(told, read_turns(exchanges[side]))) for side in ("socket", "socket5"))
    assert four[1:] == five[1:]
    assert len(four) > 300


@pytest.mark.parametrize("side", ["socket", "socket5"])
@pytest.mark.parametrize("scheduler", ["easy", "fcfs"])
def test_replay_says_the_same_of_both(
    exchanges: dict[str, Path], side: str, scheduler: str
) -> None:
    folder = exchanges[side].parent
    users = ["--users", "feedback", "--log", "sample", "--first", "150", "--speed-factor", "1.3"]
    done = command(folder, "replay", side, "--scheduler", scheduler, *users)
    if scheduler == "easy":
        assert (done.returncode, "the same decisions" in done.stdout) == (0, True)
    else:
        assert done.returncode == 1
        assert "fcfs differs at message" in done.stderr


def test_explain_says_the_same_of_both(exchanges: dict[str, Path]) -> None:
    said = [
        command(side.parent, "explain", side.name, "--scheduler", "easy", "--job", "dyn!40").stdout
        for side in exchanges.values()
    ]
    assert said[0] == said[1]
    assert "dyn!40" in said[0]
