"""Rules on sites: jobs by number, their homes, and what becomes of those that are too wide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.run.stored_values import Run
from batsched_py.workload.conversion_rules import Split, as_dict, describe, make_rules
from batsched_py.workload.grid_site_rules import split_jobs
from batsched_py.workload.grid_sites import HOME, find_home_of_user, parse_sites
from batsched_py.workload.load import load_workload
from batsched_py.workload.workload import Workload, WorkloadJob

LOG = (
    """; MaxProcs: 512
; number submit wait run got cpu mem size request mem status user group exe queue partition
1   0 0 10 200 -1 -1 200 60 -1 1 ann 5 -1 1 1 -1 -1
2  10 0 20   1 -1 -1   1 60 -1 1 bob 6 -1 1 3 -1 -1
7  20 0 30 128 -1 -1 128 60 -1 1 ann 5 -1 1 2 -1 -1
8  30 0 40  70 -1 -1  70 60 -1 1 cat -1 -1 1 2 -1 -1
9  30 0 50 129 -1 -1 129 60 -1 1 bob 6 -1 1 1 -1 -1
""".replace("ann", "11")
    .replace("bob", "12")
    .replace("cat", "-1")
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.swf"
    path.write_text(LOG)
    return path


def converted(path: Path, sites: str | None = None, **rules: Any) -> Workload:
    known = () if sites is None else parse_sites(sites)
    return load_workload(path, make_rules(**rules), sites=known)


def shown(workload: Workload) -> list[tuple[str, int, Any]]:
    return [(job.id, job.size, job.extra.get(HOME)) for job in workload.jobs]


def test_jobs_by_number_before_the_first_of_them(log: Path) -> None:
    jobs = converted(log, job_numbers="2-8", first=2, drop="no-user").jobs
    assert [job.id for job in jobs] == ["2", "7"]
    assert [job.id for job in converted(log, job_numbers="9-9999").jobs] == ["9"]
    for text in ("7", "9-8", "a-b", "1-2-3"):
        with pytest.raises(UsageError, match="job_numbers"):
            make_rules(job_numbers=text)
    for split in (0, "-3", "locale", "1.5", 2.5, ""):
        with pytest.raises(UsageError, match=f"split '?{split}'?"):
            make_rules(split=split)


def test_numbers_that_no_job_has(log: Path) -> None:
    with pytest.raises(UsageError, match=r"job_numbers 10-20 .* 1 to 9"):
        converted(log, job_numbers="10-20")


@pytest.mark.parametrize(
    ("homes", "expected"),
    [
        ("user", [None, None, None, None, None]),
        ("round-robin", ["a", "b", "c", "a", "b"]),
        ("partition", ["a", "c", "b", "b", "a"]),
    ],
)
def test_homes(log: Path, homes: str, expected: list[str | None]) -> None:
    result = converted(log, "a:512,b:512,c:512", homes=homes)
    assert [job.extra.get(HOME) for job in result.jobs] == expected


def test_a_group_lives_together_and_an_unknown_one_where_its_users_do(log: Path) -> None:
    homes = [job.extra.get(HOME) for job in converted(log, "8x64", homes="group").jobs]
    five, six = (f"site{find_home_of_user(parse_sites('8x64'), name) + 1}" for name in "56")
    assert homes == [five, six, five, None, six]


def test_a_partition_that_is_no_site(log: Path) -> None:
    with pytest.raises(UsageError, match=r"job 2 .* partition 3, expected 1\.\.2"):
        converted(log, "256,256", homes="partition")


def test_round_robin_counts_jobs_before_they_are_split(log: Path) -> None:
    """Job 1 is of two parts, and job 2 is at home at the second site all the same."""
    result = converted(log, "a:128,b:64,c:100", homes="round-robin", split="local")
    assert shown(result) == [
        ("1.1", 128, "a"),
        ("1.2", 72, "a"),
        ("2", 1, "b"),
        ("7.1", 100, "c"),
        ("7.2", 28, "c"),
        ("8", 70, "a"),
        ("9.1", 64, "b"),
        ("9.2", 64, "b"),
        ("9.3", 1, "b"),
    ]
    assert len(result.notes) == len(converted(log, homes="user").notes) + 1


@pytest.mark.parametrize(("name", "value"), [("homes", "round-robin"), ("split", "local")])
def test_rules_on_sites_need_sites(log: Path, name: str, value: str) -> None:
    rules = {name: value}
    with pytest.raises(UsageError, match=f"{name} {value} without sites"):
        converted(log, **rules)
    with pytest.raises(UsageError, match=f"{name} {value} without sites"):
        Run(rules=make_rules(**rules)).check()  # before the log is read, and a campaign begins


def test_rules_that_change_nothing_are_not_stored() -> None:
    """Workload files and results are what they were before there were such rules."""
    assert not {"job_numbers", "homes", "split"} & as_dict(make_rules()).keys()
    rules = make_rules(job_numbers="010 - 20", homes="group", split="64")
    stored = as_dict(rules)
    assert (stored["job_numbers"], stored["homes"], stored["split"]) == ("10-20", "group", 64)
    assert describe(rules).endswith("split=64")


def area(jobs: list[WorkloadJob]) -> int:
    return sum(job.size for job in jobs)


SITES = "a:7,b:30,c:1"


@given(
    st.lists(st.tuples(st.integers(1, 100), st.sampled_from(["x", "y", None])), max_size=12),
    st.one_of(st.sampled_from(["local", "largest"]), st.integers(1, 120)),
    st.booleans(),
)
def test_splitting_conserves_work_and_leaves_nothing_too_wide(
    drawn: list[tuple[int, str | None]], split: Split, in_turn: bool
) -> None:
    sites = parse_sites(SITES)
    jobs = [
        WorkloadJob(id=str(at), submit_time=at, size=size, profile="p", user=user)
        for at, (size, user) in enumerate(drawn)
    ]
    if in_turn:
        for at, job in enumerate(jobs):
            job.extra[HOME] = sites[at % len(sites)].name
    notes: list[str] = []
    result = split_jobs(jobs, split, sites, notes)
    assert len({job.id for job in result}) == len(result)
    assert bool(notes) == (len(result) > len(jobs))
    sizes = {site.name: site.size for site in sites}
    for whole in jobs:
        parts = [job for job in result if job.id.partition(".")[0] == whole.id]
        assert area(parts) == whole.size
        assert {(job.submit_time, job.user) for job in parts} == {(whole.submit_time, whole.user)}
        assert len({job.extra.get(HOME) for job in parts}) == 1
        home = parts[0].extra.get(HOME)
        limit = {"local": sizes.get(home or "", 0), "largest": 30}.get(str(split), split)
        assert isinstance(limit, int)
        assert all(job.size <= limit for job in parts)
        assert sum(job.size < limit for job in parts) <= 1  # a remainder
        if in_turn:
            assert home == whole.extra[HOME]


def test_the_jobs_of_the_thesis(shared: Path) -> None:
    """Numbers of this part have no gap; splitting changes the number of jobs, not their area."""
    path = shared / "swf" / "CTC-SP2-1996-3.1-cln.swf.gz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    jobs = converted(path, job_numbers="10000-19999").jobs
    assert (len(jobs), jobs[0].id, jobs[-1].id) == (10_000, "10000", "19999")
    assert max(job.size for job in jobs) == 320
    split = converted(path, "m128", job_numbers="10000-19999", split=64)
    assert area(split.jobs) == area(jobs)
