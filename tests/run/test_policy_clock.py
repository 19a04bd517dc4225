"""The clock that policies see: by hand, the same in each process, and in planning policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import Clock, simulate
from batsched_py.errors import InputError, UsageError
from batsched_py.model.machine import Machine
from batsched_py.workload.grid_sites import parse_sites
from batsched_py.workload.logs.clock import local_hours
from helpers.calling import command
from helpers.partitions import entry, machine_of, partition

ZONES = ["UTC", "Europe/Paris", "America/Los_Angeles", "Asia/Kolkata", "+01:00", "-03:30"]


def test_summer_time_ends() -> None:
    """In Stockholm clocks went back an hour on Sunday, 1996-10-27 at 3:00."""
    clock = Clock(846_370_800, "Europe/Stockholm")  # Sunday 1:00 in summer time
    assert clock.known
    assert [clock.date(second).isoformat() for second in (0, 7200.5)] == [
        "1996-10-27T01:00:00+02:00",
        "1996-10-27T02:00:00.500000+01:00",
    ]
    assert [clock.hour(hour * 3600) for hour in range(4)] == [1, 2, 2, 3]
    assert [clock.weekday(hour * 3600) for hour in (0, 23, 24)] == [6, 6, 0]
    assert clock.time_of_week(7200) == 6 * 86400 + 3 * 3600  # as if it were summer


def test_an_unknown_clock_begins_on_a_monday() -> None:
    clock = Clock()
    assert not clock.known
    assert (clock.weekday(0), clock.hour(0), clock.time_of_week(0)) == (0, 0, 0)
    assert (clock.weekday(6 * 86400 + 1800), clock.hour(6 * 86400 + 1800)) == (6, 0.5)


def test_impossible_clocks() -> None:
    with pytest.raises(InputError, match="Mars/Olympus"):
        Clock(0, "Mars/Olympus")
    with pytest.raises(InputError, match="beyond the calendar"):
        Clock(0).date(1e15)


@given(st.integers(0, 2**31), st.sampled_from(ZONES), st.integers(0, 10**8))
def test_hours_and_weekdays_are_those_of_figures(start: int, zone: str, now: int) -> None:
    clock = Clock(start, zone)
    hour_of_week = float(local_hours(np.array([now]), start, zone)[0])
    assert 24 * clock.weekday(now) + clock.hour(now) == pytest.approx(hour_of_week)
    assert clock.date(now).timestamp() == start + now


def test_each_part_of_a_machine_has_it() -> None:
    clock = Clock(5)
    described = machine_of(entry("nodes", count=4) + partition("a", "0-1") + partition("b"))
    machine = Machine(4, description=described, clock=clock)
    grid = Machine(4, parse_sites("west:2,east:2"), clock=clock)
    for site in (machine, *machine.partitions, grid, *grid.sites):
        assert site.clock is clock


NIGHTLY = '''
from batsched_py import CallMeLater, Start

class Nightly:
    """Starts jobs from 22 to 6 h only."""

    def schedule(self, now, queue, machine):
        assert machine.clock.known
        hour = machine.clock.hour(now)
        if 6 <= hour < 22:
            if queue:
                yield CallMeLater(now + (22 - hour) * 3600)
            return
        for job in queue:
            if job.size <= machine.free:
                yield Start(job)
'''


@pytest.fixture
def nightly(tmp_path: Path) -> str:
    (tmp_path / "nightly.py").write_text(NIGHTLY)
    return f"{tmp_path}/nightly.py:Nightly"


def test_a_policy_of_the_night(nightly: str) -> None:
    result = simulate("sample", first=300, scheduler=nightly)
    clock = Clock(result.settings["unix_start_time"], result.settings["time_zone"])
    hours = [clock.hour(start + 1e-6) for start in result.table.start]
    assert all(not 6 <= hour < 22 - 1e-6 for hour in hours)


@pytest.mark.process
@pytest.mark.parametrize("users", ["rigid", "feedback"])
@pytest.mark.parametrize("backend", ["socket", "socket5"])
def test_it_is_the_same_in_another_process(nightly: str, users: str, backend: str) -> None:
    inside, outside = (
        simulate("sample", first=60, scheduler=nightly, users=users, backend=where)
        for where in ("embedded", backend)
    )
    assert outside.table.start == pytest.approx(inside.table.start, abs=1e-3)


def test_a_recorded_run_is_explained_with_its_clock(nightly: str, tmp_path: Path) -> None:
    """Its schedule is replayed, which needs the same decisions."""
    arguments = ["--first", 20, "--scheduler", nightly, "--record", "-e", "run"]
    assert command(tmp_path, "simulate", "sample", *arguments).returncode == 0
    job = (tmp_path / "run_jobs.csv").read_text().splitlines()[-1].split(",")[0]
    explained = command(tmp_path, "explain", "run", "--job", job, "--scheduler", nightly)
    assert explained.returncode == 0, explained.stderr


@pytest.mark.parametrize("text", ["noon", "1e12", "5@Mars/Olympus", "nan@UTC"])
def test_wrong_clocks_of_a_command(text: str, tmp_path: Path) -> None:
    from batsched_py.commands.protocol.decision_process_options import read_clock

    with pytest.raises(UsageError, match="--clock"):
        read_clock(text)


@pytest.mark.parametrize(
    ("scheduler", "options"),
    [
        ("dynp_clock", {}),
        ("planning", {"limits": [{"days": "mon", "from": "10:00", "to": "22:00", "max_size": 4}]}),
    ],
)
def test_planning_begins_when_the_log_begins(
    scheduler: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """If nothing else is asked for; Monday 0:00 if the log does not say when."""

    def jobs(header: str, **more: Any) -> str:
        log = tmp_path / "a.swf"
        rows = (
            f"{n} {n * 1500} -1 {900 + 37 * n % 7000} {1 + n % 8} -1 -1 {1 + n % 8} "
            f"{9000 + 997 * n % 9000} -1 1 1 -1 -1 -1 -1 -1 -1"
            for n in range(1, 150)
        )
        log.write_text("\n".join([header, "; MaxProcs: 8", *rows]) + "\n")
        return simulate(str(log), scheduler=scheduler, scheduler_options=options | more).jobs_csv()

    known = "; UnixStartTime: 843480031\n; TimeZoneString: Europe/Stockholm"
    assert jobs(known) == jobs(known, begins="mon 14:00:31")
    assert jobs(known) != jobs(known, begins="mon 00:00")
    assert jobs("; Version: 2.2") == jobs("; Version: 2.2", begins="mon 00:00")
