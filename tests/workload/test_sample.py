"""The synthetic log: stable to the byte, consistent on its machine, and shaped as documented."""

from __future__ import annotations

import hashlib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

from batsched_py.errors import UsageError
from batsched_py.support.plugins import load_file
from batsched_py.support.shipped_files import platforms_folder
from batsched_py.units import DAY, HOUR
from batsched_py.workload.sample_log import cached_sample_log, sample_log
from helpers.calling import call

PROCESSORS = 64
GOLDEN = "2c53bfd4bc1fc1946a2eb9f8326d8219bfc54c95beba3fef288bb0bc9b3a478a"
"""Of the default log: a change must raise GENERATOR_VERSION."""


class Job(NamedTuple):
    number: int
    submit: int
    wait: int
    run: int
    size: int
    asked: int
    request: int
    status: int
    user: int
    application: int


def parse(text: bytes) -> list[Job]:
    rows = [line.split() for line in text.decode().splitlines() if not line.startswith(";")]
    assert {len(row) for row in rows} == {18}
    columns = (0, 1, 2, 3, 4, 7, 8, 10, 11, 13)
    return [Job(*(int(row[column]) for column in columns)) for row in rows]


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    return parse(sample_log())


def test_what_ships_is_what_the_generator_makes() -> None:
    generate = load_file(f"{platforms_folder() / 'sample_log.py'}:generate_sample_log")
    assert sample_log() == "".join(f"{line}\n" for line in generate()).encode()
    assert hashlib.sha256(sample_log()).hexdigest() == GOLDEN


def test_seed_and_days_make_another_log() -> None:
    assert sample_log(seed=2) != sample_log()
    assert max(job.submit for job in parse(sample_log(days=7))) < 7 * DAY
    with pytest.raises(UsageError, match="0 days"):
        sample_log(days=0)


def test_header_names_machine_and_origin() -> None:
    text = sample_log(seed=5, days=10)
    lines = text.decode().splitlines()
    header = dict(line[2:].split(": ", 1) for line in lines if line[:1] == ";" and ": " in line)
    assert header["Version"] == "2.2"
    assert header["Installation"] == "synthetic"
    assert header["MaxProcs"] == header["MaxNodes"] == "64"
    assert header["TimeZoneString"] == "Europe/Paris"
    assert header["MaxJobs"] == header["MaxRecords"] == str(len(parse(text)))
    assert any("seed 5, 10 days" in line for line in lines)


def test_numbers_are_in_order_of_submission(jobs: list[Job]) -> None:
    assert [job.number for job in jobs] == list(range(1, len(jobs) + 1))
    assert all(a.submit <= b.submit for a, b in pairwise(jobs))


def test_it_is_shaped_as_documented(jobs: list[Job]) -> None:
    """Load, users, weekends, working hours, requests, and the oddities of real logs."""
    assert 3_000 <= len(jobs) <= 4_000
    work = sum(job.run * job.size for job in jobs)
    assert 0.65 <= work / (PROCESSORS * 60 * DAY) <= 0.75
    weekend = sum(job.submit // DAY % 7 >= 5 for job in jobs) / 2
    weekday = sum(job.submit // DAY % 7 < 5 for job in jobs) / 5
    assert 0.2 < weekend / weekday < 0.8
    working = sum(9 <= job.submit % DAY // HOUR < 18 for job in jobs)
    assert 0.5 < working / len(jobs) < 0.8
    assert all(job.request % 300 == 0 and job.run <= job.request for job in jobs)
    assert median(job.request / max(job.run, 1) for job in jobs) > 2
    assert {job.status for job in jobs} == {0, 1, 5}
    assert any(job.run == 0 for job in jobs)
    assert any(job.asked == -1 for job in jobs)
    of_users = Counter(job.user for job in jobs)
    assert -1 in of_users
    assert 40 <= len(of_users) <= 60
    assert min(of_users.values()) < 20 < 100 < max(of_users.values())


def test_recorded_schedule_fits_the_machine(jobs: list[Job]) -> None:
    changes = [(job.submit + job.wait, 1, job.size) for job in jobs if job.run]
    changes += [(job.submit + job.wait + job.run, 0, -job.size) for job in jobs if job.run]
    busy = 0
    for _, _, size in sorted(changes):  # at one instant, ends come before starts
        busy += size
        assert 0 <= busy <= PROCESSORS
    assert all(job.wait >= 0 for job in jobs)
    assert 0.4 < sum(job.wait > 0 for job in jobs) / len(jobs) < 0.8  # queues form


def test_the_command_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, "sample-log", str(tmp_path / "a.swf")) == 0
    assert (tmp_path / "a.swf").read_bytes() == sample_log()


def test_cache_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = cached_sample_log()
    assert path.parent == tmp_path / "batsched_py"
    before = path.stat().st_mtime_ns
    assert cached_sample_log().stat().st_mtime_ns == before


def test_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    path = cached_sample_log()
    assert path.is_file()
    assert tmp_path not in path.parents
