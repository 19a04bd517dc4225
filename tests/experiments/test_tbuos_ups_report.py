"""The report of the study: verdicts on made-up runs, tables, figures, and that the files expand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import load_workload, simulate
from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.report.document import Report
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.logs.log_archive import find_log
from batsched_studies.tbuos_ups import PUBLISHED, claims, measures, verdicts, warm_up
from batsched_studies.tbuos_ups import waits as waited
from batsched_studies.tbuos_ups.report import report
from helpers.made_up_campaign import MadeUpCampaign, holds

KTH = "KTH-SP2-1996-2.1-cln"
CTC = "CTC-SP2-1996-3.1-cln"
NUMBERS = ["i", "ii", "iii", "iv", "v", "v, open", "vi", "vii", "viii", "ix", "x", "xi"]
HALF, FULL = "ups load 0.5", "ups load 1"


def made(replay: str, system: str, seed: int = 1, log: str = KTH, **values: Any) -> dict[str, Any]:
    row = {"log": log, "replay": replay, "system": system, "seed": seed, "nb_jobs": 100}
    row |= {"throughput_to_last_submission": 1.0, "mean_waiting_time": 60.0}
    row |= {"mean_activity_length": 86_400.0, "backlog_growth": 0.0, "mean_queue_length": 1.0}
    row |= {"active_weeks_per_user": 3.0, "mean_session_length_arrival_60": 600.0}
    row |= {"queue_above_0": 0.5, "queue_above_1": 0.25}
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
    runs = claims.read(pd.DataFrame(rows))
    found = verdicts.judge_claims(
        claims.compare_systems(runs),
        waited.compute_spreads(runs),
        waited.compare_spreads(runs),
        waited.compute_waits(runs),
    )
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
        ([1.2, 1.0, 1.0, 1.0, 1.0], [1.0] * 5, None),  # more in the mean; the interval reaches 1
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


@given(
    base=st.lists(st.floats(0.5, 2.0), min_size=5, max_size=8),
    factor=st.floats(1.01, 2.0),
)
def test_a_common_factor_is_found_however_seeds_differ(base: list[float], factor: float) -> None:
    more = [factor * value for value in base]
    rows = throughput("tbuos", "easy", more) + throughput("tbuos", "fcfs", base)
    (effect,) = effects(rows, "iii")
    assert (effect.low, effect.value, effect.high) == pytest.approx((factor,) * 3)
    assert effect.above == len(base)
    assert effect.holds


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


def test_nothing_is_said_where_all_open_runs_are_saturated() -> None:
    rows = throughput("resampled", "easy", [1.0]) + throughput("resampled", "fcfs", [0.5])
    rows[1]["backlog_growth"] = 20.0
    assert verdict(rows, "i") is None


@pytest.mark.parametrize("replay", ["rigid", "tbuos"])
def test_nothing_is_said_where_of_what_changes_and_what_stays_only_one_was_run(replay: str) -> None:
    rows = throughput(replay, "easy", [1.0] * 5) + throughput(replay, "easy twice", [1.3] * 5)
    (half,) = [v for (claim, _), v in all_verdicts(rows).items() if claim == "vi"]
    assert (half.holds, half.effect) == (None, "")
    assert half.evidence == "Only a part of it was run."


def test_open_replay_with_other_jobs_is_an_error_of_ours() -> None:
    rows = [made("rigid", "easy"), made("rigid", "fcfs", nb_jobs=101)]
    assert verdict(rows, "i") is False


@pytest.mark.parametrize(
    ("jobs", "activity", "holds"), [(100, 1.1, True), (100, 1.01, False), (99, 1.1, False)]
)
def test_feedback_has_the_same_jobs_and_other_activities(
    jobs: int, activity: float, holds: bool
) -> None:
    rows = [
        made("adjusted", "easy"),
        made("adjusted", "fcfs", nb_jobs=jobs, mean_activity_length=activity * 86_400),
    ]
    assert verdict(rows, "ii") is holds


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
    assert verdict(rows, "v") is holds
    assert ("v, open", KTH) not in all_verdicts(rows)  # nothing is said of what was not run
    rows += throughput("resampled", "easy", [1.0] * 5) + throughput("resampled", FULL, [1.1] * 5)
    assert verdict(rows, "v") is holds


@pytest.mark.parametrize(
    ("load", "recency", "holds"), [(1.0, 1.01, True), (1.0, 1.1, False), (0.9, 1.0, False)]
)
def test_ups_changes_nothing_in_open_resampling(load: float, recency: float, holds: bool) -> None:
    rows = throughput("resampled", "easy", [1.0] * 5)
    rows += throughput("resampled", FULL, [load] * 5)
    rows += throughput("resampled", "ups recency 1", [recency] * 5)
    assert verdict(rows, "v, open") is holds
    assert ("v", KTH) not in all_verdicts(rows)


def test_what_is_farthest_from_no_change_is_told() -> None:
    rows = throughput("resampled", "easy", [1.0] * 5)
    rows += throughput("resampled", HALF, [1.001] * 5) + throughput("resampled", FULL, [0.99] * 5)
    assert "ups load 1 / easy: throughput x 0.99 " in all_verdicts(rows)["v, open", KTH].effect


def test_the_weight_may_be_an_axis_of_its_own() -> None:
    row = made("tbuos", "ups load") | {"a_user": 0.2}
    runs = claims.read(pd.DataFrame([row, made("tbuos", "easy")]))
    assert runs.labels("system") == ["easy", "ups load 0.2"]


@pytest.mark.parametrize(
    ("load", "recency", "holds"), [(1.2, 1.1, True), (1.1, 1.1, False), (1.0, 1.1, False)]
)
def test_load_above_recency(load: float, recency: float, holds: bool) -> None:
    rows = throughput("tbuos", HALF, [load] * 5)
    rows += throughput("tbuos", "ups recency 0.5", [recency] * 5)
    assert verdict(rows, "vii") is holds


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


@pytest.mark.parametrize(
    ("weeks", "session", "holds"), [(4.0, 500.0, True), (2.0, 500.0, False), (4.0, 700.0, False)]
)
def test_users_of_tbuos_beside_those_of_open_resampling(
    weeks: float, session: float, holds: bool
) -> None:
    own = {"active_weeks_per_user": weeks, "mean_session_length_arrival_60": session}
    rows = [made("resampled", "easy", seed) for seed in range(5)]
    rows += [made("tbuos", "easy", seed, **own) for seed in range(5)]
    assert verdict(rows, "x") is holds


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


def test_a_single_seed_that_waits_long_decides_nothing() -> None:
    """In every second permutation it is on the other side, and then the ratio is as large."""
    rows = waits("resampled", 6.0, 30, slow=[7]) + waits("tbuos", 2.0, 30, slow=[9])
    assert verdict(rows, "iv") is None
    assert "p = " in all_verdicts(rows)["iv", KTH].effect


def test_spread_with_and_without_saturated_runs_beside_the_thesis() -> None:
    rows = waits("resampled", 6.0, 30, slow=[7])
    rows[7]["backlog_growth"] = 2.0
    every, stable = waited.compute_spreads(claims.read(pd.DataFrame(rows))).itertuples()
    assert (every.seeds, every.ratio, every.thesis) == (30, 6.0, 6.59)
    assert every.difference == pytest.approx(6 / 6.59 - 1)
    assert every.spread == pytest.approx(np.std([0] * 29 + [np.log(6)], ddof=1))
    assert (stable.which, stable.seeds, stable.ratio, stable.spread) == ("stable", 29, 1.0, 0.0)
    (few,) = waited.compute_spreads(claims.read(pd.DataFrame(rows[:5]))).itertuples()
    assert (few.seeds, few.thesis) == (5, None)


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


def test_logs_on_which_the_strict_easy_was_chosen_are_no_sign_of_it() -> None:
    (told,) = [v for (claim, _), v in all_verdicts(six_logs(6)).items() if claim == "xi"]
    assert told.holds is None
    assert (
        told.effect == "nearer on 4 of 4 logs, p = 0.125; mean distance x 1.00 strict, 2.00 usual"
    )
    assert f"{KTH} 17,510 and 8,755 s, printed 8,755" in told.evidence  # shown it is
    chosen = all_verdicts(six_logs(6)[: 2 * 2])["xi", ""]  # KTH and SDSC-SP2
    assert (chosen.holds, chosen.effect) == (None, "nearer on 0 of 0 logs, p = 1")


@pytest.mark.parametrize(
    ("nearer", "number", "p"),
    [(4, 4, 1 / 8), (6, 6, 1 / 32), (0, 6, 1 / 32), (5, 6, 14 / 64), (1, 2, 1)],
)
def test_sign_test_is_two_sided(nearer: int, number: int, p: float) -> None:
    assert waited.sign_test(nearer, number) == p


@pytest.mark.parametrize(("cea", "holds"), [((8017.0, 24503.0), False), ((1388.0, 6945.0), True)])
def test_which_easy_is_nearer_by_logarithms(cea: tuple[float, float], holds: bool) -> None:
    """KTH has 8,755 printed and CEA 6,989; on KTH the strict one is nearer in any case."""
    rows = strict_and_usual(KTH, 6889.0, 8608.0) + strict_and_usual(CEA, *cea)
    apart = waited.compare_easy(waited.compute_waits(claims.read(pd.DataFrame(rows))))
    assert list(apart["nearer"]) == [holds, True]  # CEA, KTH
    assert np.exp(apart["usual_apart"].iloc[1]) == pytest.approx(8755 / 6889)


def test_a_log_that_cannot_be_compared_tells_nothing_of_easy() -> None:
    rows = strict_and_usual(KTH, 6889.0, 8608.0) + strict_and_usual(CM5, 1536.0, 1810.0)
    assert verdict(rows, "xi", "") is None


def test_waits_beside_the_thesis() -> None:
    rows = [
        made("rigid", "easy", mean_waiting_time=1000.0),
        made("fluid", "easy", mean_waiting_time=800.0),
        made("fluid", "fcfs", mean_waiting_time=9.0),
        made("fluid", "easy strict", mean_waiting_time=900.0),
        made("fluid 5", "easy", mean_waiting_time=700.0),
    ]
    found = waited.compute_waits(claims.read(pd.DataFrame(rows)))
    rigid, fluid, other = found.itertuples()  # "strict" lacks open replay
    assert (rigid.ours, rigid.thesis, rigid.ours_to_rigid, rigid.thesis_to_rigid) == (
        *(1000, 8755, 1, 1),
    )
    assert (fluid.ours, fluid.thesis, fluid.ours_to_rigid) == (800, 6389, 0.8)
    assert fluid.thesis_to_rigid == pytest.approx(0.73, abs=0.005)  # as the thesis's numbers give
    assert (other.replay, other.ours, other.thesis) == ("fluid 5", 700, 6389)


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


@pytest.mark.parametrize("nodes", [80_640, 93_312])
def test_readings_name_the_machine(nodes: int) -> None:
    rows = [
        *(made(replay, "easy", log=CEA, nb_res=nodes) for replay in ("rigid", "adjusted")),
        *(made(replay, "fcfs", log=CEA, nb_res=nodes) for replay in ("rigid", "adjusted")),
        made("rigid", "easy strict", log=CEA, nb_res=nodes),
    ]
    found = all_verdicts(rows)
    for claim in ("i", "ii", "viii"):
        assert found[claim, CEA].reading.endswith(f"; {nodes:,} processors")
    assert found["xi", ""].reading.endswith(f"; processors: CEA {nodes:,}")


def test_no_size_is_told_of_machines_of_different_sizes() -> None:
    rows = [made("tbuos", "easy", nb_res=100), made("tbuos", "easy twice", nb_res=200)]
    rows += [made("rigid", "easy", nb_res=100), made("rigid", "easy twice", nb_res=200)]
    assert all_verdicts(rows)["vi", KTH].reading == PUBLISHED["readings"]["vi"]


def test_published_numbers_have_the_printed_orderings() -> None:
    """A check of the transcription: what the text says of the two tables."""
    table = PUBLISHED["waits"]
    traces = list(table["rigid"])
    assert len(traces) == 8
    assert [t for t in traces if table["fluid"][t] >= table["rigid"][t]] == ["Intrepid"]
    assert [t for t in traces if table["adjusted"][t] >= table["rigid"][t]] == ["Intrepid"]
    slower = [t for t in traces if table["distribution"][t] < table["rigid"][t]]
    assert slower == ["CEA", "CM5"]
    ratios = PUBLISHED["ratios"]
    assert len(ratios["tbuos"]) == 8
    assert all(ratios["tbuos"][t] < ratios["resampled"][t] for t in ratios["resampled"])
    assert set(PUBLISHED["logs"].values()) <= set(traces) | {"CTC"}


# The report -------------------------------------------------------------------------------------


def all_claims() -> list[dict[str, Any]]:
    """Return runs with which all claims hold, on logs found by their paths."""
    rows = waits("resampled", 6.0, 30) + waits("tbuos", 2.0, 30)
    for row in rows[30:]:
        row |= {"active_weeks_per_user": 4.0, "mean_session_length_arrival_60": 500.0}
    more = {"fcfs": 0.8, "ups load 0": 1.0, HALF: 1.1, FULL: 1.2, "easy twice": 1.3}
    for system, value in (more | {"ups recency 0.5": 1.0, "ups recency 1": 1.1}).items():
        rows += throughput("tbuos", system, [value] * 5)
        rows += [made("resampled", system, seed) for seed in range(5)]
    rows += [made("fluid", "easy", seed, mean_waiting_time=50.0) for seed in range(5)]
    rows += [made("fluid", "fcfs", seed, mean_activity_length=1e5) for seed in range(5)]
    rows += [made("rigid", "easy")]
    rows += throughput("tbuos", "easy 336", [1.0] * 5, log=CTC)
    rows += throughput("tbuos", "easy 430", [1.1, 1.2, 1.1, 1.2, 1.1], log=CTC)
    rows += [made("rigid", system, log=CTC) for system in ("easy 336", "easy 430")]
    rows += [made("rigid", "easy strict", mean_waiting_time=61.0)]  # nearer to what is printed
    for log, trace in PUBLISHED["logs"].items():
        if trace in SIX and log != KTH:
            rows += strict_and_usual(log, 60.0, 61.0)
    return [row | {"log": f"/logs/{row['log']}.swf.gz"} for row in rows]


def test_report_of_all_claims() -> None:
    full: Report = report(MadeUpCampaign(all_claims()))
    assert holds(full) == dict.fromkeys(NUMBERS, True) | {"xi": None}  # four logs count
    assert all(verdict.reading for verdict in full.verdicts)
    tables = {table.name: table for table in full.tables}
    others = {number for number in NUMBERS if number not in ("iv", "viii", "xi", "v, open")}
    claims = {"claim_v_open", *(f"claim_{number}" for number in others)}
    assert set(tables) == {"systems", "users", "ratios", "calmer", "waits", "strict"} | claims
    (ours,) = tables["waits"].frame.query("replay == 'fluid'").to_dict("records")
    assert (ours["ours"], ours["thesis"]) == (50, 6389)
    assert not any(table.marks for table in tables.values())
    assert {figure.name for figure in full.figures} == {
        *("ratios_beside_thesis", "waits_beside_thesis", "wait_distribution", "throughput"),
        *("ups", "queue"),
    }
    for figure in full.figures:
        assert figure.spec["$schema"].startswith("https://vega.github.io")
        assert rows_of(figure.spec) < 2000


def rows_of(spec: Any) -> int:
    """Return the rows of data that a chart has in it."""
    if isinstance(spec, list):
        return sum(map(rows_of, spec))
    if not isinstance(spec, dict):
        return 0
    own = len(spec["data"].get("values", [])) if isinstance(spec.get("data"), dict) else 0
    data = sum(len(rows) for rows in spec.get("datasets", {}).values())
    return own + data + sum(rows_of(value) for value in spec.values())


def test_figure_of_ups_relates_pairs_of_seeds() -> None:
    easy = [1.0, 2.0, 9.0, 4.0, 5.0, 6.0]
    rows = throughput("tbuos", "easy", easy)
    rows += throughput("tbuos", HALF, [1.5 * value for value in easy[:5]])
    figure = next(f for f in report(MadeUpCampaign(rows)).figures if f.name == "ups")
    (point,) = figure.spec["data"]["values"]
    assert (point["a_user"], point["rank"], point["n"]) == (0.5, "load", 5)
    assert (point["low"], point["ratio"], point["high"]) == pytest.approx((1.5, 1.5, 1.5))


def test_report_of_few_runs_leaves_out_the_rest() -> None:
    rows = [made("tbuos", "easy"), made("tbuos", "fcfs", throughput_to_last_submission=1.5)]
    few: Report = report(MadeUpCampaign(rows))
    assert [table.name for table in few.tables] == ["systems", "users", "claim_iii"]
    assert [figure.name for figure in few.figures] == ["throughput", "queue"]
    assert holds(few) == dict.fromkeys(NUMBERS, None)
    assert few.tables[-1].marks == ()


def test_what_is_not_as_claimed_is_marked() -> None:
    """Throughput and submissions are both less with EASY."""
    rows = throughput("tbuos", "easy", [1.0] * 5) + throughput("tbuos", "fcfs", [1.5] * 5)
    (table,) = [t for t in report(MadeUpCampaign(rows)).tables if t.name == "claim_iii"]
    assert table.marks == ((0, "verdict"), (1, "verdict"))


def test_where_a_warm_up_would_end_is_shown_if_it_was_measured() -> None:
    """Of three seeds, one has no end of the beginning."""
    rows = [
        made("tbuos", "easy", seed, warm_up_d=days, length_d=90.0)
        for seed, days in enumerate((2.0, np.nan, 6.0))
    ]
    (table,) = [t for t in report(MadeUpCampaign(rows)).tables if t.name == "warm_up"]
    (row,) = table.frame.to_dict("records")
    assert (row["seeds"], row["found"], row["length"]) == (3, 2, 90)
    assert (row["least"], row["median"], row["most"]) == (2, 4, 6)


def test_a_warm_up_is_measured_in_days() -> None:
    result = simulate(find_log("sample", []), users="rigid")
    measured = warm_up.measure(result)
    assert measured["length_d"] == pytest.approx(np.ptp(result.table.submit) / 86_400)
    ended = measured["warm_up_d"]
    assert np.isnan(ended) or 0 <= ended <= measured["length_d"]


def test_report_of_nothing_is_no_error() -> None:
    few: Report = report(MadeUpCampaign([]))
    assert not few.parts
    assert {verdict.holds for verdict in few.verdicts} == {None}


# Campaign files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "replays"),
    [
        ("campaign", {"resampled", "tbuos", "fluid"}),
        ("ratios", {"resampled", "tbuos"}),
        ("ups", {"resampled", "tbuos"}),
        ("machine", {"resampled", "tbuos"}),
        ("logs", {"resampled", "tbuos"}),
        ("real", {"resampled", "tbuos"}),
        ("waits", {"rigid", "adjusted", "distribution", "fluid", "fluid 5"}),
        ("waits_cea", {"rigid", "adjusted", "distribution", "fluid", "fluid 5"}),
    ],
)
def test_campaign_files_say_what_their_labels_say(file: str, replays: set[str]) -> None:
    campaign = read_campaign(find_campaign(f"tbuos_ups/{file}"))
    assert {run.labels["replay"] for run in campaign.runs} == replays
    for run in campaign.runs:
        (system,) = claims.read(pd.DataFrame([{**run.labels, "log": "", "seed": 1}])).labels(
            "system"
        )
        chosen, options = run.settings, run.settings.scheduler_options
        assert chosen.users == str(run.labels["replay"]).split()[0]
        assert chosen.scheduler == system.split()[0]
        if chosen.scheduler == "ups":
            assert system == f"ups {options['rank']} {options['a_user']:g}"
        assert (options.get("extra_nodes") == "none") == (system == "easy strict")
        assert (chosen.node_factor == 2) == (system == "easy twice")
        nodes = {"easy 336": 336, "easy 430": 430}.get(system)
        assert chosen.nodes == (80_640 if file == "waits_cea" else nodes)


# The queue --------------------------------------------------------------------------------------


def test_share_of_time_with_more_jobs_waiting() -> None:
    """Submitted at 0, 2, 2 and 10; the first starts at once, the next two wait to 4 and 6."""
    submit, start = np.array([0.0, 2, 2, 10]), np.array([0.0, 4, 6, 30])
    assert measures.compute_time_above(submit, start, (0, 1, 2)) == pytest.approx([0.4, 0.2, 0.0])


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
    assert list(measured.values()) == sorted(measured.values(), reverse=True)
