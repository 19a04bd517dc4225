"""Users who use less while energy is scarce: each lever by hand, and what never changes."""

from __future__ import annotations

import csv
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.errors import InvariantError, UsageError
from batsched_py.model.user_model import EndedJob
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import HOUR
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_users.behaviour.job_profiles import run_time_of
from batsched_users.behaviour.levers import (
    LEVERS,
    Reduction,
    choose_lever,
    read_levers,
    split_levers,
)
from batsched_users.learning.ideal_machine import PlayedJob, play_model
from batsched_users.models import rigid
from batsched_users.models.sufficient import Sufficient
from helpers.calling import command
from helpers.drawn_sessions import log_of_stays
from helpers.examples import few_examples
from helpers.sealed_runs import unsealed

WINDOW = "1:00-2:00"
"""Second 0 of the logs here is a midnight."""
IN_IT = HOUR + 60
RIGID = f"{rigid.__file__}:Rigid"


def log_of(*jobs: tuple[float, int, float]) -> Workload:
    """A log of (submission, size, run time) of one user, with walltimes of twice the run time."""
    return workload([J(at, size, run, 2 * run, "u", at + run) for at, size, run in jobs], 16)


def played(log: Workload, red: str, **options: Any) -> list[PlayedJob]:
    """What is submitted where nobody waits."""
    return list(play_model(Sufficient(log, signal=WINDOW, red=red, **options)))


def run_time(users: Sufficient, job: Any) -> float:
    return run_time_of(users.profiles[job.profile])


# Each lever by hand -----------------------------------------------------------------------------


def test_delay() -> None:
    """What comes in the window comes at its end, in its order, before what comes then."""
    log = log_of((0, 1, 10), (IN_IT, 1, 10), (IN_IT + 5, 1, 10), (2 * HOUR, 1, 10))
    jobs = played(log, "delay")
    assert [(p.submit, p.job.id) for p in jobs] == [
        (0, "0000"),
        (2 * HOUR, "0001"),
        (2 * HOUR, "0002"),
        (2 * HOUR, "0003"),
    ]
    assert jobs[0].job.extra == jobs[3].job.extra == {}
    assert jobs[2].job.extra == {"lever": "delay", "wished_submission_time": IN_IT + 5}
    assert [p.job.original_submission_time for p in jobs] == [job.submit_time for job in log.jobs]


@pytest.mark.parametrize(
    ("lever", "size", "longer"),
    [
        ("reconfiguration", 3, 5 / 3),  # half of five, rounded up, and the same work
        ("space_degradation", 3, 1),
        ("time_degradation", 5, 0.5),
    ],
)
def test_smaller_jobs(lever: str, size: int, longer: float) -> None:
    """Size, run time, walltime and estimate; times are not touched, nor are jobs outside."""
    log = log_of((0, 5, 60), (IN_IT, 5, 60))
    log.jobs[1].estimate = 90
    users = Sufficient(log, signal=WINDOW, red=lever)
    before, inside = (p.job for p in play_model(users))
    assert before is log.jobs[0]
    assert (inside.size, run_time(users, inside)) == (size, pytest.approx(60 * longer))
    assert inside.walltime == pytest.approx(120 * longer)
    assert inside.estimate == pytest.approx(90 * longer)
    assert inside.extra == {"lever": lever}


@pytest.mark.parametrize(
    ("options", "lever", "size", "expected"),
    [
        # 100 times 0.55 is 55.000000000000007 to a machine.
        ({"space_factor": 0.55}, "space_degradation", 100, (55, 1)),
        ({"space_factor": 0.07}, "space_degradation", 100, (7, 1)),
        # A speedup that is not perfect: on a quarter of the processors, twice as long.
        ({"space_factor": 0.25, "alpha": 0.5}, "reconfiguration", 8, (2, pytest.approx(2))),
    ],
)
def test_factors(options: Any, lever: str, size: int, expected: tuple[int, float]) -> None:
    assert Reduction(**options).apply(lever, size) == expected


STATES = "time,state\n0,yellow\n100,red\n200,yellow\n300,green\n"


def test_a_job_is_delayed_to_the_next_better_state(tmp_path: Any) -> None:
    """From red into yellow, where it is submitted, or, asked again, delayed into green."""
    (tmp_path / "s.csv").write_text(STATES)
    options: dict[str, Any] = {"signal": str(tmp_path / "s.csv"), "yellow": "delay"}
    log = log_of((150, 1, 10))
    (once,) = play_model(Sufficient(log, **options))
    (twice,) = play_model(Sufficient(log, **options, again=True))
    assert (once.submit, twice.submit) == (200, 300)
    options["yellow"] = "time_degradation"
    (both,) = play_model(Sufficient(log, **options, again=True))
    assert both.job.extra == {"lever": "delay+time_degradation", "wished_submission_time": 150}
    assert split_levers(both.job.extra["lever"]) == ["delay", "time_degradation"]


# What is counted --------------------------------------------------------------------------------


def test_what_is_counted(tmp_path: Any) -> None:
    """Two while it is yellow have half of their time, and so have two that are delayed from red
    into yellow and asked again there; the last comes while it is green, and ends at 410."""
    (tmp_path / "s.csv").write_text(STATES)
    log = log_of((50, 1, 10), (120, 2, 10), (150, 1, 10), (210, 1, 10), (400, 1, 10))
    users = Sufficient(
        log, signal=str(tmp_path / "s.csv"), yellow="time_degradation", again=True, red="delay"
    )
    list(play_model(users))
    assert users.statistics() == {
        "jobs": 5,
        "levers": {"delay": 2, "time_degradation": 4},
        "seconds": {"red": 100, "yellow": 150, "all": 360},
        "summary": "levers: delay 2, time_degradation 4 of 5 jobs; red for 100 s, yellow for "
        "2.5 min of 6 min",
    }


def test_what_is_not_changed_is_not_counted() -> None:
    """One processor is not halved, and a job that is renounced is told of nowhere else."""
    log = log_of((IN_IT, 1, 10), (IN_IT, 2, 10), (3 * HOUR, 1, 10))
    users = Sufficient(log, signal=WINDOW, red="space_degradation")
    list(play_model(users))
    assert users.statistics()["levers"] == {"space_degradation": 1}
    users = Sufficient(log, signal=WINDOW, red="renounce")
    assert [p.job.id for p in play_model(users)] == ["0002"]
    told = users.statistics()
    assert (told["jobs"], told["levers"], told["seconds"]["red"]) == (3, {"renounce": 2}, 3540)


def test_what_was_done_is_told_at_the_end(tmp_path: Any) -> None:
    """As the column has it, on the terminal and in ``_run.json``, by member of a population."""
    (tmp_path / "p.toml").write_text(
        '[[member]]\nmodel = "sufficient"\nname = "all"\nrest = true\n'
        'options = { signal = "16:00-20:00", red = "delay:0.5,renounce:0.5" }'
    )
    line = ["simulate", "sample", "--first", "200", "-e", "a", "--users", "population"]
    done = command(tmp_path, *line, "-U", "file=p.toml")
    told = unsealed(tmp_path / "a_run.json")["user_statistics"]
    assert f"\n{told['summary']}\n" in done.stdout
    assert told["summary"].startswith("all: levers: delay ")
    member = told["members"]["all"]
    rows = list(csv.DictReader((tmp_path / "a_jobs.csv").open()))
    assert member["levers"]["delay"] == sum(row["lever"] == "delay" for row in rows) > 0
    assert member["levers"]["renounce"] == member["jobs"] - len(rows) > 0
    assert member["jobs"] == 200


# What the wrapped model learns ------------------------------------------------------------------


def chain(*, think: float) -> Workload:
    """Three sessions of a user, each of a job of 100 s, with think times in between."""
    jobs, at = [], float(IN_IT)
    for _ in range(3):
        jobs.append(J(at, 4, 100, 200, "u", at + 100))
        at += 100 + think
    return workload(jobs, 16)


@pytest.mark.parametrize(
    ("think", "red", "expected"),
    [
        # The next session is a think time after the end of the job that was delayed.
        (600, "delay", [2 * HOUR, 2 * HOUR + 700, 2 * HOUR + 1400]),
        # A renounced job takes no time; the third wish, at 2:41, comes when it is green.
        (3000, "renounce", [IN_IT + 6000]),
        # What follows at once is asked for at the same instant, and renounced there too.
        (0, "renounce", []),
    ],
)
def test_when_users_go_on(think: float, red: str, expected: list[float]) -> None:
    jobs = played(chain(think=think), red, model="feedback", sessions="arrival:0")
    assert [p.submit for p in jobs] == expected


AGAIN = {"signal": "s.csv", "yellow": "renounce", "again": True}


class Learns(rigid.Rigid):
    """Rigid users who note what they are told."""

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.told: list[tuple[float, EndedJob, str]] = []

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        self.told.append((now, job, state))


@pytest.mark.parametrize(
    ("at", "options", "expected"),
    [
        # Submission, start and end of the job as the wrapped model hears of them.
        (IN_IT, {"red": "delay"}, (2 * HOUR, 2 * HOUR, 2 * HOUR + 10)),
        (IN_IT, {"red": "delay", "counts_from": "wish"}, (IN_IT, 2 * HOUR, 2 * HOUR + 10)),
        (IN_IT, {"red": "renounce"}, (IN_IT, None, IN_IT)),
        # Delayed, and rejected when it comes back: from the wish on, its user has waited for that.
        (150, AGAIN, (200, None, 200)),
        (150, {**AGAIN, "counts_from": "wish"}, (150, None, 200)),
    ],
)
def test_the_model_learns_of_its_own_job(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
    at: float,
    options: dict[str, Any],
    expected: tuple[float, float | None, float],
) -> None:
    """With its own size, and the submission that the option says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text(STATES)
    log = log_of((at, 4, 10))
    monkeypatch.setattr("batsched_users.models.sufficient.load_model", lambda name: Learns)
    users = Sufficient(log, **{"signal": WINDOW, **options})
    list(play_model(users))
    ((now, job, state),) = users._inner.told  # type: ignore[attr-defined]
    assert job.submitted == log.jobs[0]
    assert (job.submit_time, job.start_time, job.finish_time) == expected
    assert now == job.finish_time
    assert (state == "REJECTED") == (job.start_time is None)
    assert not users._changed


def test_a_model_that_does_not_move_on_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is due for ever and has nothing."""
    monkeypatch.setattr("batsched_users.models.sufficient.load_model", lambda name: rigid.Rigid)
    monkeypatch.setattr(rigid.Rigid, "jobs_to_submit", lambda self, now: [])
    with pytest.raises(InvariantError, match="next_submission"):
        list(play_model(Sufficient(log_of((0, 1, 1)), signal=WINDOW)))


# Whoever does nothing is as without -------------------------------------------------------------


@pytest.fixture(scope="module")
def sample() -> Workload:
    return load_workload(SAMPLE_LOG, make_rules(first=600))


SHORT = {"long_weeks": 0.7, "edge_weeks": 0.2, "n_temporary": 3, "rate": 3, "weeks": 3.0}


@pytest.mark.parametrize(
    ("model", "options", "nothing"),
    [
        ("rigid", {}, {"share": 0.0}),  # nobody takes part
        ("site", {"nb_users": 10, "weeks": 3.0}, {"share": 0.0}),
        ("tbuos", SHORT, {"share": 0.0}),
        ("feedback", {}, {"red": ""}),
        ("feedback", {}, {"red": "delay:0,renounce:0"}),
    ],
)
def test_who_does_nothing_is_the_model(
    sample: Workload, model: str, options: dict[str, Any], nothing: dict[str, Any]
) -> None:
    """Byte by byte: names, chance, columns and schedule."""
    inner = RIGID if model == "rigid" else model
    alone = simulate(sample, users=inner, user_options=options, seed=3)
    wrapped = options | nothing | {"signal": "8:00-20:00", "model": model}
    same = simulate(sample, users="sufficient", user_options=wrapped, seed=3)
    assert len(alone.table.submit) > 50
    assert same.jobs_csv() == alone.jobs_csv()


@few_examples
@given(
    share=st.floats(0, 1),
    weights=st.lists(st.integers(0, 3), min_size=5, max_size=5),
    hours=st.tuples(st.integers(0, 23), st.integers(0, 23)).filter(lambda h: h[0] != h[1]),
    reacts=st.booleans(),
    seed=st.integers(0, 5),
)
def test_jobs_are_conserved(
    share: float, weights: list[int], hours: tuple[int, int], reacts: bool, seed: int
) -> None:
    """Each job of the log comes at most once; only renounced ones do not; work is never more.

    A job that carries no lever is as it was, delayed ones wait for the signal, and nobody who does
    not take part does anything.
    """
    log = log_of_stays()
    total = max(1, sum(weights))
    red = ",".join(f"{lever}:{w / total}" for lever, w in zip(LEVERS, weights, strict=True))
    users = Sufficient(
        log,
        signal=f"{hours[0]}:00-{hours[1]}:00",
        model="feedback" if reacts else "rigid",
        share=share,
        red=red,
        seed=seed,
    )
    jobs = list(play_model(users))
    recorded = {job.id: job for job in log.jobs}
    names = [p.job.id for p in jobs]
    assert len(set(names)) == len(names)
    assert set(names) <= recorded.keys()
    if not weights[LEVERS.index("renounce")] or not share:
        assert set(names) == recorded.keys()
    assert not users._changed
    assert not users._held
    for p in jobs:
        was, lever = recorded[p.job.id], p.job.extra.get("lever", "")
        area, old = (run_time_of(users.profiles[job.profile]) * job.size for job in (p.job, was))
        if lever in ("", "delay"):
            assert (p.job.size, p.job.profile) == (was.size, was.profile)
        if lever == "reconfiguration":
            assert area == pytest.approx(old)
        assert area <= old * (1 + 1e-12)
        if lever == "delay":
            assert p.job.extra["wished_submission_time"] < p.submit
            assert users._signal.state(p.submit) == "green"
        if lever:
            assert users._takes_part[p.job.user or ""]
    assert users.next_submission() == inf


# Options ----------------------------------------------------------------------------------------


def test_probabilities_by_hand() -> None:
    levers = read_levers("red", "renounce:0.1, delay:0.5,time_degradation")
    assert levers == {"delay": 0.5, "time_degradation": pytest.approx(0.4), "renounce": 0.1}
    drawn = [choose_lever(levers, 0.999999, which) for which in (0, 0.49, 0.51, 0.89, 0.95)]
    assert drawn == ["delay", "delay", "time_degradation", "time_degradation", "renounce"]
    half = read_levers("red", "delay:0.3,renounce:0.2")
    drawn = [choose_lever(half, *chances) for chances in ((0.49, 0.59), (0.49, 0.61), (0.51, 0))]
    assert drawn == ["delay", "renounce", ""]
    assert read_levers("red", "") == {}
    assert choose_lever({}, 0.5, 0.5) == ""


def test_logs_without_what_levers_need() -> None:
    """Jobs of no user are replayed as they are; how long a job runs must be known."""
    log = log_of((IN_IT, 4, 10))
    log.jobs[0].user = None
    with pytest.raises(UsageError, match="has a user"):
        Sufficient(log, signal=WINDOW, red="renounce")
    assert len(played(log, "")) == 1
    log.jobs[0].user = "u"
    log.profiles["r10"] = {"type": "parallel_homogeneous", "cpu": 1e9, "com": 1e6}
    users = Sufficient(log, signal=WINDOW, red="time_degradation")
    with pytest.raises(UsageError, match="how long"):
        list(users.jobs_to_submit(users.next_submission()))


def test_a_signal_that_is_never_red(tmp_path: Any) -> None:
    """The usual delays are for signals that are red; what is asked for is told."""
    (tmp_path / "s.csv").write_text("time,state\n0,yellow\n100,yellow\n")
    signal, log = str(tmp_path / "s.csv"), log_of((50, 1, 10))
    (job,) = play_model(Sufficient(log, signal=signal, yellow="time_degradation"))
    assert job.job.extra == {"lever": "time_degradation"}
    with pytest.raises(UsageError, match="never red"):
        Sufficient(log, signal=signal)
    with pytest.raises(UsageError, match=r"red=delay: .* never red"):
        Sufficient(log, signal=signal, red="delay", yellow="time_degradation")
