"""The report of the study: comparison with the published values, spread, models, and figures.

The runs are made up: the jobs of the sample log, each user late by a share of its recorded time.
"""

from __future__ import annotations

import doctest
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from batsched_py.metrics import JobTable
from batsched_py.report import Verdict
from batsched_py.units import DAY
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.log_archive import find_log
from batsched_studies.replay_feedback import (
    PUBLISHED,
    derived,
    factors,
    interpretations,
    joint,
    spread,
    tables,
    text_claims,
)
from batsched_studies.replay_feedback.measures import measure_jobs
from batsched_studies.replay_feedback.replays import Study
from batsched_studies.replay_feedback.report import report as study_report
from helpers.made_up_campaign import MadeUpCampaign, one_row, table_of

KTH = "KTH-SP2-1996-2.1-cln"
INFRASTRUCTURES = tables.INFRASTRUCTURES
REPLAYS = tables.REPLAYS


@cache
def sample() -> Workload:
    return load_workload(find_log("sample"), make_rules())


def make_run(infrastructure: str, replay: str, log: str = KTH, **values: Any) -> dict[str, Any]:
    """Return a run with the published values of KTH, or with others."""
    run: dict[str, Any] = {
        "log": log,
        "size": "requested",
        "infrastructure": infrastructure,
        "replay": replay,
        "shake": None,
        "nb_res": 64,
        "nb_ran": 100,
        "nb_jobs": 100,
    }
    for table in tables.TABLES:
        row = PUBLISHED[table]["KTH"].get(f"{infrastructure} {replay}", (0.0, 1.0, 0.0))
        units = [tables.UNITS[unit] for unit in PUBLISHED[table]["units"]]
        values_si = [value * unit for value, unit in zip(row, units, strict=True)]
        run |= dict(zip(PUBLISHED[table]["metrics"], values_si, strict=True))
    return run | values


def all_runs(log: str = KTH) -> pd.DataFrame:
    runs = [make_run(name, replay, log) for name in INFRASTRUCTURES for replay in REPLAYS]
    return pd.DataFrame(runs)


def cell(cells: Any, table: str, infrastructure: str, replay: str, metric: str) -> Any:
    place = (table, infrastructure, replay, metric)
    found = [c for c in cells if (c.table, c.infrastructure, c.replay, c.metric) == place]
    assert len(found) == 1
    return found[0]


# The published numbers ---------------------------------------------------------------------------


def test_relative_and_additional_lateness_fit_the_mean() -> None:
    """A check of the transcription: both follow from the mean lateness and the log."""
    for log, span, jobs in (("KTH", 332.0, 28_475), ("SDSC", 730.0, 67_667)):
        for mean, relative, additional in PUBLISHED["table2"][log].values():
            assert additional == pytest.approx(2 * mean * DAY / (jobs - 1), rel=0.02, abs=0.1)
            assert relative == pytest.approx(1 + mean / span, abs=0.011)


# Tables 1 and 2 ----------------------------------------------------------------------------------


def test_published_values_are_found_equal_in_all_rows() -> None:
    cells = tables.make_cells(all_runs())
    assert len(cells) == 3 * (18 + 12)
    assert all(c.equal and c.ours == pytest.approx(c.published) for c in cells)
    counts = tables.count_reproduced(cells)
    compared = counts[["table", "rows", "equal_rows", "values", "equal_values"]]
    assert compared.to_numpy().tolist() == [["table1", 18, 18, 54, 54], ["table2", 12, 12, 36, 36]]
    assert list(map(tables.is_ranked, tables.rank_infrastructures(cells).values())) == [True, True]


def test_the_report_begins_with_the_rows_that_have_all_digits_and_why_others_differ() -> None:
    runs = all_runs()
    wrong = (runs["infrastructure"] == "infra/2") & (runs["replay"] == "a60")
    runs.loc[wrong, "makespan"] = 461.7 * DAY
    report = study_report(MadeUpCampaign(runs))
    first = (
        "On KTH-SP2-1996-2.1-cln with requested sizes, 17 of 18 rows of Table 1 and 12 of 12 rows "
    )
    assert report.answer.startswith(first)
    assert "The other rows depend on what the paper leaves open" in report.answer
    frame = table_of(report, "table1_kth_sp2_1996_2_1_cln_requested").frame
    causes = frame["why"].dropna()
    assert list(causes) == [PUBLISHED["differences"]["KTH"]["rows"]["infra/2 a60"]]
    assert one_row(frame, why=causes.iloc[0])["infrastructure"] == "infra/2"
    report = study_report(MadeUpCampaign(all_runs()))
    assert "The other rows depend" not in report.answer
    assert "why" not in table_of(report, "table1_kth_sp2_1996_2_1_cln_requested").frame


def test_each_kind_of_easy_is_judged_by_itself() -> None:
    rigid = all_runs().query("replay == 'rigid' and infrastructure != 'fcfs'")
    wrong = rigid.assign(scheduler="easy_fixed", makespan=rigid["makespan"] + DAY)
    right = [rigid.assign(scheduler=kind) for kind in ("easy", "easy_fast")]
    report = study_report(MadeUpCampaign(pd.concat([*right, wrong])))
    assert [verdict.holds for verdict in report.verdicts] == [True, True, False]
    assert [verdict.effect[:6] for verdict in report.verdicts] == ["9 of 9", "9 of 9", "6 of 9"]
    frame = table_of(report, "kinds_kth_sp2_1996_2_1_cln_requested").frame
    row = one_row(frame, infrastructure="easy", metric="makespan")
    assert row[["easy", "easy_fixed", "published"]].tolist() == pytest.approx(
        [332.91, 333.91, 332.91]
    )


# Spread by the order of events -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("middle", "rank"), [(31.84, "5 of 10"), (31.61, "7 of 10"), (30.00, "10 of 10")]
)
def test_a_published_value_among_shaken_runs(middle: float, rank: str) -> None:
    """Ten orders of events, 0.1 d apart: is the paper's 31.84 d one more of them?"""
    days = [middle + (at - 4.5) / 10 for at in range(10)]
    runs = pd.DataFrame(
        [
            make_run("perf/2", "rigid", shake=seed, mean_waiting_time=value * DAY)
            for seed, value in enumerate(days)
        ]
    )
    cells = tables.make_cells(runs)
    found = cell(cells, "table1", "perf/2", "rigid", "mean_waiting_time")
    assert found.values == pytest.approx(days)
    assert found.beside.rank == rank
    report = study_report(MadeUpCampaign(runs))
    frame = table_of(report, "shake_kth_sp2_1996_2_1_cln_requested").frame
    row = one_row(frame, metric="mean_waiting_time")
    assert (row["minimum"], row["maximum"], row["rank"]) == (days[0], days[-1], rank)
    assert row["median"] == pytest.approx(middle)


def shaken(seed: int, orders: int = 12, **published: float) -> pd.DataFrame:
    """Return runs of infra/2 whose makespan and longest wait vary together, around the paper's."""
    draws = np.random.default_rng(seed)
    runs = []
    for replay, order in product(REPLAYS, range(orders)):
        run = make_run("infra/2", replay, shake=order, nb_ran=90)
        change = draws.normal() * DAY
        run["makespan"] += change + draws.normal() * 0.1 * DAY - published.get("makespan", 0) * DAY
        run["max_waiting_time"] += change
        run["mean_waiting_time"] /= published.get("share", 1.0)
        runs.append(run)
    return pd.DataFrame(runs)


def test_values_that_are_out_only_together() -> None:
    """Each is within the range of the runs, but the makespan is longer by more than waits are."""
    runs = shaken(1, makespan=0.8)
    (test, _) = joint.list_tests(runs).to_dict("records")
    assert test["p"] <= 3 * test["least"] == pytest.approx(3 / 13**3)
    cells = [cell for cell in tables.make_cells(runs) if cell.metric == "makespan"]
    assert all(min(cell.values) < cell.published < max(cell.values) for cell in cells)
    (inside, _) = joint.list_tests(shaken(1)).to_dict("records")
    assert inside["p"] > 0.05
    report = study_report(MadeUpCampaign(runs))
    said = [of for of in report.verdicts if of.claim.startswith("The paper's infra/2")]
    assert [of.holds for of in said] == [False, False]
    assert "divided by that ran" in said[0].reading


def test_waits_by_all_jobs_are_tested_too() -> None:
    """Of the jobs 90 % ran, so the paper's waits are 0.9 of those of the jobs that ran."""
    by_ran, by_all = joint.list_tests(shaken(1, share=0.9)).to_dict("records")
    assert (by_ran["waits"], by_all["waits"]) == ("that ran", "all")
    assert by_ran["p"] < 0.002 < 0.05 < by_all["p"]


def test_p_of_runs_that_are_exchangeable_is_uniform() -> None:
    draws = np.random.default_rng(0)
    ps = []
    for _ in range(400):
        replays = [draws.standard_t(3, size=(9, 3)) for _ in range(3)]
        ps.append(joint.compute_joint_p([joint.measure_distances(of) for of in replays]))
    shares = [float(np.mean(np.array(ps) <= level)) for level in (0.05, 0.2, 0.5, 0.8)]
    assert shares == pytest.approx([0.05, 0.2, 0.5, 0.8], abs=0.06)


# Resampled logs ----------------------------------------------------------------------------------


def resampled(shifts: dict[str, list[float]], replay: str = "a60", log: str = KTH) -> pd.DataFrame:
    """Return runs whose mean lateness is that of the paper and some days, one by replication."""
    runs = []
    for name, days in shifts.items():
        for replication, more in enumerate(days):
            run = make_run(name, replay, log, drawn_users="resampled", replication=replication)
            runs.append(run | {"mean_lateness": run["mean_lateness"] + more * DAY})
    return pd.DataFrame(runs)


def test_differences_are_taken_replication_by_replication() -> None:
    """The values are far apart, but by the same in each pair: the difference is exact."""
    days = [0, 10, 20, 5, 7]
    runs = resampled({"easy": days, "perf*2": [day - 1 for day in days]}).sample(
        frac=1, random_state=1
    )
    frame = pd.DataFrame(spread.make_paired_rows(runs))
    row = one_row(frame, metric="mean_lateness")
    published = -13.31 - -4.47
    assert row["published"] == pytest.approx(published)
    assert (row["difference"], row["low"], row["high"]) == pytest.approx([published - 1] * 3)
    assert (row["nb_runs"], row["clear"]) == (5, True)


def test_ranking_by_replication() -> None:
    """In the second of six logs infra*2 is earlier than perf*2, which the means do not show."""
    shifts = {name: [0.0] * 6 for name in tables.RANKING}
    shifts["infra*2"][1] = -10.0
    report = study_report(MadeUpCampaign(resampled(shifts)))
    order = table_of(report, "order_kth_sp2_1996_2_1_cln_requested").frame
    assert order["nb_right"].to_list() == [5, 6, 6, 6]
    assert order["clear"].to_list() == [False, True, True, True]
    (said,) = [verdict for verdict in report.verdicts if "which users the log has" in verdict.claim]
    assert said.holds is False


# Claims ------------------------------------------------------------------------------------------


def test_claims_hold_of_the_published_numbers_and_can_fail() -> None:
    runs = all_runs()
    verdicts = study_report(MadeUpCampaign(runs)).verdicts
    assert [verdict.holds for verdict in verdicts] == [True] * 9
    at = (runs.infrastructure == "perf/2") & (runs.replay == "a60")
    changed = {"mean_lateness": -20 * DAY, "mean_waiting_time": 32 * DAY, "makespan": 400 * DAY}
    runs.loc[at, list(changed)] = list(changed.values())
    verdicts = study_report(MadeUpCampaign(runs)).verdicts
    assert [verdict.holds for verdict in verdicts] == [True, *[False] * 4, True, True, False, True]


# Claims of the paper on its figures --------------------------------------------------------------


SDSC = "SDSC-SP2-1998-4"
NAMES = ("easy", "fcfs", "perf*2", "perf/2", "infra*2", "infra/2")


def replay(
    late: Any = 0.0, jobs: int = 400, wait: float = 1.0, run: float = 0.25, nodes: int = 10
) -> JobTable:
    """Return jobs of two nodes of two users, one a day: lateness, wait and run time in days."""
    recorded = np.arange(jobs) * DAY
    submit = recorded + np.broadcast_to(np.asarray(late, dtype=float), jobs) * DAY
    start = submit + wait * DAY
    return JobTable(
        submit=submit,
        start=start,
        finish=start + run * DAY,
        execution=np.full(jobs, run * DAY),
        size=np.full(jobs, 2.0),
        original_submit=recorded,
        user=["1", "2"] * (jobs // 2),
        nb_processors=nodes,
    )


def everywhere(**replays: JobTable) -> dict[tuple[str, str], JobTable]:
    """Return the same replays on all infrastructures."""
    return {(name, of): jobs for name in NAMES for of, jobs in replays.items()}


def said(log: str, replays: dict[tuple[str, str], JobTable], words: str) -> list[Verdict]:
    runs = {
        run: {
            "mean_lateness": jobs.lateness.mean(),
            "max_waiting_time": jobs.waiting.max(),
            **measure_jobs(jobs),
        }
        for run, jobs in replays.items()
    }
    study = Study(log, None, replays, pd.DataFrame())  # type: ignore[arg-type]
    differences = pd.DataFrame(derived.compare_submissions(study), columns=derived.DIFFERENCES)
    verdicts = text_claims.judge_claims(log, runs, differences)
    return [verdict for verdict in verdicts if words in verdict.claim]


def ranked(fcfs: float) -> dict[tuple[str, str], JobTable]:
    late = {"easy": 0, "infra/2": 20, "perf/2": 40, "fcfs": fcfs}
    return {(name, "a60"): replay(days) for name, days in late.items()}


def longest_wait(days: float) -> dict[tuple[str, str], JobTable]:
    """What waits in rigid replay is not asked."""
    replays = everywhere(a0=replay(wait=1), a60=replay(wait=1), rigid=replay(wait=100))
    return replays | {("easy", "a60"): replay(wait=days)}


def twice_as_good(gain: float, run: float) -> dict[tuple[str, str], JobTable]:
    """A job a day on 2 of 10 nodes for 1.825 days: 36.5 %; with feedback 8 % more, for 2 days."""
    rigid = replay(run=1.825)
    feedback = replay(late=rigid.original_submit / DAY * (1 / gain - 1), run=run)
    return everywhere(a0=feedback, a60=feedback, rigid=rigid)


def later(share: float) -> dict[tuple[str, str], JobTable]:
    late = np.where(np.arange(400) < 400 * share, 1.0, 0.0)
    return everywhere(a0=replay(late=late), a60=replay())


def swapped() -> dict[tuple[str, str], JobTable]:
    """With a0, neighbours change places and all is half a day later: half of the jobs are later."""
    return everywhere(a0=replay(late=np.tile([1.5, -0.5], 200)), a60=replay(), rigid=replay(1.0))


def busy(run: float) -> dict[tuple[str, str], JobTable]:
    """A job a day on 2 of 2 nodes: as busy as a job lasts in days."""
    return everywhere(a60=replay(run=run, nodes=2), a0=replay(late=0.1, run=run, nodes=2))


def by_jobs(exponent: float, noise: float = 0.0) -> dict[tuple[str, str], JobTable]:
    """User u of 40 has u jobs, and a mean lateness of u ** exponent days; of some users swapped."""
    users = [str(user) for user in range(1, 41) for _ in range(user)]
    late = np.array([float(user) ** exponent for user in users])
    late *= np.where(np.array([int(user) % 2 for user in users]), 1.0, 1.0 + noise)
    jobs = replay(late=late, jobs=820)
    jobs.user = users
    return everywhere(a60=jobs)


def apart(days: float) -> dict[tuple[str, str], JobTable]:
    """One of two users is ``days`` later than the other: 2 * 40 d / 199 jobs are 34,733 s."""
    return everywhere(a60=replay(late=np.tile([0.0, days], 200)))


@pytest.mark.parametrize(
    ("words", "replays", "holds", "log"),
    [
        ("FCFS is between", ranked(30), True, KTH),  # between infra/2 and perf/2
        ("FCFS is between", ranked(10), False, KTH),  # between EASY and infra/2, as on SDSC
        ("FCFS is between", ranked(10), True, SDSC),
        ("FCFS is between", ranked(30), False, SDSC),
        ("longest recorded", longest_wait(11.33), True, KTH),  # 11.34 days are recorded
        ("longest recorded", longest_wait(11.35), False, KTH),
        ("more throughput", twice_as_good(1.08, 2.0), True, KTH),
        ("more throughput", twice_as_good(1.13, 2.0), False, KTH),
        ("more throughput", twice_as_good(1.08, 1.7), False, KTH),
        ("more throughput", twice_as_good(1.08, 2.19), True, KTH),  # 47.3 % is printed as 47 %
        ("more throughput", twice_as_good(1.08, 2.21), False, KTH),  # 47.7 % is not
        ("more throughput", twice_as_good(1.08, 2.0), None, SDSC),  # of which nothing is printed
        ("(Fig. 7); job by job", later(0.95), True, KTH),
        ("(Fig. 7); job by job", later(0.6), False, KTH),
        ("(Fig. 7); job by job", swapped(), False, KTH),
        ("(Fig. 7); sorted, by position", swapped(), True, KTH),
        ("10,000 s", apart(40), True, KTH),
        ("10,000 s", apart(10), False, KTH),
        ("10,000 s", apart(40), None, "sample"),
        ("half as good, utilisation", busy(0.91), True, KTH),
        ("half as good, utilisation", busy(0.89), False, KTH),
        ("more jobs a user has", by_jobs(1.0, noise=0.5), True, KTH),
        ("more jobs a user has", by_jobs(-1.0, noise=0.5), False, KTH),
        ("does not grow", by_jobs(0.5), True, KTH),  # additional lateness falls
        ("does not grow", by_jobs(2.0), False, KTH),
        ("does not grow", by_jobs(1.07), None, KTH),
        ("of their mean lateness", apart(1.0), True, KTH),  # 12 h
        ("of their mean lateness", apart(10.0), False, KTH),
    ],
)
def test_a_claim_on_replays(
    words: str, replays: dict[tuple[str, str], JobTable], holds: bool | None, log: str
) -> None:
    """None: nothing is said, or nothing is known."""
    found = [verdict.holds for verdict in said(log, replays, words)]
    assert found == [holds] or (holds is None and not found)


def test_a_run_that_refutes_a_claim_does_not_make_it_hold_by_its_absence() -> None:
    late = {"perf*2": -9, "infra*2": -5, "easy": 0, "infra/2": 20, "fcfs": 30, "perf/2": 40}
    two_users = np.tile([0.0, 40.0], 200)
    right = {
        (name, of): replay(late=days * (of != "rigid") + two_users + (of == "a0"))
        for name, days in late.items()
        for of in tables.REPLAYS
    }
    refuted = 0
    for run in right:
        wrong = right | {run: replay(late=-60.0 if run[1] == "a0" else 60.0, wait=50.0)}
        with_it = {of.claim: of.holds for of in said(KTH, wrong, "")}
        left = {key: jobs for key, jobs in wrong.items() if key != run}
        without = {of.claim: of.holds for of in said(KTH, left, "")}
        for claim, holds in with_it.items():
            refuted += holds is False
            assert holds is not False or without.get(claim) is not True, (run, claim)
    assert refuted > len(right)


def first_jobs(**last: dict[int, float]) -> list[Verdict]:
    """Return the verdicts on curves of additional lateness (s) by the number of jobs, with a60."""
    rows = [
        {
            "infrastructure": name,
            "replay": "a60",
            "first": n if n < max(curve) else np.nan,
            "nb_jobs": n,
            "additional_lateness": late,
        }
        for name, curve in last.items()
        for n, late in curve.items()
    ]
    return list(text_claims.judge_first_jobs(KTH, pd.DataFrame(rows)))


def curve(last: float) -> dict[int, float]:
    return {500: 0, 20_000: 100, 25_000: last}


@pytest.mark.parametrize(
    ("easy", "faster", "fcfs", "holds"),
    [
        (109, 91, 140, True),
        (112, 91, 140, False),  # 12 s of 112 s
        (109, 80, 140, False),
        (109, 91, 110, False),  # 10 s of 110 s: FCFS levels out, too
    ],
)
def test_additional_lateness_levels_out(
    easy: float, faster: float, fcfs: float, holds: bool
) -> None:
    verdict, _ = first_jobs(easy=curve(easy), fcfs=curve(fcfs), **{"perf*2": curve(faster)})
    assert verdict.holds is holds
    assert f"fcfs {100 * (fcfs - 100) / fcfs:.0f} % (100 to {fcfs} s)" in verdict.effect


def test_additional_lateness_rises_or_falls_after_20000_jobs() -> None:
    """On KTH it falls under FCFS, and rises on nodes half as fast."""
    for late, holds in ((140, [True, False]), (60, [False, True])):
        verdicts = first_jobs(fcfs=curve(late), **{"perf/2": curve(late)})
        assert [verdict.holds for verdict in verdicts] == holds


# Factors -----------------------------------------------------------------------------------------


def test_the_factor_that_orders_everything_explains_most() -> None:
    """By hand: 4 machines, 2 logs, 2 replays; the values are in the order of the factors."""
    values = {
        (log, f"m{machine}", replay): 4 * machine + 2 * (log == "b") + (replay == "a0")
        for log in "ab"
        for machine in range(4)
        for replay in ("a0", "a60")
    }
    shares = factors.share_variance(values)
    assert shares is not None
    total = np.var(np.arange(16))
    expected = {"log": 1.0, "infrastructure": 16 * 1.25, "replay": 0.25}
    assert shares == pytest.approx({name: 100 * of / total for name, of in expected.items()})
    del values["a", "m0", "a0"]
    assert factors.share_variance(values) is None


def test_factors_are_judged_where_two_logs_were_replayed() -> None:
    both = pd.concat([all_runs(), all_runs(SDSC)])
    (verdict,) = [of for of in study_report(MadeUpCampaign(both)).verdicts if "factors" in of.claim]
    assert verdict.holds is False  # the made-up runs have the numbers of KTH on both logs
    assert "0 of 4 metrics" in verdict.effect


# Interpretations ---------------------------------------------------------------------------------


RANKED = PUBLISHED["verdicts"]["ranked"]["claim"].format(replay="a60")


def test_the_table_says_how_many_interpretations_were_tried_and_which_come_out() -> None:
    """Of infra/2, 90 % of the jobs ran: one interpretation has the digits by all jobs only."""
    runs = pd.concat(
        all_runs().assign(size=size, events=events, rejection="at_once")
        for size in ("requested", "allocated")
        for events in ("instant", "late_ends")
    )
    slow = runs["infrastructure"] == "infra/2"
    runs.loc[slow, "nb_ran"] = 90
    first = (runs["size"] == "requested") & (runs["events"] == "instant")
    runs.loc[slow & first, "mean_waiting_time"] /= 0.9
    runs.loc[~slow & ~first, "makespan"] += DAY
    rows = interpretations.count_rows(interpretations.list_values(runs))
    easy = one_row(rows, infrastructure="easy", replay="rigid")
    assert (easy["tried_1"], easy["table1"]) == (4, "requested, instant")
    infra = one_row(rows, infrastructure="infra/2", replay="a60")
    assert (infra["tried"], infra["tried_1"]) == (4, 8)
    assert infra["table1"] == (
        "requested, instant, waits by all; requested, late_ends, waits by that ran; "
        "allocated, instant, waits by that ran; allocated, late_ends, waits by that ran"
    )
    assert infra["table2"].count(";") == 3
    report = study_report(MadeUpCampaign(runs))
    (verdict,) = report.verdicts
    assert verdict.holds is True
    assert verdict.effect.startswith("30 of 30 rows (requested, instant, waits by all)")
    counted = one_row(table_of(report, "claims").frame, claim=RANKED)
    assert counted[["tried", "holds", "fails"]].tolist() == [4, 4, ""]


def test_runs_of_real_batsim_are_an_interpretation() -> None:
    report = study_report(MadeUpCampaign(all_runs().assign(backend="batsim")))
    (verdict,) = report.verdicts
    assert verdict.effect.startswith("30 of 30 rows (requested, real_batsim, waits by")


# The flurry --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "late", "holds"), [(SDSC, 30, [True]), (SDSC, 5, [False]), (KTH, 30, [])]
)
def test_fcfs_without_the_flurry(log: str, late: float, holds: list[bool]) -> None:
    """With the flurry, FCFS is earlier than infra/2."""
    days = {"easy": 1, "infra/2": 20, "perf/2": 40}
    runs = [
        make_run(name, "a60", log, flurry=flurry, mean_lateness=of * DAY)
        for flurry, fcfs in (("with", 10), ("without", late))
        for name, of in {**days, "fcfs": fcfs}.items()
    ]
    report = study_report(MadeUpCampaign(runs))
    assert [verdict.holds for verdict in report.verdicts] == holds
    (table,) = report.tables
    row = one_row(table.frame, infrastructure="fcfs")
    assert row[["with", "without"]].tolist() == pytest.approx([10, late])


@pytest.mark.parametrize("module", [factors, joint])
def test_examples(module: Any) -> None:
    results = doctest.testmod(module)
    assert results.failed == 0 < results.attempted
