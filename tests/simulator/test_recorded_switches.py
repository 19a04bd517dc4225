"""The embedded simulator against recordings of Batsim in which machines are switched off and on.

A script switched six hosts under Batsim 4.2.0 and 5.0.0-rc2 with SimGrid 3.32. Hosts 0 to 3 take
20 s off and 50 s on; hosts 4 and 5 take 6.1 s and 152 s. There are requests for hosts of equal and
of different durations, several in one reply, while others are switched, right after the end and
the kill of a job, during the job on woken hosts, for a sleeper that was unavailable, and after the
last end.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from batsched_py.processors.sets import to_text
from batsched_py.protocol import messages as m
from helpers.processors import processors
from helpers.recorded_exchanges import (
    Recording,
    Recording5,
    Run,
    assert_same_events,
    assert_same_files,
    assert_same_files_of_5,
    run,
)

FOLDER = Path(__file__).parent / "recordings"
SLEEPER_IDLE = 20
"""Seconds from the return of an unavailable sleeper until it is woken. It sleeps; Batsim 4.2.0
counts it as idle."""


def replay(
    recording: Recording,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run the simulator against the recorded scheduler; it receives the recorded events."""
    done = run(recording, tmp_path, monkeypatch, capsys)
    assert done.exit_code == 0, done.stderr
    assert done.echo.nb_replies == len(recording.replies)
    assert_same_events(recording, done.echo)
    return done


def test_batsim_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = Recording(FOLDER / "batsim4_switches")
    assert recording.exact
    replay(recording, tmp_path, monkeypatch, capsys)
    schedule = tmp_path / "out_schedule.csv"
    with schedule.open() as file:
        (row,) = csv.DictReader(file)
    for column, seconds in {"time_idle": SLEEPER_IDLE, "time_sleeping": -SLEEPER_IDLE}.items():
        row[column] = f"{float(row[column]) + seconds:f}"
    schedule.write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    assert_same_files(recording, tmp_path)


def test_batsim_5(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = Recording5(FOLDER / "batsim5_switches")
    done = replay(recording, tmp_path, monkeypatch, capsys)
    assert_same_files_of_5(recording, done.folder)


@pytest.mark.parametrize(
    ("kind", "recording"),
    [
        ("RESOURCE_STATE_CHANGED", Recording(FOLDER / "batsim4_switches")),
        ("HostsTurnedOnOffEvent", Recording5(FOLDER / "batsim5_switches")),
    ],
    ids=["4", "5"],
)
def test_one_answer_a_request(kind: str, recording: Recording) -> None:
    """Batsim answers each request when its slowest host has been switched."""
    slow, fast = processors("0-3"), processors("4-5")
    expected = []
    for raw in recording.replies:
        reply = recording.decode(raw, 6)
        for request in reply.events:
            if isinstance(request, m.SetResourceState):
                hosts, off = request.resources, request.state == "1"
                lasts = (20 if hosts & slow else 6.1) if off else (152 if hosts & fast else 50)
                expected.append((reply.now + lasts, to_text(hosts), request.state))
    answers = [
        (message["now"], *event[recording.content].values())
        for message in recording.messages
        for event in message["events"]
        if event[recording.kind] == kind
    ]
    assert len(answers) == 11
    assert [(time, hosts, str(state)) for time, hosts, state in answers] == sorted(expected)
