"""Claims of the study on the sample log, in short runs of its own campaign file.

Six weeks are long enough for differences between systems. Those between seeds are small where the
same 41 people come at each and there is room for all, so for them there are 1.3 times as many.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd
import pytest

from batsched_py import Workload, load_workload, simulate
from batsched_py.campaign.campaign_file import PlannedRun, find_campaign, read_campaign
from batsched_py.report.kit.selection import Runs
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.logs.log_archive import find_log
from batsched_studies.tbuos_ups import claims
from batsched_studies.tbuos_ups import waits as waited
from batsched_studies.tbuos_ups.verdicts import judge_claims

WEEKS = 6
FEW = range(5)
MANY = range(12)


@cache
def sample() -> Workload:
    return load_workload(find_log("sample", []), make_rules())


@cache
def planned() -> dict[tuple[Any, ...], PlannedRun]:
    runs = read_campaign(find_campaign("tbuos_ups")).runs
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
    metrics: dict[str, float] = result.measured["overall"]
    return metrics


@pytest.mark.parametrize("replay", ["fluid", "adjusted", "distribution"])
def test_feedback_changes_when_users_submit_and_not_what(replay: str) -> None:
    results = [simulate(sample(), users=replay, scheduler=name) for name in ("easy", "fcfs")]
    for result in results:  # the jobs of the log, each once
        names = [line.split(",")[0] for line in result.jobs_lines()][1:]
        assert sorted(names) == sorted(job.id for job in sample().jobs)
    took = [result.measured["overall"][claims.ACTIVITY] for result in results]
    assert took[0] < 0.98 * took[1], "with EASY users are through earlier"


def test_throughput_reacts_under_tbuos_only() -> None:
    """In open replay all systems have the same throughput; under TBUOS better ones have more."""
    systems = ("fcfs", "easy", "ups load 0", "ups load 1", "easy twice")
    rows = [("tbuos", system, seed, 1.0) for system in systems for seed in FEW]
    rows += [("resampled", s, seed, 1.0) for s in systems if s != "ups load 0" for seed in FEW]
    rows += [("fluid", system, seed, 1.0) for system in ("fcfs", "easy") for seed in FEW]
    holds = verdicts_on(rows)
    assert {holds[number] for number in ("i", "ii", "iii", "v", "v, open", "vi")} == {True}
    compared = [e for e in claims.compare_systems(read(rows)).itertuples() if e.replay == "tbuos"]
    least = {e.ratio: e.least for e in compared if e.metric == claims.THROUGHPUT}
    assert least["easy / fcfs"] > 1.01
    assert least["ups load 1 / easy"] > 1.01
    assert least["easy twice / easy"] > 1.05


@pytest.mark.slow
def test_mean_waits_of_many_seeds_vary_less_under_tbuos() -> None:
    rows = [(replay, "easy", seed, 1.3) for replay in ("resampled", "tbuos") for seed in MANY]
    assert verdicts_on(rows)["iv"] is True


def read(rows: list[tuple[str, str, int, float]]) -> Runs:
    labels = ("log", "replay", "system", "seed")
    frame = pd.DataFrame(
        dict(zip(labels, ("sample", replay, system, seed), strict=True))
        | run(replay, system, seed, load)
        for replay, system, seed, load in rows
    )
    return claims.read(frame)


def verdicts_on(rows: list[tuple[str, str, int, float]]) -> dict[str, bool | None]:
    runs = read(rows)
    of_claims = judge_claims(
        claims.compare_systems(runs),
        waited.compute_spreads(runs),
        waited.compare_spreads(runs),
        pd.DataFrame(),
    )
    return {verdict.claim[1:].partition(")")[0]: verdict.holds for verdict in of_claims}
