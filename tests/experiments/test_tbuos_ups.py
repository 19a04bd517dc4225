"""The six claims of the study on the sample log, in short runs of its own campaign file.

Six weeks are long enough for differences between systems. Those between seeds are small where the
same 41 people come at each and there is room for all, so for them there are 1.3 times as many.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from batsched_py import Workload, load_workload, simulate
from batsched_py.campaign.campaign_file import PlannedRun, read_campaign
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.log_archive import find_log
from batsched_studies.tbuos_ups import claims
from batsched_studies.tbuos_ups import waits as waited
from batsched_studies.tbuos_ups.verdicts import verdicts

STUDY = Path(__file__).parents[2] / "experiments" / "batsched_studies" / "tbuos_ups"
THROUGHPUT, JOBS, WAIT = claims.THROUGHPUT, claims.JOBS, claims.WAIT
WEEKS = 6
FEW = (0, 1, 2)
MANY = range(12)


@cache
def sample() -> Workload:
    return load_workload(find_log("sample", []), make_rules())


@cache
def planned() -> dict[tuple[Any, ...], PlannedRun]:
    runs = read_campaign(STUDY / "campaign.toml").runs
    return {
        tuple(run.labels[axis] for axis in ("replay", "system", "replication")): run for run in runs
    }


@cache
def run(replay: str, system: str, replication: int, load: float) -> dict[str, float]:
    """Return the metrics of a run of the campaign, made short."""
    settings = planned()[replay, system, replication].settings
    population = {} if replay == "fluid" else {"weeks": WEEKS, "load": load}
    result = simulate(
        sample(),
        scheduler=settings.scheduler,
        scheduler_options=settings.scheduler_options,
        users=settings.users,
        user_options={**settings.user_options, **population},
        nodes=round(sample().nb_res * (settings.node_factor or 1)),
        seed=settings.seed,
    )
    metrics: dict[str, float] = result.metrics["overall"]
    return metrics


def ratios(metric: str, replay: str, system: str, base: str) -> list[float]:
    pairs = [(run(replay, system, s, 1.0), run(replay, base, s, 1.0)) for s in FEW]
    return [ours[metric] / others[metric] for ours, others in pairs]


def equal(ratio: float) -> Any:
    """What ends after the last submission is not counted, a little more here than there."""
    return pytest.approx(ratio, abs=0.02)


def test_open_replay_has_the_same_throughput_with_easy_and_fcfs() -> None:
    assert ratios(JOBS, "resampled", "easy", "fcfs") == [1, 1, 1]
    assert sum(ratios(THROUGHPUT, "resampled", "easy", "fcfs")) / 3 == equal(1)


@pytest.mark.parametrize("replay", ["fluid", "adjusted", "distribution"])
def test_feedback_changes_when_users_submit_and_not_what(replay: str) -> None:
    results = [simulate(sample(), users=replay, scheduler=name) for name in ("easy", "fcfs")]
    for result in results:  # the jobs of the log, each once
        names = [line.split(",")[0] for line in result.jobs_lines()][1:]
        assert sorted(names) == sorted(job.id for job in sample().jobs)
    took = [result.metrics["overall"][claims.ACTIVITY] for result in results]
    assert took[0] < 0.98 * took[1], "with EASY users are through earlier"


def test_tbuos_has_more_throughput_with_easy_than_with_fcfs() -> None:
    assert min(ratios(THROUGHPUT, "tbuos", "easy", "fcfs")) > 1.01
    assert min(ratios(JOBS, "tbuos", "easy", "fcfs")) > 1.01


@pytest.mark.slow
def test_mean_waits_of_many_seeds_vary_less_under_tbuos() -> None:
    most = {}
    for replay in ("resampled", "tbuos"):
        waits = [run(replay, "easy", seed, 1.3)[WAIT] for seed in MANY]
        most[replay] = max(waits) / min(waits)
    assert 1 < most["tbuos"] < 0.8 * most["resampled"]


@pytest.mark.slow
def test_ups_has_more_throughput_the_more_it_looks_at_users() -> None:
    without, only = (
        ratios(THROUGHPUT, "tbuos", ups, "easy") for ups in ("ups load 0", "ups load 1")
    )
    assert sum(without) / 3 > 0.99
    assert min(only) > 1.01
    assert sum(only) > sum(without)
    assert ratios(JOBS, "resampled", "ups load 1", "easy") == [1, 1, 1]
    assert sum(ratios(THROUGHPUT, "resampled", "ups load 1", "easy")) / 3 == equal(1)


def test_a_machine_twice_as_large_has_more_throughput_under_tbuos_only() -> None:
    assert min(ratios(THROUGHPUT, "tbuos", "easy twice", "easy")) > 1.05
    assert ratios(JOBS, "resampled", "easy twice", "easy") == [1, 1, 1]
    assert sum(ratios(THROUGHPUT, "resampled", "easy twice", "easy")) / 3 == equal(1)


def test_the_report_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its verdicts on the runs of the tests above, of which it would ask for more."""
    monkeypatch.setattr(waited, "SEEDS", len(MANY))
    systems = ("fcfs", "easy", "ups load 0", "ups load 1", "easy twice")
    rows = [("tbuos", system, seed, 1.0) for system in systems for seed in FEW]
    rows += [("resampled", s, seed, 1.0) for s in systems if s != "ups load 0" for seed in FEW]
    rows += [("fluid", system, 0, 1.0) for system in ("fcfs", "easy")]
    found = said(rows)
    assert {found[number] for number in ("i", "ii", "iii", "v", "vi")} == {True}
    rows = [(replay, "easy", seed, 1.3) for replay in ("resampled", "tbuos") for seed in MANY]
    assert said(rows)["iv"] is True


def said(rows: list[tuple[str, str, int, float]]) -> dict[str, bool | None]:
    labels = ("log", "replay", "system", "seed")
    frame = pd.DataFrame(
        dict(zip(labels, ("sample", replay, system, seed), strict=True))
        | run(replay, system, seed, load)
        for replay, system, seed, load in rows
    )
    runs = claims.read(frame)
    spreads = waited.spreads(runs, {"ratios": {"resampled": {}, "tbuos": {}}, "logs": {}})
    found = verdicts(claims.effects(runs), spreads, waited.calmer(runs), pd.DataFrame())
    return {verdict.claim[1:].partition(")")[0]: verdict.holds for verdict in found}
