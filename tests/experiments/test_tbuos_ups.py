"""The study of TBUOS and UPS: verdicts on made-up runs, and on short runs of the sample log."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from batsched_py import Workload, load_workload, simulate
from batsched_py.campaign.campaign_file import PlannedRun, find_campaign, read_campaign
from batsched_py.report.document import Report
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.logs.log_archive import find_log
from batsched_studies.tbuos_ups import PUBLISHED, claims, measures, verdicts
from batsched_studies.tbuos_ups import waits as waited
from batsched_studies.tbuos_ups.report import report
from helpers.made_up_campaign import MadeUpCampaign, holds, table_of

KTH = "KTH-SP2-1996-2.1-cln"
CTC = "CTC-SP2-1996-3.1-cln"
NUMBERS = list(PUBLISHED["claims"])
HALF, FULL = "ups load 0.5", "ups load 1"


def made(replay: str, system: str, seed: int = 1, log: str = KTH, **values: Any) -> dict[str, Any]:
    row = {"log": log, "replay": replay, "system": system, "seed": seed, "nb_jobs": 100}
    row |= {"throughput_to_last_submission": 1.0, "mean_waiting_time": 60.0}
    row |= {"mean_activity_length": 86_400.0, "backlog_growth": 0.0, "mean_queue_length": 1.0}
    row |= {"active_weeks_per_user": 3.0, "mean_session_length_arrival_60": 600.0}
    row |= {"queue_above_0": 0.5, "queue_above_1": 0.25, "queue_above_100": 0.01}
    row |= {"longest_wait": 600.0, "user_wait_50": 60.0, "user_wait_90": 90.0}
    row |= {"week_cycle": 0.3, "week_apart": 0.2, "share_in_slots": 0.2}
    return row | {"utilisation_to_last_submission": 0.5} | values


def throughput(
    replay: str, system: str, values: Sequence[float], **more: Any
) -> list[dict[str, Any]]:
    return [
        made(replay, system, seed, throughput_to_last_submission=value, nb_jobs=100 * value, **more)
        for seed, value in enumerate(values)
    ]


def effects(rows: list[dict[str, Any]], claim: str, metric: str = "throughput") -> list[Any]:
    found = claims.compare_systems(claims.read(pd.DataFrame(rows)))
    return [e for e in found.itertuples() if e.claim == claim and e.metric.startswith(metric)]


def all_verdicts(rows: list[dict[str, Any]]) -> dict[tuple[str, str], Any]:
    found = verdicts.judge_claims(claims.read(pd.DataFrame(rows)))
    return {(verdict.claim[1:].partition(")")[0], verdict.log): verdict for verdict in found}


def verdict(rows: list[dict[str, Any]], claim: str, log: str = KTH) -> bool | None:
    found = all_verdicts(rows).get((claim, log))
    holds: bool | None = None if found is None else found.holds
    return holds


# Verdicts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("easy", "fcfs", "holds"),
    [
        ([1.2, 1.3, 1.2, 1.1, 1.2], [1.0, 1.0, 1.1, 1.0, 1.0], True),
        ([1.5, 1.3, 1.2, 1.4, 0.9], [1.0] * 5, True),  # one seed less, the interval above 1
        ([1.0, 1.1, 0.9, 1.0, 1.0], [1.0] * 5, None),  # one seed more, one less
        ([1.2, 1.0, 1.0, 1.0, 1.0], [1.0] * 5, None),  # more on average; the interval reaches 1
        ([0.9, 0.8, 0.9, 0.9, 0.8], [1.0] * 5, False),
        ([1.0] * 5, [1.0] * 5, False),
        ([1.2, 1.3, 1.2, 1.2], [1.0] * 4, None),  # too few for an interval
        ([1.1], [1.0], None),
    ],
)
def test_more_is_more_by_the_interval(
    easy: list[float], fcfs: list[float], holds: bool | None
) -> None:
    rows = throughput("tbuos", "easy", easy) + throughput("tbuos", "fcfs", fcfs)
    assert verdict(rows, "iii") is holds


def test_systems_are_compared_seed_by_seed() -> None:
    fcfs = [1.0, 2.0, 0.5, 1.5, 3.0]
    rows = throughput("tbuos", "fcfs", fcfs)
    rows += throughput("tbuos", "easy", [*(1.1 * value for value in fcfs), 7.0])
    (effect,) = effects(rows, "iii")
    assert (effect.pairs, effect.above) == (5, 5)
    expected = pytest.approx((1.1, 1.1, 1.1, 1.1, 1.1))
    assert (effect.least, effect.low, effect.value, effect.high, effect.most) == expected


def test_saturated_open_runs_do_not_count() -> None:
    rows = throughput("resampled", "easy", [1.0] * 6)
    rows += throughput("resampled", "fcfs", [1.0, 1.01, 1.0, 1.0, 1.0, 0.5])
    for row in rows:
        row["nb_jobs"] = 100
    rows[-1]["backlog_growth"] = 1.5
    every, stable = effects(rows, "i")
    assert (every.which, every.pairs, every.saturated, every.holds) == ("all", 6, 1, None)
    assert (stable.which, stable.pairs, stable.saturated, stable.holds) == ("stable", 5, 0, True)
    assert verdict(rows, "i") is True
    rows[-1]["backlog_growth"] = 1.0  # not more than one job a week
    assert verdict(rows, "i") is None


def test_open_replay_with_other_jobs_is_an_error_of_ours() -> None:
    rows = [made("rigid", "easy"), made("rigid", "fcfs", nb_jobs=101)]
    assert verdict(rows, "i") is False


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ({"ups load 0": 1.0, HALF: 1.1, FULL: 1.2}, True),
        ({"ups load 0": 1.0, HALF: 1.1, FULL: 1.05}, False),  # does not grow
        ({"ups load 0": 1.0, "ups load 0.2": 1.1, HALF: 1.05, FULL: 1.2}, False),
        ({"ups load 0": 0.9, HALF: 1.1, FULL: 1.2}, False),  # less than EASY
        ({"ups load 0": 1.0, HALF: 1.0, FULL: 1.0}, False),
    ],
)
def test_ups_grows_with_its_weight_of_users(values: dict[str, float], holds: bool) -> None:
    rows = throughput("tbuos", "easy", [1.0] * 5)
    for system, value in values.items():
        rows += throughput("tbuos", system, [value] * 5)
    found = all_verdicts(rows)
    assert found["v", KTH].holds is holds
    assert ("v, open", KTH) not in found  # nothing is said of what was not run
    rows += throughput("resampled", "easy", [1.0] * 5) + throughput("resampled", FULL, [1.1] * 5)
    assert verdict(rows, "v") is holds


@pytest.mark.parametrize(
    ("claim", "more", "less", "log"),
    [("vi", "easy twice", "easy", KTH), ("ix", "easy 430", "easy 336", CTC)],
)
def test_larger_machines(claim: str, more: str, less: str, log: str) -> None:
    rows = throughput("tbuos", less, [1.0] * 5, log=log)
    rows += throughput("tbuos", more, [1.3] * 5, log=log)
    rows += throughput("resampled", less, [1.0] * 5, log=log)
    same, changed = (throughput("resampled", more, [x] * 5, log=log) for x in (1.0, 1.3))
    assert verdict(rows + same, claim, log) is True
    assert verdict(rows + changed, claim, log) is False


def waits(
    replay: str, most: float, seeds: int, slow: Sequence[int] = range(7, 15)
) -> list[dict[str, Any]]:
    return [
        made(replay, "easy", seed, mean_waiting_time=100 * most if seed in slow else 100.0)
        for seed in range(seeds)
    ]


@pytest.mark.parametrize(
    ("open_", "tbuos", "seeds", "holds"),
    [
        (6.0, 2.0, 30, True),
        (2.0, 6.0, 30, False),  # more under TBUOS
        (2.0, 2.1, 30, None),  # a permutation of pairs is often as far
        (6.0, 2.0, 9, None),
    ],
)
def test_whether_waits_vary_less_is_told_by_a_permutation_test(
    open_: float, tbuos: float, seeds: int, holds: bool | None
) -> None:
    rows = varying("resampled", open_, seeds) + varying("tbuos", tbuos, seeds)
    assert verdict(rows, "iv") is holds


def varying(replay: str, most: float, seeds: int) -> list[dict[str, Any]]:
    """Return runs whose waits are spread evenly, as logarithms, from 100 s to ``most`` times that.

    Of open ones and of TBUOS in another order, as users of a seed wait now here and now there.
    """
    places = np.random.default_rng(len(replay)).permutation(seeds) / (seeds - 1)
    return [
        made(replay, "easy", seed, mean_waiting_time=100 * most**place)
        for seed, place in enumerate(places)
    ]


def strict_and_usual(log: str, usual: float, strict: float) -> list[dict[str, Any]]:
    return [
        made("rigid", "easy", log=log, mean_waiting_time=usual),
        made("rigid", "easy strict", log=log, mean_waiting_time=strict),
    ]


CEA = "CEA-Curie-2011-2.1-cln"
CM5 = "LANL-CM5-1994-4.1-cln"


SIX = ["KTH", "SDSC-SP2", "HPC2N", "BLUE", "SDSC-DS", "CEA"]
"""Traces of which the thesis prints a wait, and whose logs are at hand."""


def six_logs(nearer: int) -> list[dict[str, Any]]:
    """Return open replay of the six logs, on the first of which the strict EASY is nearer."""
    log_of = {trace: log for log, trace in PUBLISHED["logs"].items()}
    rows = []
    for at, trace in enumerate(SIX):
        exact = float(PUBLISHED["waits"]["rigid"][trace])
        ours = (2 * exact, exact) if at < nearer else (exact, 2 * exact)
        rows += strict_and_usual(log_of[trace], *ours)
    return rows


@pytest.mark.parametrize(
    ("nearer", "holds"),
    [(6, True), (0, False), (5, None), (1, None)],
    ids=["all", "none", "five", "one"],
)
def test_one_rule_says_which_easy_is_nearer(
    monkeypatch: pytest.MonkeyPatch, nearer: int, holds: bool | None
) -> None:
    """Six logs that agree are more than chance, five of six are not, nor five that agree."""
    monkeypatch.setattr(waited, "CHOSEN_ON", ())
    assert verdict(six_logs(nearer), "xi", "") is holds
    assert verdict(six_logs(nearer)[: 2 * 5], "xi", "") is None


@pytest.mark.parametrize(
    ("distribution", "holds"),
    [
        ([1500.0] * 5, True),
        ([900.0] * 5, False),
        ([900.0, 1200.0, 1500.0, 1000.0, 1100.0], None),
        ([1500.0] * 4, None),  # too few of what is drawn; adjusted draws nothing
    ],
)
def test_orderings_of_the_waits_are_those_printed(
    distribution: list[float], holds: bool | None
) -> None:
    """On KTH the thesis has adjusted below open replay and distribution above."""
    rows = [
        made("rigid", "easy", mean_waiting_time=1000.0),
        made("adjusted", "easy", mean_waiting_time=990.0),
        *(made("distribution", "easy", n, mean_waiting_time=w) for n, w in enumerate(distribution)),
    ]
    assert verdict(rows, "viii") is holds
    for log in (CTC, CM5):  # not printed; of another version of the log
        assert ("viii", log) not in all_verdicts([row | {"log": log} for row in rows])


# The report -------------------------------------------------------------------------------------


def all_claims() -> list[dict[str, Any]]:
    """Return runs with which all claims hold, on logs found by their paths."""
    rows = waits("resampled", 6.0, 100) + waits("tbuos", 2.0, 100)
    for row in rows[100:]:
        row |= {"active_weeks_per_user": 4.0, "mean_session_length_arrival_60": 500.0}
    more = {"fcfs": 0.8, "ups load 0": 1.0, HALF: 1.1, FULL: 1.2, "easy twice": 1.3}
    for system, value in (more | {"ups recency 0.5": 1.0, "ups recency 1": 1.1}).items():
        late = {"mean_waiting_time": 150.0, "longest_wait": 900.0} if system == FULL else {}
        rows += throughput("tbuos", system, [value] * 5, **late)
        rows += [made("resampled", system, seed) for seed in range(5)]
    for seed in range(5):
        rows.append(made("fluid", "easy", seed, mean_waiting_time=50.0, week_apart=0.1))
        rows.append(made("fluid", "fcfs", seed, mean_activity_length=1e5))
        spikes = {"week_apart": 0.5, "share_in_slots": 0.4, "mean_waiting_time": 80.0}
        rows.append(made("distribution", "easy", seed, **spikes))
    rows.append(made("adjusted", "easy", week_cycle=0.2, week_apart=0.4, mean_waiting_time=59.0))
    of_log = {"throughput_to_last_submission": 0.9, "mean_queue_length": 2.0}
    rows.append(made("rigid", "easy", **of_log))
    rows.append(made("rigid", "fcfs", queue_above_100=0.5, **of_log))
    rows += throughput("tbuos", "easy 336", [1.0] * 5, log=CTC)
    rows += throughput("tbuos", "easy 430", [1.1, 1.2, 1.1, 1.2, 1.1], log=CTC)
    rows += [made("rigid", system, log=CTC) for system in ("easy 336", "easy 430")]
    rows += [made("rigid", "easy strict", mean_waiting_time=61.0)]  # nearer to what is printed
    for log, trace in PUBLISHED["logs"].items():
        if trace in SIX and log != KTH:
            rows += strict_and_usual(log, 60.0, 61.0)
    return [row | {"log": f"/logs/{row['log']}.swf.gz"} for row in rows]


@pytest.mark.parametrize(
    ("number", "replay", "system", "values"),
    [
        ("xii", "rigid", "easy", {"throughput_to_last_submission": 1.1}),
        ("xiii", "tbuos", FULL, {"mean_waiting_time": 90.0}),
        ("xiv", "tbuos", HALF, {"longest_wait": 1000.0}),
        ("xv", "rigid", "easy", {"mean_queue_length": 0.5}),
        ("xvi", "rigid", "fcfs", {"queue_above_100": 0.05}),
        ("xvi", "fluid", "fcfs", {"queue_above_100": 0.03}),
        ("xviii", "adjusted", "easy", {"week_cycle": 0.35}),
        ("xviii", "distribution", "easy", {"share_in_slots": 0.1}),
    ],
)
def test_one_case_against_it_and_a_claim_does_not_hold(
    number: str, replay: str, system: str, values: dict[str, float]
) -> None:
    rows = [row | {"log": KTH} for row in all_claims() if f"/{KTH}." in row["log"]]
    place = replay, system
    changed = [row | values if (row["replay"], row["system"]) == place else row for row in rows]
    assert verdict(changed, number) is False


def test_a_run_with_a_wait_above_8_hours() -> None:
    rows = waits("tbuos", 2.0, 100)
    assert verdict(rows, "xvii") is True
    assert ("xvii", KTH) not in all_verdicts(rows[1:])
    late = made("tbuos", "easy", mean_waiting_time=8.1 * 3600)
    assert verdict([*rows[1:], late], "xvii") is False


def test_each_interpretation_is_judged() -> None:
    """Of 100 seeds, the open waits vary as printed (6.59) if users begin anywhere."""
    rows = waits("resampled", 2.0, 100) + waits("resampled anywhere", 6.0, 100)
    rows += waits("tbuos", 2.0, 100)
    found = report(MadeUpCampaign(rows))
    extremes = [of for of in found.verdicts if of.claim.startswith(("(xix)", "(xx)"))]
    by_choice = {of.reading.rpartition("; ")[2]: of.holds for of in extremes}
    assert by_choice == {"begin active": False, "begin anywhere": True, **by_choice}
    assert len(extremes) == 3  # TBUOS does not depend on where open users begin
    table = table_of(found, "choices").frame.set_index("claim")
    (row,) = (table.loc[claim] for claim in table.index if claim.startswith("(xix)"))
    assert (row["choice_0"], row["choice_1"]) == ("does not hold", "holds")


def test_report_of_all_claims() -> None:
    full: Report = report(MadeUpCampaign(all_claims()))
    assert holds(full) == dict.fromkeys(NUMBERS, True) | {"xi": None}  # four logs count
    tables = {table.name: table for table in full.tables}
    (ours,) = tables["waits"].frame.query("replay == 'fluid'").to_dict("records")
    assert (ours["ours"], ours["thesis"]) == (50, 6389)
    assert not any(table.marks for table in tables.values())
    assert full.figures


# The queue --------------------------------------------------------------------------------------


def test_queue_beside_the_mean_queue_length_of_a_simulation() -> None:
    """Shares of time with more than 0, 1, 2, ... jobs add up to the mean length."""
    workload = load_workload(find_log("sample", []), make_rules())
    result = simulate(workload, scheduler="fcfs")
    ran = result.table.only_ran
    shares = measures.compute_time_above(ran.submit, ran.start, tuple(range(5000)))
    jobs = np.minimum(ran.start, ran.submit.max()) - ran.submit
    assert sum(shares) == pytest.approx(jobs.sum() / np.ptp(ran.submit))
    measured = measures.measure(result)
    assert measured["queue_above_0"] == pytest.approx(shares[0])
    queue = [measured[f"queue_above_{length}"] for length in measures.LENGTHS]
    assert queue == sorted(queue, reverse=True)
    assert measured["week_apart"] == 0 < measured["week_cycle"]  # rigid replay
    assert 4 / 24 < measured["share_in_slots"] < 1


# Short runs of the campaign file -----------------------------------------------------------------


FEW = range(6)
"""One of them is saturated, and five are enough for an interval."""


@cache
def sample() -> Workload:
    return load_workload(find_log("sample", []), make_rules())


@cache
def planned() -> dict[tuple[Any, ...], PlannedRun]:
    runs = read_campaign(find_campaign("tbuos_ups")).runs
    return {
        tuple(run.labels[axis] for axis in ("replay", "system", "replication")): run for run in runs
    }


def run(replay: str, system: str, seed: int) -> dict[str, Any]:
    """Return a run of the campaign, of six weeks, with its labels."""
    settings = planned()[replay, system, seed].settings
    result = simulate(
        sample(),
        scheduler=settings.scheduler,
        scheduler_options=settings.scheduler_options,
        users=settings.users,
        user_options={**settings.user_options, "weeks": 6, "load": 1.0},
        nodes=round(sample().nb_res * (settings.node_factor or 1)),
        seed=settings.seed,
    )
    labels = {"log": "sample", "replay": replay, "system": system, "seed": seed}
    return labels | result.measured["overall"]


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
    systems = ("fcfs", "easy", "easy twice")
    places = product(("resampled", "tbuos"), systems, FEW)
    rows = [run(*place) for place in places]
    found = all_verdicts(rows)
    assert {found[number, "sample"].holds for number in ("i", "iii", "vi")} == {True}
    compared = [e for claim in ("iii", "vi") for e in effects(rows, claim)]
    least = {e.ratio: e.least for e in compared if e.replay == "tbuos"}
    assert least["easy / fcfs"] > 1.01
    assert least["easy twice / easy"] > 1.05
