"""A run beside the log that it replays: what is compared, and what comes out where it is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isnan, log1p, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from batsched_py.calibration import PolicyCalibrations, calibration, calibrations
from batsched_py.calibration.agreement import estimate_agreement
from batsched_py.calibration.matched_jobs import match_jobs
from batsched_py.calibration.run_calibration import compute_usual_waits
from batsched_py.calibration.time_series import measure_backlog, measure_utilisation
from batsched_py.calibration.verdict import describe_calibration
from batsched_py.calibration.week_bootstrap import (
    RESAMPLES,
    Weeks,
    _draws,
    correlate_ranks,
    estimate_rank_correlation,
)
from batsched_py.errors import InputError, LogError, UsageError
from batsched_py.units import DAY, HOUR, WEEK
from helpers.calibrated import PROCESSORS, RULES, busy_log, log_of, recorded_by, table_of, under
from helpers.calling import command
from helpers.examples import few_examples


def test_the_policy_that_made_the_log_is_perfect_and_another_is_not(tmp_path: Path) -> None:
    log = recorded_by("easy", busy_log(), tmp_path / "easy.swf")
    found = calibrations(log, {"easy": under("easy", log), "fcfs": under("fcfs", log)})
    perfect, other = found.policies.values()
    assert found.site == "easy"
    assert perfect.jobs.compared == len(log)
    assert perfect.agreement.mean_recorded.value > HOUR  # there are queues
    assert perfect.agreement.bias.value == pytest.approx(0, abs=1e-3)
    for name in ("rank_correlation", "share_explained", "near", "at_once_agree"):
        assert getattr(perfect.agreement, name).value == pytest.approx(1, abs=1e-6)
    assert perfect.backlog.work.correlation.value == pytest.approx(1)
    assert perfect.utilisation.simulated == pytest.approx(perfect.utilisation.recorded)
    assert all(group.reproduced is not False for group in perfect.groups)
    assert perfect.users.nb_near == perfect.users.nb == 14
    assert other.agreement.rank_correlation.value < 0.95
    assert other.agreement.bias.value > HOUR
    (difference,) = (each for each in found.differences if each.other == "fcfs")
    assert difference.share_explained.low > 0  # the weeks are enough to tell
    assert difference.absolute_bias is not None
    assert difference.absolute_bias.high < 0


def test_a_closer_policy_is_named_first(tmp_path: Path) -> None:
    """It is how operators find that they simulated another policy than theirs."""
    log = recorded_by("easy", busy_log(), tmp_path / "easy.swf")
    easy, fcfs = under("easy", log), under("fcfs", log)
    first, *_ = describe_calibration(calibrations(log, {"fcfs": fcfs, "easy": easy}))
    closer = "easy is clearly closer to the log than fcfs (rank correlation 1.00, mean wait +0 %)"
    assert first.startswith(f"{closer}: if it is the policy of your site, calibrate again")
    first, *_ = describe_calibration(calibrations(log, {"easy": easy, "fcfs": fcfs}))
    assert first.startswith("Under easy, jobs wait ")


def test_measures_of_four_jobs_by_hand() -> None:
    """Waits of 0, 30, 60 and 120 min were recorded; the simulation has 0, 0, 90 and 90 min."""
    recorded, simulated = [0.0, 1800, 3600, 7200], [0.0, 0, 5400, 5400]
    log = log_of(recorded)
    said = calibration(log, table_of(log, simulated)).agreement
    assert said.mean_recorded.value == 3150
    assert said.mean_simulated.value == 2700
    assert said.median_recorded.value == said.median_simulated.value == 2700
    assert said.bias.value == -450
    assert said.relative_bias.value == pytest.approx(-1 / 7)
    # Ranks 1 2 3 4 and 1.5 1.5 3.5 3.5.
    assert said.rank_correlation.value == pytest.approx(4 / np.sqrt(5 * 4))
    assert said.at_once_recorded.value == 1 / 4
    assert said.at_once_simulated.value == 1 / 2
    assert said.at_once_agree.value == 3 / 4
    assert said.near.value == 3 / 4
    y, f = ([log1p(wait / 60) for wait in waits] for waits in (recorded, simulated))
    errors = sum((a - b) ** 2 for a, b in zip(y, f, strict=True))
    total = sum((a - sum(y) / 4) ** 2 for a in y)
    assert said.share_explained.value == pytest.approx(1 - errors / total)
    numbers = calibration(log, table_of(log, simulated)).numbers  # of a campaign
    assert (numbers["bias"], numbers["compared_jobs"]) == (-450, 4)
    assert all(isinstance(value, float) for value in numbers.values())


def test_each_job_that_is_not_compared_is_counted_once() -> None:
    """Of 7 jobs one is unknown, one cancelled, one refused, one dropped, one of the warm-up."""
    log = log_of([5.0, -1, 400, 10, 10, 10, 10])
    log.data[2, 10], log.data[2, 3] = 5, 0  # cancelled in the queue
    table = table_of(log, [5.0, 0, 0, nan, 10, 10, 10])
    table = table.select(np.array([0, 1, 2, 3, 5, 6]))
    table.texts = {"job_id": ["1", "2", "3", "4", "6", "99"]}
    table.measured[0] = False
    counts = calibration(log, table).jobs
    assert counts.in_log == 7
    assert (counts.unknown_wait, counts.never_began, counts.refused) == (1, 1, 1)
    assert (counts.dropped, counts.not_measured, counts.compared) == (2, 1, 1)
    assert counts.not_in_log == 1

    cut = log_of([0.0] * 10, requested_time=50)
    assert calibration(cut, under("easy", cut)).jobs.other_run_time == 10


def test_where_nobody_waited_shares_and_correlations_are_unknown() -> None:
    log = log_of([0.0] * 50)
    found = calibration(log, table_of(log, np.arange(50.0).tolist()))
    said = found.agreement
    for name in ("rank_correlation", "share_explained", "relative_bias"):
        assert isnan(getattr(said, name).value)
        assert not getattr(said, name).is_known
    assert said.bias.value == pytest.approx(24.5)
    assert said.bias.is_known


@pytest.mark.parametrize(("weeks", "known"), [(1, False), (4, False), (5, True)])
def test_few_weeks_have_no_interval(weeks: int, known: bool) -> None:
    log = log_of([10.0, 500] * 40, weeks)
    found = calibration(log, table_of(log, [10.0, 900] * 40))
    assert found.weeks == weeks
    assert found.agreement.bias.value == 200
    assert found.agreement.bias.is_known is known
    assert (found.by_size_and_hour is None) == (weeks == 1)
    if not known:
        assert {group.reproduced for group in found.groups} == {None}


def test_groups_by_hour_size_partition_request_and_user() -> None:
    """Jobs of partition 2 wait an hour in the simulation, as recorded; those of 1 three hours."""
    nb = 600
    partition = np.where(np.arange(nb) % 2, 2, 1)
    log = log_of(
        [HOUR] * nb,
        partition=partition,
        requested_processors=np.where(partition == 1, 3, 1),
        user=np.arange(nb) % 12,
    )
    waits = np.where(partition == 1, 3 * HOUR, HOUR) + np.arange(nb) / nb
    found = calibration(log, table_of(log, waits.tolist()))
    one, two = sorted(found.of_kind("partition"), key=lambda group: group.name)
    assert (one.jobs, one.reproduced, two.reproduced) == (300, False, True)
    assert one.mean_simulated == pytest.approx(3 * HOUR, rel=1e-3)
    assert [group.name for group in found.of_kind("size")] == ["1", "3 to 4"]
    assert [group.name for group in found.of_kind("requested time")] == ["up to 10 min"]
    assert len(found.of_kind("user")) == 10
    assert (found.users.nb, found.users.nb_near) == (12, 6)
    assert len(found.of_kind("hour")) == 24
    assert not found.of_kind("weekday")  # second 0 has no date
    small = [group for group in found.of_kind("hour") if group.is_small]
    assert small
    assert all(isnan(group.rank_correlation) and group.reproduced is None for group in small)


def test_intervals_of_a_group_are_of_the_weeks_that_have_its_jobs() -> None:
    """User 2 has 40 jobs in four of ten weeks, user 3 in all: of four weeks nothing is known."""
    nb = 800
    user = np.where(np.arange(nb) % 20 < 2, 3, 1)
    user[(np.arange(nb) < 320) & (np.arange(nb) % 8 == 4)] = 2
    log = log_of([HOUR] * nb, 10, user=user)
    found = calibration(log, table_of(log, [4 * HOUR] * nb))
    of_user = {group.name: group for group in found.of_kind("user")}
    assert (of_user["2"].jobs, of_user["2"].bias.nb, of_user["2"].reproduced) == (40, 4, None)
    assert (of_user["3"].bias.nb, of_user["3"].reproduced) == (10, False)


def test_the_usual_wait_is_that_of_other_weeks() -> None:
    """Of size 0 an hour was waited in week 1, two in week 2; of size 1 a minute in 2."""
    recorded = np.array([3600.0, 7200, 60])
    weeks = Weeks(np.array([0.0, 9 * DAY, 11 * DAY]))
    same_hour = np.zeros(3, dtype=np.intp)
    waits = compute_usual_waits(recorded, weeks, np.array([0, 0, 1]), same_hour)
    assert waits is not None
    assert waits.tolist() == pytest.approx([7200, 3600, 3600])  # the last one: of all elsewhere
    assert compute_usual_waits(recorded, Weeks(np.zeros(3)), same_hour, same_hour) is None


def test_tables_that_are_not_of_the_log_are_refused() -> None:
    unknown = log_of([-1.0, -1])
    with pytest.raises(LogError, match="none of its 2 jobs"):
        calibration(unknown, table_of(unknown, [0.0, 0]))
    log = log_of([10.0, 10])
    later = table_of(log, [10, 10]).submit + 500
    for waits, columns, words in (
        ([10, 10], {"texts": {}}, "no ids"),
        ([10, 10], {"texts": {"job_id": ["7", "8"]}}, "no job"),
        ([10, 10], {"texts": {"job_id": ["1", "1"]}}, "id 1"),
        ([10, 10], {"submit": later}, "job 1 was submitted"),
        ([nan, nan], {}, "2 refused"),
    ):
        with pytest.raises(UsageError, match=words):
            calibration(log, table_of(log, waits, **columns))
    century = log_of([10.0, 10], submit_time=[0, 5e9])
    with pytest.raises(InputError, match="50 years"):
        calibration(century, table_of(century, [10, 10]))


# Intervals by weeks, ranks and series ------------------------------------------------------------


waits = st.lists(
    st.tuples(*2 * [st.one_of(st.just(0.0), st.integers(0, 10**6).map(float))]),
    min_size=2,
    max_size=60,
)


@given(waits)
def test_the_rank_correlation_is_that_of_scipy(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    found = correlate_ranks(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert isnan(found)
    else:
        assert found == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


@settings(few_examples)
@given(waits)
def test_measures_are_bounded_and_change_sides_as_they_should(
    pairs: list[tuple[float, float]],
) -> None:
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    weeks = Weeks(np.linspace(0, 6 * WEEK, len(a)))
    there, back = estimate_agreement(weeks, a, b), estimate_agreement(weeks, b, a)
    for name in ("at_once_recorded", "at_once_simulated", "at_once_agree", "near"):
        interval = there[name].interval
        assert 0 <= interval.value <= 1
        assert not interval.is_known or 0 <= interval.low <= interval.value <= interval.high <= 1
    assert there["bias"].value == pytest.approx(-back["bias"].value, abs=1e-6)
    for name in ("near", "at_once_agree", "rank_correlation"):
        assert there[name].value == pytest.approx(back[name].value, nan_ok=True)
    assert not there["share_explained"].value > 1
    assert not abs(there["rank_correlation"].value) > 1


def test_resampled_ranks_have_the_spread_of_the_exact_ones() -> None:
    """Half of the jobs start at once; the twin ranks every job of each resample anew."""
    rng = np.random.default_rng(3)
    nb, nb_weeks = 1_500, 12
    times = np.sort(rng.uniform(0, nb_weeks * WEEK, nb))
    level = rng.normal(size=nb_weeks)[(times // WEEK).astype(int)]
    a = np.where(rng.random(nb) < 0.5, 0.0, np.exp(6 + level + rng.normal(size=nb)))
    b = np.where(rng.random(nb) < 0.3, a, np.exp(5 + rng.normal(size=nb)))
    weeks = Weeks(times)
    found = estimate_rank_correlation(weeks, a, b)
    rows = [np.flatnonzero(weeks.number == week) for week in range(weeks.nb)]
    for draw in range(0, RESAMPLES, 50):
        drawn = np.concatenate(
            [np.tile(rows[week], int(times)) for week, times in enumerate(_draws(weeks.nb)[draw])]
        )
        exact = correlate_ranks(a[drawn], b[drawn])
        assert found.drawn[draw] == pytest.approx(exact, abs=0.01)


def test_a_rest_at_the_end_is_of_the_week_before_and_empty_weeks_do_not_count() -> None:
    assert Weeks(np.array([0.0, 6, 7, 13, 16]) * DAY).number.tolist() == [0, 0, 1, 1, 1]
    assert Weeks(np.array([0.0, 30, 31]) * DAY).nb == 2
    assert Weeks(np.array([0.0, 3]) * DAY).nb == 1


Job = tuple[int, int, int, int, int]
jobs = st.lists(
    st.tuples(
        st.integers(0, 40 * 3600),  # submission
        st.integers(0, 30 * 3600),  # recorded wait
        st.integers(0, 30 * 3600),  # simulated wait
        st.integers(0, 20 * 3600),  # run time
        st.integers(1, 4),  # processors
    ),
    min_size=1,
    max_size=12,
)


def overlap(begin: float, end: float, low: float, high: float) -> float:
    """Return for how long two intervals are both there."""
    return max(0.0, min(end, high) - max(begin, low))


@given(jobs)
def test_the_backlog_is_the_sum_over_jobs_of_their_time_in_each_hour(drawn: list[Job]) -> None:
    drawn = sorted(drawn)
    submit, recorded, simulated, run, size = (
        np.array(column, float) for column in zip(*drawn, strict=True)
    )
    log = log_of(recorded.tolist(), submit_time=submit, run_time=run, requested_processors=size)
    found = measure_backlog(match_jobs(log, table_of(log, simulated.tolist()))[0])
    columns: list[tuple[list[float], NDArray[np.float64]]] = [
        (found.jobs.recorded, recorded),
        (found.jobs.simulated, simulated),
    ]
    for series, wait in columns:
        for hour, value in enumerate(series):
            low = found.jobs.begin + hour * HOUR
            there = [
                overlap(begin, begin + waited, low, low + HOUR) / HOUR
                for begin, waited in zip(submit, wait, strict=True)
            ]
            assert value == pytest.approx(sum(there), abs=1e-3)
    weights = size * run / HOUR
    for work in found.work.simulated[:1]:  # there is none of a log that is shorter
        expected = [
            weight * overlap(begin, begin + waited, found.work.begin, found.work.begin + HOUR)
            for begin, waited, weight in zip(submit, simulated, weights, strict=True)
        ]
        assert work == pytest.approx(sum(expected) / HOUR, abs=1e-3)


def test_the_utilisation_by_week_is_of_whole_weeks() -> None:
    """A job of 8 of 16 processors runs all the first of two weeks; it began a day too late."""
    log = log_of(
        [0.0, 0, 0],
        submit_time=[0, WEEK, 2 * WEEK + DAY],
        run_time=[WEEK, 1, 1],
        requested_processors=8,
    )
    jobs, _ = match_jobs(log, table_of(log, [DAY, 0, 0]))
    found = measure_utilisation(jobs, PROCESSORS)
    assert found.weeks.recorded == pytest.approx([0.5, 0], abs=1e-4)
    assert found.weeks.simulated == pytest.approx([0.5 * 6 / 7, 0.5 / 7], abs=1e-4)
    assert found.recorded == pytest.approx(0.5 * 7 / 15, abs=1e-4)
    assert isnan(measure_utilisation(jobs, None).recorded)


# The command, and what it says of numbers that are known ------------------------------------------


SITE = ("--scheduler", "easy", "--rules", RULES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log, ``easy.swf``, that EASY made, of some weeks."""
    folder = tmp_path_factory.mktemp("calibrate")
    recorded_by("easy", busy_log(nb=400, weeks=6), folder / "easy.swf")
    return folder


@pytest.fixture(scope="module")
def stored(folder: Path) -> Any:
    """What the command writes of this log under EASY, with FCFS beside it."""
    done = command(folder, "calibrate", "easy.swf", *SITE, "-e", "out/site")
    assert done.returncode == 0, done.stderr
    (folder / "printed.txt").write_text(done.stdout)
    return json.loads((folder / "out" / "site_calibration.json").read_text())


def test_it_prints_the_verdict_and_the_policies(folder: Path, stored: Any) -> None:
    lines = (folder / "printed.txt").read_text().splitlines()
    assert set(stored["verdict"]) <= set(lines)
    (easy,) = [line for line in lines if line.startswith("easy ")]
    assert easy.split()[3:] == ["0.00", "0.00", "to", "0.00", "1.00", "1.00", *easy.split()[-2:]]
    page = (folder / "out" / "site_calibration.html").read_text()
    assert stored["verdict"][0][:60] in page
    for name in ("waits", "waits_by_hour", "backlog", "utilisation"):
        assert f'"{name}":{{' in page


def test_what_is_stored_has_all_numbers_and_no_time_of_day(folder: Path, stored: Any) -> None:
    assert list(stored["policies"]) == ["easy", "fcfs"]  # EASY is no baseline of itself
    easy, fcfs = stored["policies"].values()
    assert easy["agreement"]["rank_correlation"]["value"] == pytest.approx(1)
    assert fcfs["agreement"]["bias"]["value"] > 0
    assert easy["jobs"]["compared"] == 400
    assert len(easy["backlog"]["work"]["recorded"]) == len(fcfs["backlog"]["work"]["simulated"])
    assert {each["other"] for each in stored["differences"]} == {"fcfs", "by size and hour"}
    assert stored["run"]["scheduler"] == "easy"
    before = (folder / "out" / "site_calibration.json").read_bytes()
    assert command(folder, "calibrate", "easy.swf", *SITE, "-e", "again").returncode == 0
    assert (folder / "again_calibration.json").read_bytes() == before


def test_baselines_are_chosen_and_the_warm_up_is_left_out(folder: Path) -> None:
    arguments = ("--baseline", "conservative", "--warm-up", "1 week", "-e", "chosen")
    done = command(folder, "calibrate", "easy.swf", *SITE, *arguments)
    assert done.returncode == 0, done.stderr
    stored = json.loads((folder / "chosen_calibration.json").read_text())
    assert list(stored["policies"]) == ["easy", "conservative"]
    assert stored["policies"]["easy"]["jobs"]["not_measured"] > 0
    assert "empty at first" not in done.stderr
    done = command(folder, "calibrate", "easy.swf", *SITE, "--baseline", "none", "-e", "alone")
    assert done.returncode == 0, done.stderr
    assert "empty at first" in done.stderr
    assert list(json.loads((folder / "alone_calibration.json").read_text())["policies"]) == ["easy"]


# The words of a calibration, from numbers that are known -----------------------------------------


NB = 700


def drawn_waits(seed: int, spread: float = 1.0) -> NDArray[np.float64]:
    """Return waits around an hour."""
    return np.round(HOUR * np.exp(spread * np.random.default_rng(seed).normal(size=NB)))


def found(
    recorded: NDArray[np.float64],
    policies: dict[str, NDArray[np.float64]],
    weeks: int = 10,
    queue: Sequence[int] | int = 1,
) -> PolicyCalibrations:
    """Return the calibrations of policies under which jobs waited so long."""
    log = log_of(recorded.tolist(), weeks, queue=queue)
    return calibrations(log, {name: table_of(log, of.tolist()) for name, of in policies.items()})


def test_a_policy_that_knows_nothing_of_the_site() -> None:
    """Queue 2 waits for five hours more in the simulation, whatever was recorded."""
    queue = np.where(np.arange(NB) % 2, 2, 1)
    simulated = drawn_waits(1) + np.where(queue == 2, 5 * HOUR, 0)
    order, beside, groups, change = describe_calibration(
        found(drawn_waits(0), {"site": simulated, "easy": drawn_waits(0)}, queue=queue.tolist())
    )
    assert "correlation 0.04, -0.05 to 0.13)" in order
    assert "1.59 h in the log (+154, +122 to +188 %)" in order
    assert "easy (-3.20, -3.73 to -2.73)" in beside
    assert "1 of 2 queues (worst: 2, 6.61 h instead of 1.67 h)" in groups
    assert "2.71 h" in change
