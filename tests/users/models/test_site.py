"""Site-level users: reactions by hand, invariants of whole runs, and what is learnt from logs."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import pytest

from batsched_py.errors import InputError, UsageError
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import DAY, HOUR, WEEK
from batsched_py.workload import Workload
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.empirical_distributions import About, Probabilities, Quantiles
from batsched_users.behaviour.weekly_activity import ActivityCycle
from batsched_users.learning.ideal_machine import PlayedJob, play_model
from batsched_users.learning.learn_site import (
    learn_site,
    measure_facts,
)
from batsched_users.models.site import SiteDistributions, SiteUsers
from helpers.drawn_sessions import log_of

MINUTE = 60.0
START = 1_704_067_200.0  # Monday 2024-01-01, 0:00 UTC


def machine(nb_res: int = 64, start: float = START) -> Workload:
    return log_of([], nb_res, start)


def table(**of: float) -> Probabilities:
    pairs = tuple((float(name[1:]), share) for name, share in of.items())
    return Probabilities(About(name="t", unit="", description=""), pairs)


def exactly(seconds: float) -> Quantiles:
    return Quantiles(About(name="q", unit="", description=""), ((0, seconds), (1, seconds)))


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    """Everything is certain: 2 jobs a batch, the same 3 times, think 5 minutes, rest 2 hours."""
    SiteDistributions(
        think_times=exactly(5 * MINUTE),
        breaks=exactly(2 * HOUR),
        batch_widths=table(v2=1),
        sizes=table(v4=0.5, v8=0.5),
        run_times=Quantiles(About(name="r", unit="", description=""), ((0, 100), (1, 1000))),
        repetitions=table(v3=1),
        requested_times=exactly(600),
    ).write(tmp_path)
    return tmp_path


def by_user(played: list[PlayedJob]) -> dict[str, list[list[PlayedJob]]]:
    """The batches of each user."""
    by_number: dict[str, dict[int, list[PlayedJob]]] = defaultdict(lambda: defaultdict(list))
    for submission in played:
        by_number[submission.job.user or ""][submission.job.extra["batch"]].append(submission)
    return {user: list(batches.values()) for user, batches in by_number.items()}


def cycle_of(users: SiteUsers, name: str) -> ActivityCycle:
    return users._users[int(name) - 1].cycle


@pytest.mark.parametrize(
    ("goes_on", "last_job", "start"),
    [(True, "submitted", 0), (True, "ended", 3 * DAY + 7_000.5), (False, "submitted", 0)],
)
def test_thinking_resting_and_sleeping(
    fixed: Path, goes_on: bool, last_job: str, start: float
) -> None:
    """Who always goes on thinks 5 minutes, who never does rests 2 hours.

    Until the window closes; then, and if it is closed after the rest, the user sleeps. A new
    session begins at the opening, and nothing after the horizon.
    """
    load = machine(start=START + start)
    calendar = Calendar.of(load)
    options: dict[str, Any] = {"continuation": float(goes_on), "last_job": last_job}
    users = SiteUsers(load, nb_users=20, weeks=2, distributions=fixed, **options)
    sleeps = 0
    for name, batches in by_user(list(play_model(users))).items():
        cycle = cycle_of(users, name)
        assert cycle.is_open(calendar, batches[0][0].submit)
        for batch, after in pairwise(batches):
            assert len({p.submit for p in batch}) == 1
            end = batch[-1].end if last_job == "submitted" else max(p.end for p in batch)
            thinks = goes_on and cycle.is_open(calendar, end)
            if thinks:
                expected = end + 5 * MINUTE
            else:
                back = end + 2 * HOUR if cycle.is_open(calendar, end) else end
                expected = cycle.next_opening(calendar, back)
                sleeps += expected != back
            assert after[0].submit == expected < 2 * WEEK
            assert after[0].job.extra["session"] == batch[0].job.extra["session"] + (not thinks)
    assert sleeps > 50
    assert users.next_submission() == inf


def test_a_size_and_run_time_are_repeated_across_batches(fixed: Path) -> None:
    """2 jobs a batch, 3 of a kind: a kind ends in the middle of every other batch."""
    users = SiteUsers(machine(), nb_users=5, weeks=2, distributions=fixed)
    kinds = set()
    for batches in by_user(list(play_model(users))).values():
        assert all(len(batch) == 2 for batch in batches)
        jobs = [(p.job.size, p.job.profile) for batch in batches for p in batch]
        for at in range(0, len(jobs) - 2, 3):
            assert jobs[at] == jobs[at + 1] == jobs[at + 2]
        kinds.update(jobs)
    assert {size for size, _ in kinds} == {4, 8}
    assert len(kinds) > 100


def test_what_jobs_carry(fixed: Path) -> None:
    """Running numbers as ids, and the think time on the first job of a batch that had one."""
    users = SiteUsers(machine(), nb_users=3, weeks=1, distributions=fixed, continuation=1)
    played = list(play_model(users))
    assert [p.job.id for p in played] == [str(n + 1) for n in range(len(played))]
    for batches in by_user(played).values():
        assert set(batches[0][0].job.extra) == {"session", "batch"}
        for before, (first, second) in pairwise(batches):
            assert first.job.extra["think_time"] == first.submit - before[-1].end
            assert "think_time" not in second.job.extra
    for submission in played:
        assert submission.job.walltime is None
        assert submission.job.estimate == submission.end - submission.submit  # exact


def test_the_response_is_in_minutes(fixed: Path) -> None:
    asked: list[float] = []

    def continuation(response: float) -> float:
        asked.append(response)
        return 1.0

    users = SiteUsers(machine(), weeks=1, distributions=fixed, continuation=continuation)
    responses = {round((p.end - p.submit) / MINUTE, 6) for p in play_model(users)}
    assert len(asked) > 100
    assert {round(response, 6) for response in asked} <= responses


def test_wide_jobs(fixed: Path) -> None:
    """A machine of 5: sizes are 4 if redrawn, 4 and 5 if cut, and none fits on 3."""
    sizes = {}
    for too_wide in ("redraw", "cut"):
        users = SiteUsers(machine(5), nb_users=5, weeks=1, distributions=fixed, too_wide=too_wide)
        sizes[too_wide] = {p.job.size for p in play_model(users)}
    assert sizes == {"redraw": {4}, "cut": {4, 5}}
    with pytest.raises(UsageError, match="up to 3"):
        SiteUsers(machine(3), distributions=fixed)


def test_parts_that_are_left_out(fixed: Path) -> None:
    """A batch is one job, each job of its own kind and not too long, and nobody ever sleeps.

    Everybody asks for 600 s, or for what it takes if it is longer.
    """
    left_out: dict[str, Any] = {"batches": False, "locality": False, "sleep": False}
    users = SiteUsers(
        machine(),
        nb_users=1,
        weeks=1,
        distributions=fixed,
        longest_run_time=800,
        estimates="learnt",
        **left_out,
    )
    played = list(play_model(users))
    for before, after in pairwise(played):
        assert after.submit - before.end in (5 * MINUTE, 2 * HOUR)
    run_times = [p.end - p.submit for p in played]
    assert 600 < max(run_times) <= 800
    assert len(set(run_times)) > 0.7 * len(run_times) > 20
    assert [p.job.estimate for p in played] == [max(600, run) for run in run_times]


def test_wrong_folders(fixed: Path) -> None:
    (fixed / "requested_times.json").unlink()
    with pytest.raises(UsageError, match="requested_times"):
        SiteUsers(machine(), distributions=fixed, estimates="learnt")
    sizes = fixed / "sizes.json"
    for text, message in (
        ((fixed / "breaks.json").read_text(), "probabilities"),
        ((fixed / "repetitions.json").read_text().replace("[3, 1", "[1.5, 1"), "1.5"),
    ):
        sizes.write_text(text)
        with pytest.raises(InputError, match=rf"sizes\.json: .*{message}"):
            SiteUsers(machine(), distributions=fixed)


def log(*rows: tuple[str, float, float, int], start: float = START) -> Workload:
    """A log of (user, submission, end, size) without waits; everybody asks for 10 hours."""
    jobs = [J(at, size, end - at, 10 * HOUR, user, end) for user, at, end, size in rows]
    return msgspec.structs.replace(workload(jobs, 64), unix_start_time=start)


def test_pooling() -> None:
    """Two logs of 1 and 3 jobs: sizes count per job, or each log for a half."""
    one = log(("a", 0, 1, 1), ("a", 60, 61, 1), ("a", 3600, 3601, 1))
    other = log(("b", 0, 1, 2), ("b", 60, 61, 2), ("b", 3600, 3601, 2), *[("c", 0, 9, 2)] * 3)
    assert learn_site([one, other]).sizes.pairs == ((1, 0.333333), (2, 0.666667))
    assert learn_site([one, other], weight="logs").sizes.pairs == ((1, 0.5), (2, 0.5))
    with pytest.raises(UsageError, match="jobs, logs"):
        learn_site([one], weight="users")


def test_what_is_a_think_time_and_what_a_break() -> None:
    """From 20 minutes to 8 hours it is a break; longer ones are neither."""
    rows, at = [], 0.0
    for pause in (0, 100, 20 * MINUTE, 8 * HOUR, 8 * HOUR + 1, 0):
        rows.append(("a", at, at + 50, 4))
        at += 50 + pause
    learnt = learn_site([log(*rows)])
    assert [learnt.think_times.quantile(p) for p in (0, 0.5, 1)] == [0, 0, 100]
    assert [learnt.breaks.quantile(p) for p in (0, 1)] == [20 * MINUTE, 8 * HOUR]
    assert learnt.breaks.about.observations == 2


def test_logs_that_cannot_be_learnt_from() -> None:
    small = log(("a", 0, 100, 4), ("b", 10, 70, 1), ("a", 50, 60, 4))
    small.jobs[1].finish_time = None
    with pytest.raises(UsageError, match="job 0001"):
        learn_site([small])
    small.jobs[0].user = None
    with pytest.raises(UsageError, match="job 0000"):
        measure_facts(small)
    with pytest.raises(UsageError, match="think_times"):
        learn_site([])
