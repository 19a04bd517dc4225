"""What holds for every user model, whoever simulates, and the options that no model takes."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from batsched_py import Workload, simulate
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import BatschedError
from batsched_py.model.user_model import WITHDRAWN
from batsched_py.plugins import plugins
from batsched_py.schedulers.easy import Easy
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.units import HOUR
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_users.learning.ideal_machine import play_model
from batsched_users.models.adjusted import Adjusted
from batsched_users.models.feedback import ThinkTimeFeedback
from batsched_users.models.fluid import Fluid
from batsched_users.models.resampled import Resampled
from batsched_users.models.site import SiteUsers
from batsched_users.models.sufficient import Sufficient
from batsched_users.models.synthetic import Synthetic
from batsched_users.models.weekly import WeeklyUsers
from helpers.drawn_sessions import log_of_stays

REACTING = """
[[member]]
model = "fluid"
share = 0.4
[[member]]
model = "site"
options = { nb_users = 3, weeks = 2.0 }
"""
OPEN = """
[[member]]
model = "rigid"
share = 0.4
[[member]]
model = "synthetic"
share = 0.6
options = { jobs = 30 }
"""
SHORT = {"long_weeks": 0.7, "edge_weeks": 0.2, "n_temporary": 3, "rate": 3, "weeks": 3.0}
OPTIONS: dict[str, dict[str, Any]] = {
    "resampled": SHORT,
    "tbuos": SHORT,
    "site": {"nb_users": 5, "weeks": 2.0},
    "weekly": {"weeks": 2.0},
    "sufficient": {"signal": "8:00-20:00", "model": "feedback", "red": "delay:0.5,renounce:0.1"},
    "synthetic": {"jobs": 100},
}
"""Small settings of the models, for a log of some weeks."""
WITHOUT_CHANCE = ("adjusted", "feedback", "recorded_dependencies")
IF_JOBS_WAIT = ("deadline", "resubmits", "withdraws")
"""Models whose chance decides only what happens to waiting jobs."""
GENERATIVE = ("site", "tbuos", "resampled", "weekly")

MODELS = sorted(set(plugins.list_names(plugins.USERS)))


@pytest.fixture(scope="module")
def log() -> Workload:
    return load_workload(SAMPLE_LOG, make_rules(first=600))


def options_of(model: str, folder: Path) -> dict[str, Any]:
    if model == "population":
        (folder / "population.toml").write_text(REACTING)
        return {"file": str(folder / "population.toml")}
    return OPTIONS.get(model, {})


def make(model: str, log: Workload, folder: Path, /, **further: Any) -> Any:
    kind = plugins.load(plugins.USERS, model)
    options = options_of(model, folder) | further
    accepted = plugins.find_accepted_options(kind)
    takes = {k: v for k, v in options.items() if accepted is None or k in accepted}
    return plugins.make(kind, model, (log,), takes)


@pytest.mark.parametrize("model", MODELS)
def test_with_times_of_six_decimals_as_batsim_writes_them(
    model: str, log: Workload, tmp_path: Path
) -> None:
    """Calls come up to a microsecond late; as many jobs are submitted, about when they should."""

    def nb_messages(six_decimals: bool) -> int:
        users = make(model, log, tmp_path, seed=1)
        process = DecisionProcess(Easy(), users, six_decimals=six_decimals)
        options = Options(dynamic_jobs=True, profile_reuse=True)
        return (
            Simulator(make_homogeneous(log.nb_res, 0.7), [], options)
            .run(process.answer)
            .nb_messages
        )

    assert nb_messages(True) == pytest.approx(nb_messages(False), rel=0.05)


@pytest.mark.parametrize("model", MODELS)
def test_same_seed_same_jobs(model: str, log: Workload, tmp_path: Path) -> None:
    def jobs(seed: int) -> list[tuple[str, float, int, str | None]]:
        users = make(model, log, tmp_path, seed=seed)
        return [(p.job.id, p.submit, p.job.size, p.job.user) for p in play_model(users)]

    assert jobs(1) == jobs(1)
    if model not in (*WITHOUT_CHANCE, *IF_JOBS_WAIT):
        assert jobs(1) != jobs(2)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        *((model, {}) for model in MODELS if model != "resubmits"),  # it reacts to withdrawals
        ("sufficient", {"model": "rigid"}),
        ("withdraws", {"model": "feedback"}),
        ("population", {"file": "open.toml"}),
    ],
)
def test_a_model_declares_whether_submissions_depend_on_when_jobs_end(
    model: str,
    options: dict[str, Any],
    log: Workload,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "open.toml").write_text(OPEN)

    def submissions(response: float) -> list[tuple[str, float]]:
        users = make(model, log, tmp_path, seed=1, **options)
        return [(p.job.id, p.submit) for p in play_model(users, lambda _, now: now + response)]

    differ = submissions(60) != submissions(10 * HOUR)
    assert make(model, log, tmp_path, **options).reacts is differ


@pytest.mark.parametrize("model", MODELS)
def test_jobs_last_where_those_of_the_log_do(model: str, tmp_path: Path) -> None:
    """The rule ``profile`` holds for jobs that are made up too, so no speed changes them."""
    rules = make_rules(first=600, drop="zero-runtime", profile="delay")
    users = make(model, load_workload(SAMPLE_LOG, rules), tmp_path, seed=1)
    assert {users.profiles[p.job.profile]["type"] for p in play_model(users)} == {"delay"}


@pytest.mark.parametrize("model", [model for model in MODELS if model != "withdraws"])
def test_users_of_every_model_may_withdraw_jobs(model: str, tmp_path: Path) -> None:
    """Each job is withdrawn or runs; those who wait for a withdrawn job go on."""
    options = {"model": model, "model_options": options_of(model, tmp_path)}
    impatient = {"clock": "job", "mean_patience": 60.0}
    kinds = {"users": "withdraws", "first": 400, "node_factor": 0.3, "scheduler": "fcfs"}
    alone = simulate(
        SAMPLE_LOG, **(kinds | {"users": model}), user_options=options_of(model, tmp_path)
    )
    jobs = simulate(SAMPLE_LOG, **kinds, user_options=options | impatient).jobs
    withdrawn = jobs.final_state == WITHDRAWN
    assert withdrawn.any()
    assert jobs.starting_time[withdrawn].isna().all()
    assert (jobs.withdrawal_time >= jobs.submission_time)[withdrawn].all()
    assert jobs.final_state.notna().all()
    if model in ("adjusted", "distribution", "feedback", "fluid", "recorded_dependencies"):
        assert set(jobs.job_id) == set(alone.jobs.job_id)


@pytest.mark.parametrize("model", ["site", "synthetic", "weekly"])
def test_the_jobs_of_a_user_are_the_same_whatever_the_system_does(
    model: str, log: Workload, tmp_path: Path
) -> None:
    """In a slower system there are fewer, but the k-th job of a user is the k-th job."""

    def jobs(response: float) -> dict[str | None, list[tuple[int, str]]]:
        jobs_of: dict[str | None, list[tuple[int, str]]] = {}
        for p in play_model(make(model, log, tmp_path, seed=1), lambda _, now: now + response):
            jobs_of.setdefault(p.job.user, []).append((p.job.size, p.job.profile))
        return jobs_of

    quick, slow = jobs(60), jobs(10 * HOUR)
    assert quick.keys() == slow.keys()
    for user, of_user in slow.items():
        assert quick[user][: len(of_user)] == of_user


@pytest.mark.parametrize("model", GENERATIVE)
def test_a_long_run_needs_no_more_memory_than_a_short_one(
    model: str, log: Workload, tmp_path: Path
) -> None:
    """Three times the weeks, less than 16 bytes for each further job."""

    def growth(weeks: float) -> tuple[int, int]:
        users = make(model, log, tmp_path, weeks=weeks, seed=1)
        stream = play_model(users)
        nb_jobs = sum(1 for _, _ in zip(range(200), stream, strict=False))
        gc.collect()
        tracemalloc.start()
        nb_jobs += sum(1 for _ in stream)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return nb_jobs, kept

    jobs, kept = growth(5.0)
    more_jobs, more_kept = growth(15.0)
    assert more_jobs > 2 * jobs
    assert more_kept - kept < 16 * (more_jobs - jobs)


SIGNAL = {"signal": "1:00-2:00"}
OPEN_USERS = SIGNAL | {"model": "synthetic"}
WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (Adjusted, {"tie": "?"}, "tie"),
    (Fluid, {"check": "never"}, "check=never"),
    (ThinkTimeFeedback, {"resampled": "yes"}, "resampled"),
    (Resampled, {"load": -0.5}, "load=-0.5"),
    (Resampled, {"rare": "a:x:y"}, "USER:BEGIN:END"),
    (Resampled, {"rare": "a:1:1"}, "USER:BEGIN:END"),
    (Resampled, {"rate": 1000}, "nobody comes twice"),
    (Resampled, {"rate_over": "most"}, "rate_over=most"),
    (Resampled, {"edge_weeks": 25}, "too short"),
    (Resampled, {"n_long": 2.5}, "n_long=2.5"),
    (Resampled, {"n_temporary": 100}, "nobody is there twice"),
    (Resampled, {"n_temporary": 1, "long_weeks": 0}, "n_temporary=1"),
    (Resampled, {"begin": "late"}, "begin=late"),
    (Resampled, {"rare": "x:1:2"}, "user x has no job from day 1 to 2"),
    (Resampled, {"n_long": 1, "long_weeks": 50, "rate_over": "all"}, "n_long=1"),
    (SiteUsers, {"nb_users": 0}, "nb_users=0"),
    (SiteUsers, {"last_job": "submited"}, "did you mean 'submitted'"),
    (SiteUsers, {"batches": "some"}, "batches"),
    (SiteUsers, {"longest_run_time": 0}, "longest_run_time=0"),
    (SiteUsers, {"distributions": 5}, "distributions=5"),
    (SiteUsers, {"distributions": "nowhere"}, "no such folder.* pooled, logs-alike"),
    (SiteUsers, {"run_times": "thirds", "longest_run_time": 600}, "longest_run_time=600: "),
    (Sufficient, SIGNAL | {"red": "delais"}, "red=delais: 'delais'"),
    (Sufficient, SIGNAL | {"red": "delay:0.7,renounce:0.7"}, "at most 1"),
    (Sufficient, SIGNAL | {"red": "delay:0.1,delay:0.1"}, "delay is there twice"),
    (Sufficient, SIGNAL | {"shre": 0.5}, "'shre'.*'share'.*signal, model"),
    (Sufficient, SIGNAL | {"green": "delay"}, "green: "),
    (Sufficient, SIGNAL | {"yellow": "renounce"}, "yellow=renounce: "),
    (Sufficient, OPEN_USERS | {"red": "renounce"}, "split=N"),
    (Sufficient, SIGNAL | {"space_factor": 0}, "space_factor=0"),
    (Sufficient, SIGNAL | {"alpha": 1000, "space_factor": 0.01}, "alpha=1000: "),
    (Sufficient, OPEN_USERS | {"split": 4, "alpha": 0.6, "beta": 100}, "'synthetic' too"),
    (Sufficient, SIGNAL | {"counts_from": "start"}, "counts_from=start"),
    (Sufficient, SIGNAL | {"model": "sufficient"}, "model=sufficient"),
    (Synthetic, {"jobs": 0.5}, "jobs=0.5"),
    (Synthetic, {"per_decade": 0}, "per_decade=0: expected a whole number from 1 "),
    (Synthetic, {"extension": "1 h"}, "extension=1 h: expected a number from 0 to"),
    (Synthetic, {"alpha": 0.3}, "alpha=0.3, beta=None: give both"),
    (Synthetic, {"alpha": 0, "beta": 3}, "alpha=0"),
    (Synthetic, {"arrivals": "thesis"}, "the thesis has no parameters for log"),
    (WeeklyUsers, {"parameters": 5}, "parameters=5"),
    (WeeklyUsers, {"parameters": "nowhere.json"}, "nowhere.json: there is no such file"),
    (WeeklyUsers, {"activity": 1.5}, "activity=1.5"),
    (WeeklyUsers, {"think": "linn"}, "think=linn"),
]


LOG = log_of_stays()
for log_job in LOG.jobs:
    log_job.walltime = 1_000.0


@pytest.mark.parametrize(("model", "options", "message"), WRONG)
def test_wrong_options(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BatschedError, match=message):
        model(LOG, **options).next_submission()
