"""Withdrawals of logs: counts and exposures by hand, published tables, and known habits again."""

from __future__ import annotations

from math import inf, log
from pathlib import Path

import msgspec
import numpy as np
import pytest

from batsched_py import simulate
from batsched_py.errors import InputError
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import DAY, HOUR, MINUTE
from batsched_py.workload.logs.swf import read_swf
from batsched_users.behaviour.withdrawal_habits import AGES, read_habits
from batsched_users.learning.learn_withdrawals import (
    find_attempts,
    fit_rates,
    learn_withdrawals,
    predict_second_half,
)
from batsched_users.measures.waiting_jobs import (
    WaitingJobs,
    estimate_share_withdrawn,
    find_events,
    find_waiting_jobs,
    measure_by_absence,
    measure_by_age,
)
from batsched_users.models.withdraws import Withdraws


def line(
    job: int,
    submit: int,
    wait: int,
    run: int,
    *,
    user: int = 1,
    size: int = 1,
    request: int = 100,
    queue: int = 1,
) -> str:
    """A job; with a run time of -1 or 0 it is withdrawn (status 5)."""
    status = 5 if run <= 0 else 1
    asked = f"{size} -1 -1 {size} {request} -1"
    return f"{job} {submit} {wait} {run} {asked} {status} {user} 1 -1 {queue} -1 -1 -1"


def waiting_jobs(folder: Path, *lines: str, **options: float) -> WaitingJobs:
    header = ["; UnixStartTime: 0", "; TimeZoneString: UTC", "; MaxProcs: 9"]
    (folder / "log.swf").write_text("\n".join([*header, *lines, ""]))
    return find_waiting_jobs(read_swf(folder / "log.swf"), **options)


def test_ages_and_shares_by_hand(tmp_path: Path) -> None:
    jobs = waiting_jobs(
        tmp_path,
        line(1, 0, 30, -1),
        line(2, 0, 90, 100),
        line(3, 0, 630, -1),
        line(4, 0, 700, 100),
        line(5, 0, 10, 100, queue=0),  # interactive
        line(6, 0, -1, 100),  # of unknown wait
        line(7, 0, 10, 0),  # failed at once: no withdrawal, since those have -1
    )
    counts, hours = measure_by_age(jobs)
    assert counts.tolist() == [1, 0, 1, 0, 0, 0, 0, 0]
    assert (hours * HOUR)[:4] == pytest.approx([30 + 3 * 60, 30 + 2 * 540, 30 + 100, 0])
    assert estimate_share_withdrawn(jobs, [29, 30, 629, 630, DAY]) == pytest.approx(
        [0, 1 / 4, 1 / 4, 1 - 3 / 4 * 1 / 2, 1 - 3 / 4 * 1 / 2]
    )


def test_events_and_attempts_by_hand(tmp_path: Path) -> None:
    jobs = waiting_jobs(
        tmp_path,
        line(1, 0, 100, -1, size=4),
        line(2, 0, 160, -1),  # 60 s later: the same event
        line(3, 0, 161, -1, user=2),
        line(4, 0, 221, -1),  # 61 s later
        line(5, 130, 500, 10, size=2, request=100),
        line(6, 800, 10, 10, request=50),
    )
    events = find_events(jobs)
    assert [event.tolist() for event in events] == [[0, 1], [3], [2]]
    first, second, third = find_attempts(jobs, events)
    assert (first.gap, first.wider, first.longer, first.kind) == (30, 0.5, 1.0, "smaller")
    assert (second.gap, second.kind) == (579, "smaller")
    assert third.gap == inf


def test_presence_by_hand(tmp_path: Path) -> None:
    """The clock starts on Thursday at 0:00; the user acts at 0, 100 and 8000."""
    jobs = waiting_jobs(
        tmp_path,
        line(1, 0, 9 * HOUR, -1),
        line(2, 100, 7000, 900),
        line(3, 9000, 0, 10, user=2),
    )
    counts, hours = measure_by_absence(jobs)
    by_step = (hours * HOUR).sum(axis=(1, 2))
    after_end = 9 * HOUR - 8000
    expected = [60 + 60 + 60, 40 + 540 + 540, 1200 + 1200, 1800 + 1800]
    expected += [7900 - HOUR + 3 * HOUR, after_end - 4 * HOUR]
    assert by_step[:6] == pytest.approx(expected)
    assert by_step.sum() == 9 * HOUR
    assert hours[:, 0, 0].sum() == pytest.approx(1)  # from 8:00 to 9:00
    assert hours[:, :, 1].sum() == 0
    assert counts[5, 0, 0] == counts.sum() == 1
    assert counts[1].sum() == 0


def test_a_log_that_stops_recording_is_cut(tmp_path: Path) -> None:
    rows = [line(1, 0, 100, -1), line(2, 50, 5000, 10), line(3, int(60 * DAY), 10, 10)]
    jobs = waiting_jobs(tmp_path, *rows)
    assert jobs.wait.tolist() == [100, 50]
    assert len(waiting_jobs(tmp_path, *rows[:2]).wait) == 2


def test_withdrawals_after_an_own_end_may_be_censored(tmp_path: Path) -> None:
    rows = [line(1, 0, 0, 100), line(2, 0, 104, -1), line(3, 0, 104, -1, user=2)]
    assert waiting_jobs(tmp_path, *rows).withdrawn.tolist() == [False, True, True]
    jobs = waiting_jobs(tmp_path, *rows, after_own_end=5.0)
    assert jobs.withdrawn.tolist() == [False, False, True]
    assert jobs.censored.tolist() == [False, True, False]


def test_nothing_to_learn(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no withdrawn job"):
        waiting_jobs(tmp_path, line(1, 0, 0, 100))


def test_fit_is_exact_for_a_product() -> None:
    hours = np.random.default_rng(1).uniform(50, 100, (8, 2, 2))
    rates = np.linspace(10, 1, 8)
    counts = hours * rates[:, None, None] * np.array([[1, 0.5], [0.25, 0.125]])
    fitted, night, weekend = fit_rates(counts, hours)  # type: ignore[arg-type]
    assert fitted * HOUR == pytest.approx(rates)
    assert (night, weekend) == pytest.approx((0.25, 0.5))


# Published tables -------------------------------------------------------------------------------

# Jobs, withdrawn, events, users who withdraw; per cent withdrawn by 1 min to 48 h; withdrawn jobs
# per 1,000 job-hours by age; share of events with another submission within 10 min;
# second half observed / expected by one rate, by age, by the last visible act
LOGS = {
    "SDSC-SP2-1998-4.2-cln": (
        (59_705, 5_671, 3_139, 280),
        (2.0, 8.2, 11.9, 14.7, 17.5, 26.2, 30.9),
        (1131, 459, 52, 11, 4.4, 10.1, 3.0, 1.3),
        62,
        (0.53, 0.98, 0.92),
    ),
    "SDSC-BLUE-2000-4.2-cln": (
        (133_396, 10_532, 6_589, 370),
        (1.1, 4.6, 7.2, 9.9, 12.4, 15.0, 18.1),
        (638, 254, 34, 10, 3.7, 2.5, 1.6, 1.1),
        57,  # 61 with submissions to the interactive queue
        (0.51, 0.61, 0.71),
    ),
    "SDSC-DS-2004-2.1-cln": (
        (89_376, 10_861, 5_288, 338),
        (1.8, 8.0, 13.2, 17.2, 21.1, 26.7, 31.5),
        (1057, 462, 71, 17, 6.2, 6.0, 2.8, 1.6),
        63,  # 64 with submissions to the interactive queue
        (0.77, 0.87, 0.84),
    ),
    "CEA-Curie-2011-2.1-cln": (
        (310_270, 10_276, 5_278, 423),
        (1.8, 6.5, 10.5, 13.7, 16.5, 21.6, 27.8),
        (1053, 346, 58, 13, 4.2, 5.0, 3.8, 2.0),
        68,
        (0.75, 0.71, 0.78),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
def test_published_tables(shared: Path, name: str) -> None:
    records = read_swf(shared / "swf" / f"{name}.swf.gz")
    own = 5.0 if name.startswith("CEA") else None
    jobs = find_waiting_jobs(records, after_own_end=own)
    numbers, shares, hazards, again, ratios = LOGS[name]
    events = find_events(jobs)
    users = len(np.unique(jobs.user[jobs.withdrawn]))
    assert (len(jobs.wait), jobs.withdrawn.sum(), len(events), users) == numbers
    ages = (MINUTE, 10 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR, DAY, 2 * DAY)
    assert [100 * s for s in estimate_share_withdrawn(jobs, ages)] == pytest.approx(
        shares, abs=0.11
    )
    counts, hours = measure_by_age(jobs)
    for rate, printed in zip(1000 * counts / hours, hazards, strict=True):
        assert rate == pytest.approx(printed, abs=0.51 if printed >= 10 else 0.051)
    attempts = find_attempts(jobs, events)
    soon = [attempt for attempt in attempts if attempt.gap < inf]
    assert 100 * len(soon) / len(attempts) == pytest.approx(again, abs=0.5)
    if name == "SDSC-SP2-1998-4.2-cln":
        acts, presence = measure_by_absence(jobs)
        by_step = 1000 * acts.sum(axis=(1, 2)) / presence.sum(axis=(1, 2))
        assert by_step == pytest.approx([1381, 303, 56, 18, 9.0, 2.7, 2.0, 1.4], rel=0.09)
        kinds = [sum(a.kind == kind for a in soon) / len(soon) for kind in ("same", "smaller")]
        assert kinds == pytest.approx([0.51, 0.29], abs=0.02)
        assert learn_withdrawals(records) == read_habits("sdsc_sp2")
    prediction = predict_second_half(jobs)
    assert (prediction.constant, prediction.by_age, prediction.by_absence) == pytest.approx(
        ratios, abs=0.035
    )
    assert 0.6 < prediction.by_absence_and_hours < 1.4
    assert abs(log(prediction.by_absence_and_hours)) < abs(log(prediction.constant))
    assert prediction.gain > 2  # nats for each event, over one constant rate


# Known habits -----------------------------------------------------------------------------------


def test_habits_are_learned_again_from_a_simulation(tmp_path: Path) -> None:
    """Users who withdraw by known rates: the rates that are learned lie within four errors."""
    known = read_habits("sdsc_sp2")
    generator = np.random.default_rng(3)
    jobs = [
        J(float(at), 1, float(run), float(run), str(user))
        for at, run, user in zip(
            np.sort(generator.uniform(0, 100 * DAY, 8000)).round(),
            generator.exponential(6 * HOUR, 8000).round() + 1,
            generator.integers(0, 40, 8000),
            strict=True,
        )
    ]
    load = msgspec.structs.replace(workload(jobs, 18, profile="delay"), unix_start_time=0.0)
    options = {"rate": 3.0}
    done = simulate(load, scheduler="fcfs", users=Withdraws, user_options=options, seed=1).jobs
    withdrawn = (done.final_state == "WITHDRAWN").to_numpy()
    left = np.where(withdrawn, done.withdrawal_time, done.starting_time)
    order = np.argsort(done.submission_time.to_numpy(), kind="stable")
    seen = WaitingJobs(
        user=done.user.astype(int).to_numpy()[order],
        submit=done.submission_time.to_numpy()[order],
        wait=(left - done.submission_time).to_numpy(np.float64)[order],
        run_time=np.where(withdrawn, 0.0, done.execution_time).astype(np.float64)[order],
        size=np.ones(len(done)),
        request=np.ones(len(done)),
        withdrawn=withdrawn[order],
        censored=np.zeros(len(done), bool),
        calendar=waiting_jobs(tmp_path, line(1, 0, 1, -1)).calendar,
    )
    assert withdrawn.sum() > 500
    counts, hours = measure_by_absence(seen)
    factors = np.array([[1.0, known.weekend], [known.night, known.night * known.weekend]])
    expected = 3 * np.array(known.user_rates)[:, None, None] / 1000 * factors * hours
    by_step, hoped = counts.sum(axis=(1, 2)), expected.sum(axis=(1, 2))
    assert (np.abs(by_step - hoped) < 4 * np.sqrt(hoped) + 1).all(), (by_step, hoped)
    by_hours, of_hours = counts.sum(axis=0), expected.sum(axis=0)
    assert (np.abs(by_hours - of_hours) < 4 * np.sqrt(of_hours) + 1).all(), (by_hours, of_hours)
    assert len(AGES) == len(counts)
