"""What is unusual in a log: flurries, values that cannot be, over-subscription, gaps, months."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batsched_py.units import DAY, HOUR, LATEST_TIME
from batsched_py.workload.log_summary import log_summary
from batsched_py.workload.logs.flurries import find_flurries
from batsched_py.workload.logs.log_flags import Flag, find_flags
from batsched_py.workload.logs.log_months import log_months
from batsched_py.workload.logs.recorded_schedule import recorded_schedule
from batsched_py.workload.logs.swf import FIELDS, FRACTIONAL, SwfLog, order_fields, read_swf
from helpers.calling import command

START = 1577836800  # Wednesday, 2020-01-01 0:00 UTC


def a_log(jobs: Iterable[Mapping[str, float]], *header: str, processors: int = 10) -> SwfLog:
    """Return a log of jobs with these fields; without others, each ran for 10 s on 1 processor."""
    usual: dict[str, float] = {"wait_time": 0, "run_time": 10, "requested_processors": 1, "user": 1}
    rows = sorted(
        ({"job_number": number, **usual, **job} for number, job in enumerate(jobs, start=1)),
        key=lambda row: row["submit_time"],
    )
    data = np.array([order_fields(row) for row in rows], dtype=float)
    lines = [f"; MaxProcs: {processors}", *header]
    return SwfLog(Path("a.swf"), lines, data, np.arange(len(rows)) + 1 + len(lines), [])


def every_hour(weeks: int, but: Sequence[tuple[float, float]] = ()) -> list[dict[str, float]]:
    """Return a job an hour of ten users in turn, none between two times of ``but``."""
    times = np.arange(weeks * 168) * HOUR
    kept = [t for t in times.tolist() if not any(begin < t < end for begin, end in but)]
    return [{"submit_time": t, "user": 1 + i % 10} for i, t in enumerate(kept)]


def burst(number: int, begin: float, user: int = 99) -> list[dict[str, float]]:
    """Return so many jobs of one user, a second apart."""
    return [{"submit_time": begin + i, "user": user} for i in range(number)]


def numbered(jobs: list[dict[str, float]]) -> list[dict[str, float]]:
    ordered = sorted(jobs, key=lambda job: job["submit_time"])
    return [job | {"job_number": 1 + i} for i, job in enumerate(ordered)]


def of_kind(flags: list[Flag], kind: str) -> list[Flag]:
    return [flag for flag in flags if flag.kind == kind]


# flurries


def test_a_burst_of_one_user_is_a_flurry() -> None:
    """An ordinary week has 168 jobs; job 337 is the one of hour 336, just before the burst."""
    for number, found in ((167, 0), (168, 1)):
        log = a_log(numbered(every_hour(8) + burst(number, 336 * HOUR + 60)))
        assert len(of_kind(find_flags(log), "flurry")) == found
    log = a_log(numbered(every_hour(8) + burst(300, 336 * HOUR + 60)), f"; UnixStartTime: {START}")
    (flag,) = of_kind(find_flags(log), "flurry")
    assert re.findall(r"\d+", flag.filter or "") == ["99", "338", "637"]
    assert (flag.jobs, flag.begin, flag.end) == (300, 336 * HOUR + 60, 336 * HOUR + 359)
    for share in ("(18.2 %)", "2020-01-15 00:05:59", "1209660 to 1209959"):
        assert share in flag.text


def test_neither_one_user_alone_nor_an_unknown_one_nor_a_short_log_has_flurries() -> None:
    alone = [job | {"user": 1} for job in every_hour(8)] + burst(300, 99, user=1)
    unknown = every_hour(8) + burst(300, 99, user=-1)
    short = every_hour(3) + burst(300, 99)
    for jobs in (alone, unknown, short):
        assert find_flurries(a_log(numbered(jobs))) == []


@given(st.lists(st.sampled_from("aabc"), min_size=1, max_size=60), st.integers(2, 12))
def test_no_stretch_is_more_dominated_than_the_first_one(order: list[str], least: int) -> None:
    """The slow twin: all pairs of jobs of user 1."""
    from batsched_py.workload.logs.flurries import _dominated

    places = np.flatnonzero(np.array(order) == "a")
    slow = [
        (2 * (j - i + 1) - int(places[j] - places[i] + 1), i, j)
        for i in range(len(places))
        for j in range(i, len(places))
    ]
    found = list(_dominated(places, least))
    most = max((lead for lead, _, _ in slow), default=0)
    assert bool(found) == (most >= least)
    leads = {(i, j): lead for lead, i, j in slow}
    assert all(leads[pair] >= least for pair in found)
    assert not found or max(leads[pair] for pair in found) == most
    taken = [row for first, last in found for row in range(first, last + 1)]
    assert len(set(taken)) == len(taken)


# the beginning


def test_jobs_from_long_before_the_log_began() -> None:
    """Three jobs in five days, then one an hour."""
    early = [{"submit_time": t} for t in (0, DAY, 3 * DAY)]
    rest = [job | {"submit_time": job["submit_time"] + 5 * DAY} for job in every_hour(8)]
    (flag,) = of_kind(find_flags(a_log(early + rest)), "thin beginning")
    assert (flag.filter, flag.jobs, flag.end) == ("job<=3", 3, 5 * DAY)
    assert "3 jobs (0.2 %)" in flag.text
    later = [job | {"submit_time": job["submit_time"] + 2.9 * DAY} for job in every_hour(8)]
    weekend = find_flags(a_log([{"submit_time": 0}, *later]))
    assert of_kind(weekend, "thin beginning") == []


# values


def test_values_that_cannot_be() -> None:
    """-1 is unknown; less is wrong. Jobs 9 and 10 are alike, and so are all that ran for 10 s."""
    jobs = [
        {"requested_processors": 64},
        {"requested_processors": 10},
        {"run_time": -1},
        {"run_time": -5},
        {"run_time": 0, "status": 5},
        {"run_time": 0},
        {"wait_time": -1},
        {"wait_time": -60},
        *({"submit_time": 900, "run_time": 100, "requested_time": 100} for _ in range(2)),
        *({"run_time": 100 + more, "requested_time": 100} for more in (5, 60, 400)),
    ]
    log = a_log({"submit_time": 1000 * at} | job for at, job in enumerate(jobs))
    found = {flag.kind: flag for flag in find_flags(log) if flag.job_numbers}
    numbers = log.column("job_number").tolist()
    assert {kind: flag.job_numbers for kind, flag in found.items()} == {
        "wider than the machine": [1],
        "negative run time": [4],
        "negative wait": [8],
        "run time of 0": [5, 6],
        "longer than requested": [11, 12, 13],
        "repeated lines": [10],
    }
    for flag in found.values():
        assert [line - 2 for line in flag.lines] == [numbers.index(n) for n in flag.job_numbers]
    assert "64 of 10" in found["wider than the machine"].text
    assert re.findall(r"\d+ s\b", found["longer than requested"].text) == ["60 s", "400 s"]
    many = a_log({"submit_time": at, "requested_processors": 11} for at in range(7))
    assert find_flags(many)[0].job_numbers == [1, 2, 3, 4, 5], "only the first few are named"


# the recorded schedule


JOBS = st.lists(
    st.tuples(*[st.integers(low, high) for low, high in ((0, 30), (-1, 9), (-1, 9), (-1, 4))]),
    min_size=1,
    max_size=20,
)


@given(JOBS)
def test_use_is_what_counting_second_by_second_gives(jobs: list[tuple[int, ...]]) -> None:
    """The slow twin, also of the means, the idle stretches and who waited before they ended."""
    names = ("submit_time", "wait_time", "run_time", "allocated_processors")
    log = a_log(dict(zip(names, job, strict=True)) | {"requested_processors": -1} for job in jobs)
    ran = [job for job in jobs if job[1] >= 0 and job[2] > 0 and job[3] > 0]
    use = np.zeros(50)
    for submit, wait, run, size in ran:
        use[submit + wait : submit + wait + run] += size
    schedule = recorded_schedule(log)
    assert schedule.is_known == bool(ran)
    if not ran:
        assert schedule.means(np.array([0.0, 50.0])) == [None]
        return
    assert schedule.peak() == (float(use.max()), float(use.argmax()))
    flags = of_kind(find_flags(log), "over-subscription")
    assert [flag.begin for flag in flags] == [float((use > 10).argmax())] * int(use.max() > 10)
    assert schedule.seconds_above(3) == (use > 3).sum()
    assert schedule.means(np.array([0.0, 20.0, 20.0, 50.0])) == [
        pytest.approx(use[:20].mean()),
        None,
        pytest.approx(use[20:].mean()),
    ]
    for begin, end in schedule.idle(0).astype(int).tolist():
        assert not use[begin:end].any()
        assert use[[begin - 1, end]].all()
        (waited,) = schedule.waited_before(np.array([float(end)]), 1)
        assert waited == sum(job[0] <= end - 1 and job[0] + job[1] >= end for job in ran)
    edges = np.flatnonzero(np.diff((use > 0).astype(int)))
    assert len(schedule.idle(0)) == len(edges) // 2 - (not use[0])


# gaps


def test_a_gap_that_the_rhythm_does_not_explain() -> None:
    """A job an hour, but for 40 hours: far beyond chance. All is idle then, too."""
    gap = (300 * HOUR, 341 * HOUR)
    log = a_log(every_hour(8, but=[gap]), f"; UnixStartTime: {START}", "; TimeZone: 3600")
    submitted, ran = find_flags(log)
    assert (submitted.kind, submitted.begin, submitted.end) == ("nothing submitted", *gap)
    assert "41.0 h from 2020-01-13 13:00:00" in submitted.text
    assert (ran.kind, ran.begin, ran.end) == ("nothing ran", gap[0] + 10, gap[1])


def test_an_idle_machine_with_waiting_jobs() -> None:
    """Nothing ran for two hours; of two jobs, one came half an hour before the end of that."""
    jobs: list[dict[str, float]] = [
        {"submit_time": 0, "run_time": 100},
        {"submit_time": 50, "wait_time": 2 * HOUR + 50},
        {"submit_time": 1.5 * HOUR, "wait_time": 0.5 * HOUR + 100},
    ]
    (flag,) = find_flags(a_log(jobs))
    assert (flag.kind, flag.begin, flag.end) == ("nothing ran", 100, 2 * HOUR + 100)
    assert flag.text.endswith("; 1 job waited")


# months


def test_the_months_of_a_log() -> None:
    """From 31 January to 1 March 2020, in Stockholm's time: midnight is at 23:00 UTC."""
    zone = "; TimeZoneString: Europe/Stockholm"
    start = START + 30 * DAY - HOUR  # 2020-01-31 0:00 there
    jobs = [
        {"submit_time": 0, "run_time": DAY, "requested_processors": 5, "user": 1},
        {"submit_time": DAY - 1, "wait_time": HOUR, "user": 2, "requested_time": 60},
        {"submit_time": DAY, "wait_time": -1, "run_time": 2.9 * DAY, "requested_processors": 10},
        {"submit_time": 30.5 * DAY, "user": -1, "wait_time": -1},
    ]
    log = a_log(jobs, zone, f"; UnixStartTime: {start}")
    january, february, march = log_months(log, recorded_schedule(log))
    assert [m.name for m in (january, february, march)] == ["2020-01", "2020-02", "2020-03"]
    assert [m.is_part for m in (january, february, march)] == [True, False, True]
    assert [m.jobs for m in (january, february, march)] == [2, 1, 1]
    assert [m.users for m in (january, february, march)] == [2, 1, None]
    assert [m.widest_job for m in (january, february, march)] == [5, 10, 1]
    assert (january.begin, january.end, february.end, march.end) == (
        *(0, DAY, 30 * DAY),
        30.5 * DAY,
    )
    assert january.offered_load == pytest.approx((5 * DAY + 10) / (10 * DAY))
    assert january.utilisation == 0.5
    assert february.offered_load == pytest.approx(0.1)
    assert february.utilisation == pytest.approx(10 / (10 * 29 * DAY))  # the second one only
    assert (january.mean_wait, february.mean_wait) == (HOUR / 2, None)
    assert (january.longest_request, february.longest_request) == (60, None)


def test_info_shows_flags_and_months(tmp_path: Path) -> None:
    """In words and as JSON; second 0 of the log is 14:00:31 in Stockholm."""
    start = "; UnixStartTime: 843480031\n; TimeZoneString: Europe/Stockholm\n"
    path = tmp_path / "log.swf"
    path.write_text(f"{start}; MaxProcs: 4\n1 0 -7 10 9" + " -1" * 13 + "\n")
    text, flags, months = command(tmp_path, "info", "log.swf").stdout.split("\n\n")
    assert text.startswith("file ")
    assert "Monday, 1996-09-23 14:00:31" in text
    assert [line.split()[0] for line in flags.splitlines()] == ["wider", "negative"]
    assert months.splitlines()[1].split()[3:] == ["1", *"----9-"]
    content = json.loads(command(tmp_path, "info", "log.swf", "--json").stdout)
    assert content["pairs"][0] == ["file", "log.swf"]
    assert (content["flags"][0]["job_numbers"], content["flags"][0]["lines"]) == ([1], [4])
    assert content["months"][0]["users"] is None


# any log


VALUES = st.one_of(
    st.integers(-2, 3),
    st.sampled_from([10**4, 10**6, 10**9, 2**53, -(2**53)]),
)
TIMES = st.one_of(VALUES, st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 10**8))
READ = st.integers(-2, 3) | st.integers(0, 10**9) | st.floats(-LATEST_TIME / 3, LATEST_TIME / 3)
"""Submit, wait and run times that a log may have."""
HEADERS = st.sampled_from(
    [
        "",
        "; UnixStartTime: 843480031\n; TimeZoneString: Europe/Stockholm\n",
        "; UnixStartTime: 1e30\n",
        "; UnixStartTime: -62135596800\n; TimeZone: 80000\n",
        "; MaxProcs: 4\n",
    ]
)


@st.composite
def any_log(draw: st.DrawFn) -> str:
    """Return a log whose lines are numbers, most of them jobs."""
    lines = []
    for number in range(draw(st.integers(1, 8))):
        row = [draw(TIMES if at in FRACTIONAL else VALUES) for at in range(len(FIELDS))]
        row[0] = number
        row[1], row[2], row[3] = abs(draw(READ)), draw(READ), draw(READ)
        lines.append(" ".join(str(x) for x in row))
    return draw(HEADERS) + "\n".join(lines) + "\n"


@pytest.mark.filterwarnings("error")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_log())
def test_any_log_that_can_be_read_has_flags(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log.swf"
    path.write_text(text)
    log = read_swf(path)
    schedule = recorded_schedule(log)
    for flag in find_flags(log, schedule):
        assert not re.search(r"\b(nan|inf)\b", flag.text)
    months = log_months(log, schedule)
    assert not months or sum(month.jobs for month in months) == len(log)
    assert log_summary(path).flags == find_flags(log)


# the archive

OF_THE_ARCHIVE = {
    "KTH-SP2-1996-2": (["job<=14"], 0),
    "SDSC-SP2-1998-4.2-cln": ([], 2),
    "SDSC-BLUE-2000-4.2-cln": ([], 0),
    "SDSC-Par-1996-3.1-cln": (None, 1),
    "HPC2N-2002-2.2-cln": (None, 16),
}
"""What the next cleaned version of a log lacks of its beginning, as its header says, if it does;
and how many flurries are left."""


@pytest.mark.parametrize("name", OF_THE_ARCHIVE)
def test_logs_of_the_archive(shared: Path, name: str) -> None:
    removed, number = OF_THE_ARCHIVE[name]
    log = read_swf(shared / "swf" / f"{name}.swf.gz")
    assert len(find_flurries(log)) == number
    if removed is not None:
        thin = of_kind(find_flags(log), "thin beginning")
        assert [flag.filter for flag in thin] == removed


def test_the_largest_flurry_of_sdsc_sp2(shared: Path) -> None:
    """The archive removes user=374 and (job>=14969 and job<=28552), 11740 jobs."""
    largest, *others = find_flurries(read_swf(shared / "swf/SDSC-SP2-1998-4.reconstructed.swf.gz"))
    assert largest.user == 374
    assert 14969 <= largest.first_job < largest.last_job <= 28552
    assert largest.jobs > 0.9 * 11740
    assert len(others) == 2
