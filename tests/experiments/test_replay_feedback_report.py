"""The report of the study: comparison with the published values, spread, models, and figures.

The runs are made up: the jobs of the sample log, each user late by a share of its recorded time.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from itertools import product
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
import vl_convert

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.figures.chart_files import render_chart, set_width
from batsched_py.report import Report
from batsched_py.run.simulate import simulate
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.log_archive import find_log
from batsched_studies.replay_feedback import (
    PUBLISHED,
    claims,
    figures,
    models,
    replays,
    session_graphs,
    spread,
    tables,
    text_claims,
)
from batsched_studies.replay_feedback.measures import measure
from batsched_studies.replay_feedback.report import report as study_report
from helpers.made_up_campaign import STUDIES, MadeUpCampaign, one_row, table_of

STUDY = STUDIES / "replay_feedback"
KTH = "KTH-SP2-1996-2.1-cln"
DAY = 86_400.0
LATE = {"perf*2": -0.1, "infra*2": -0.05, "easy": 0.0, "fcfs": 0.1, "infra/2": 0.2, "perf/2": 0.3}
INFRASTRUCTURES = tables.INFRASTRUCTURES
REPLAYS = tables.REPLAYS


@cache
def sample() -> Workload:
    return load_workload(find_log("sample"), make_rules())


class FakeResults(MadeUpCampaign):
    """Made-up runs of the first days of a log."""

    def __init__(self, runs: pd.DataFrame, days: int = 20, *, kept: bool = True) -> None:
        super().__init__(runs, "replay_feedback")
        self.kept = kept
        self._jobs = [job for job in sample().jobs if job.submit_time < days * DAY]

    def workload(self, run: Any) -> Workload:
        return msgspec.structs.replace(sample(), jobs=self._jobs)

    def kept_jobs(self, run: Any) -> pd.DataFrame | None:
        if not self.kept:
            return None
        late = 0.0 if run["replay"] == "rigid" else LATE[run["infrastructure"]]
        rows = [
            {
                "job_id": job.id,
                "submission_time": job.submit_time * (1 + late),
                "original_submission_time": job.submit_time,
                "starting_time": job.submit_time * (1 + late) + 60,
                "finish_time": job.finish_time + job.submit_time * late if at % 50 else math.nan,
                "requested_number_of_resources": job.size,
                "user": job.user,
            }
            for at, job in enumerate(self._jobs)  # each 50th is rejected
        ]
        return pd.DataFrame(rows).sort_values("finish_time")


def make_run(infrastructure: str, replay: str, log: str = KTH, **values: Any) -> dict[str, Any]:
    """Return a run with the published values of KTH, or with others."""
    run: dict[str, Any] = {
        "log": log,
        "size": "requested",
        "infrastructure": infrastructure,
        "replay": replay,
        "shake": None,
        "nb_res": 64,
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


def test_published_numbers_are_complete() -> None:
    for log in ("KTH", "SDSC"):
        assert list(PUBLISHED["table1"][log]) == [
            f"{i} {r}" for i in INFRASTRUCTURES for r in REPLAYS
        ]
        assert len(PUBLISHED["table2"][log]) == 12
        assert all(len(row) == 3 for t in tables.TABLES for row in PUBLISHED[t][log].values())
    assert PUBLISHED["table1"]["KTH"]["perf/2 rigid"] == [471.85, 31.84, 141.34]
    assert PUBLISHED["table2"]["SDSC"]["infra/2 a60"] == [81.50, 1.11, 208.12]


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
    assert compared.to_numpy().tolist() == [
        ["table1", 18, 18, 54, 54],
        ["table2", 12, 12, 36, 36],
    ]
    assert list(map(tables.is_ranked, tables.rank_infrastructures(cells).values())) == [True, True]


def test_one_digit_makes_a_row_unequal() -> None:
    runs = all_runs()
    runs.loc[0, "makespan"] = 332.92 * DAY
    counts = tables.count_reproduced(tables.make_cells(runs))
    assert counts.loc[0, ["equal_rows", "equal_values"]].to_list() == [17, 53]
    report = study_report(MadeUpCampaign(runs))
    shown = table_of(report, "table1_kth_sp2_1996_2_1_cln_requested")
    assert shown.frame["all_digits"].to_list() == [False, *([True] * 17)]
    assert (0, "makespan") not in shown.marks
    assert (0, "max_waiting_time") in shown.marks
    assert shown.frame["makespan_difference"][0] == pytest.approx(0.01)
    kinds = [(column.name, column.kind) for column in shown.shown if "makespan" in column.name]
    assert kinds == [
        ("makespan", "ours"),
        ("makespan_published", "published"),
        ("makespan_difference", "difference"),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-0.001, "0.00"),
        (-10.0, "\N{MINUS SIGN}10.00"),
        (1.239, "1.24"),
        (-0.006, "\N{MINUS SIGN}0.01"),
        (-0.0, "0.00"),
    ],
)
def test_digits(value: float, text: str) -> None:
    assert tables.format_digits(value) == text


def test_ranking() -> None:
    runs = all_runs()
    runs.loc[(runs.infrastructure == "easy") & (runs.replay == "a60"), "mean_lateness"] = 50 * DAY
    a0, a60 = tables.rank_infrastructures(tables.make_cells(runs)).values()
    assert tables.is_ranked(a0)
    assert not tables.is_ranked(a60)
    assert list(a60) == ["perf*2", "infra*2", "infra/2", "perf/2", "easy"]
    missing = tables.rank_infrastructures(tables.make_cells(runs[runs.infrastructure != "easy"]))
    assert list(map(tables.is_ranked, missing.values())) == [None, None]


def test_a_log_without_published_values_shows_ours_only() -> None:
    report = study_report(MadeUpCampaign(all_runs("sample")))
    shown = table_of(report, "table1_sample_requested")
    assert [column.title for column in shown.shown[2:]] == [
        "makespan (d)",
        "mean wait (d)",
        "max wait (d)",
    ]
    assert shown.frame["makespan"][0] == pytest.approx(332.91)
    assert not shown.marks
    assert "counts" not in [one.name for one in report.tables]


@pytest.mark.parametrize("log", [KTH, f"/logs/{KTH}.swf.gz", f"{KTH}.swf"])
def test_logs_are_known_by_name_or_path(log: str) -> None:
    cells = tables.make_cells(pd.DataFrame([make_run("easy", "rigid", log)]))
    assert all(c.equal for c in cells)


def test_runs_of_the_first_jobs_or_of_resampled_people_are_not_in_the_tables() -> None:
    runs = pd.DataFrame(
        [
            make_run("easy", "a0"),
            make_run("easy", "a0", first=100),
            make_run("easy", "a0", people="resampled"),
        ]
    )
    assert all(len(c.values) == 1 for c in tables.make_cells(runs))


# Spread by the order of events -------------------------------------------------------------------


def test_the_effect_has_the_range_of_shaken_runs() -> None:
    """Signs are told of the first order, which is between others; one order turns a sign around."""
    runs = [
        make_run(name, "a0", shake=seed, mean_lateness=value * DAY)
        for name, days in {"perf*2": (-2, -3, -1), "perf/2": (1, 2, -1)}.items()
        for seed, value in enumerate(days)
    ]
    told = {v.claim: v.effect for v in study_report(MadeUpCampaign(pd.DataFrame(runs))).verdicts}
    (order,) = (effect for claim, effect in told.items() if claim.startswith("With a0, users"))
    ends = "-2.00 (-3.00 to -1.00) d to perf/2 1.00 (-1.00 to 2.00) d, the first of 3 runs"
    assert ends in order.replace("\N{MINUS SIGN}", "-")
    (signs,) = (
        effect for claim, effect in told.items() if claim.startswith("Users submit earlier")
    )
    assert signs == "so in 2 of 2 comparisons, the first of 3 runs, where the ranges of 1 are apart"


@pytest.mark.parametrize(
    ("middle", "rank", "far"),
    [
        (31.84, "5 of 10", False),
        (31.61, "7 of 10", False),
        (30.00, "10 of 10", True),
        (33.60, "0 of 10", True),
    ],
)
def test_a_published_value_among_shaken_runs(middle: float, rank: str, far: bool) -> None:
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
    assert (found.beside.p < tables.FAR) is far
    count = tables.count_reproduced(cells).loc[0]
    assert (count.spread_values, count.far_values) == (3, far)
    report = study_report(MadeUpCampaign(runs))
    frame = table_of(report, "shake_kth_sp2_1996_2_1_cln_requested").frame
    row = one_row(frame, metric="mean_waiting_time")
    assert (row["minimum"], row["maximum"], row["rank"]) == (days[0], days[-1], rank)
    assert row["median"] == pytest.approx(middle)
    (said,) = [verdict for verdict in report.verdicts if "order of simultaneous" in verdict.claim]
    assert said.holds is not far
    assert said.effect.startswith("z ")


def test_a_value_printed_alike_is_not_outside() -> None:
    """31.845 may have been printed 31.84: it is the nearest number that is compared."""
    runs = pd.DataFrame(
        [make_run("perf/2", "rigid", shake=k, mean_waiting_time=31.8449 * DAY) for k in range(9)]
    )
    found = cell(tables.make_cells(runs), "table1", "perf/2", "rigid", "mean_waiting_time")
    assert (found.beside.z, found.beside.p) == (0, 1)


def test_given_order_of_events_comes_before_shaken_ones() -> None:
    shaken = make_run("easy", "rigid", shake=3, makespan=300 * DAY)
    cells = tables.make_cells(pd.DataFrame([shaken, make_run("easy", "rigid")]))
    found = cell(cells, "table1", "easy", "rigid", "makespan")
    assert found.equal
    assert found.values == pytest.approx((332.91, 300))


def test_one_run_has_no_spread() -> None:
    cells = tables.make_cells(all_runs())
    assert all(math.isnan(c.beside.p) for c in cells)
    assert not tables.count_reproduced(cells)["spread_values"].any()
    assert list(spread.make_shake_parts(cells)) == []


# Resampled logs ----------------------------------------------------------------------------------


def resampled(shifts: dict[str, list[float]], replay: str = "a60", log: str = KTH) -> pd.DataFrame:
    """Return runs whose mean lateness is that of the paper and some days, one by replication."""
    runs = []
    for name, days in shifts.items():
        for replication, more in enumerate(days):
            run = make_run(name, replay, log, people="resampled", replication=replication)
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


def test_quantiles_and_intervals_of_resampled_logs() -> None:
    runs = resampled({"easy": list(range(-10, 11))})
    frame = pd.DataFrame(spread.make_confidence_rows(runs))
    row = one_row(frame, metric="mean_lateness")
    assert (row["median"], row["mean"], row["published"]) == pytest.approx([-4.47] * 3)
    assert (row["low"], row["high"]) == pytest.approx((-4.47 - 9.5, -4.47 + 9.5))
    assert row["low"] < row["mean_low"] < row["mean"] < row["mean_high"] < row["high"]
    assert row["rank"] == "10.5 of 21"
    assert row["z"] == pytest.approx(0)


def test_a_published_number_stands_for_all_that_are_printed_alike() -> None:
    """0.00 days may be 0.0045: between 0.004 and 0.006, and nearer to the median than 0."""
    values = [0.004, 0.004, 0.0052, 0.0052, 0.006, 0.006]
    runs = pd.DataFrame(
        [
            make_run(
                "infra*2",
                "a60",
                people="resampled",
                replication=at,
                mean_waiting_time=value * DAY,
            )
            for at, value in enumerate(values)
        ]
    )
    frame = pd.DataFrame(spread.make_confidence_rows(runs))
    row = one_row(frame, metric="mean_waiting_time")
    assert row["published"] == 0
    assert row["rank"] == "2 of 6"
    assert -1 < row["z"] < 0


def test_ranking_by_replication() -> None:
    """In the second of six logs infra*2 is earlier than perf*2, which the means do not show."""
    shifts = {name: [0.0] * 6 for name in tables.RANKING}
    shifts["infra*2"][1] = -10.0
    report = study_report(MadeUpCampaign(resampled(shifts)))
    order = table_of(report, "order_kth_sp2_1996_2_1_cln_requested").frame
    assert order["nb_right"].to_list() == [5, 6, 6, 6]
    assert order["clear"].to_list() == [False, True, True, True]
    (said,) = [verdict for verdict in report.verdicts if "who happened" in verdict.claim]
    assert said.holds is False
    assert "Of 6 resampled logs 5 have" in said.evidence


def test_one_replication_has_no_interval() -> None:
    report = study_report(
        FakeResults(resampled({"easy": [0], "perf*2": [0]}, log="sample"), kept=False)
    )
    paired = table_of(report, "paired_sample_requested")
    assert paired.frame["clear"].isna().all()
    assert "published" not in [column.name for column in paired.shown]
    assert not report.verdicts


# User models -------------------------------------------------------------------------------------


def test_models_are_means_of_seeds_beside_the_published_a60() -> None:
    runs = pd.DataFrame(
        [
            make_run("easy", "a60", seed=1),
            make_run("easy", "fluid", seed=1, mean_lateness=2 * DAY),
            make_run("easy", "fluid", seed=2, mean_lateness=4 * DAY),
        ]
    )
    frame = pd.DataFrame(models.make_model_rows(runs, KTH)).set_index("model")
    assert list(frame.index) == ["a60", "fluid"]
    assert frame["mean_lateness"].to_list() == pytest.approx([-4.47, 3])
    assert frame.loc["fluid", ["mean_lateness_low", "mean_lateness_high"]].to_list() == [2, 4]
    assert frame.loc["a60", "mean_lateness_published"] == -4.47
    assert math.isnan(frame.loc["fluid", "mean_lateness_published"])


def test_report_of_user_models() -> None:
    hours = {f"share_at_{hour:02d}": 1 / 24 for hour in range(24)} | {"share_at_work": 0.3}
    users = ("rigid", "a60", "adjusted", "fluid", "tbuos")
    runs = pd.DataFrame(
        [make_run(name, model, **hours) for name, model in product(INFRASTRUCTURES, users)]
    )
    runs["mean_lateness"] = [LATE[name] * DAY for name in runs["infrastructure"]]
    report = study_report(MadeUpCampaign(runs))
    (shown,) = report.tables
    assert list(shown.frame["model"][:5]) == list(users)
    assert "mean_waiting_time_published" in [column.name for column in shown.shown]
    assert [figure.name.split("_kth")[0] for figure in report.figures] == [
        "fig_models",
        "fig_hours",
    ]
    assert [verdict.holds for verdict in report.verdicts] == [True, True, True]
    compile_all(report)


def test_measured_hours_are_local() -> None:
    found = measure(simulate(find_log("sample")))
    shares = [found[f"share_at_{hour:02d}"] for hour in range(24)]
    assert sum(shares) == pytest.approx(1)
    assert max(shares[9:18]) > 3 * max(shares[1:5])  # people sleep at night
    assert 0.3 < found["share_at_work"] < 1 - found["share_at_weekends"]


# Claims ------------------------------------------------------------------------------------------


def test_claims_hold_of_the_published_numbers_and_can_fail() -> None:
    runs = all_runs()
    verdicts = study_report(MadeUpCampaign(runs)).verdicts
    assert [verdict.holds for verdict in verdicts] == [True] * 5
    at = (runs.infrastructure == "perf/2") & (runs.replay == "a60")
    changed = {"mean_lateness": -20 * DAY, "mean_waiting_time": 32 * DAY, "makespan": 400 * DAY}
    runs.loc[at, list(changed)] = list(changed.values())
    verdicts = study_report(MadeUpCampaign(runs)).verdicts
    assert [verdict.holds for verdict in verdicts] == [True, False, False, False, False]


@pytest.mark.parametrize("right", [True, False])
def test_claims_of_which_some_infrastructures_are_missing_can_only_fail(right: bool) -> None:
    runs = all_runs()
    runs = runs[runs.infrastructure.isin(["easy", "perf*2", "infra/2"])].reset_index(drop=True)
    if not right:
        at = (runs.infrastructure == "infra/2") & (runs.replay == "a60")
        runs.loc[at, ["mean_waiting_time", "makespan"]] = [9 * DAY, 300 * DAY]
    verdicts = study_report(MadeUpCampaign(runs)).verdicts
    answer = None if right else False
    assert [verdict.holds for verdict in verdicts] == [None, None, None, answer, answer]
    assert verdicts[2].evidence.endswith(r"Not simulated: infra\*2, fcfs, perf/2.")
    assert verdicts[3].evidence.endswith("Not simulated: fcfs, perf/2.")


def test_claims_about_session_graphs() -> None:
    """Three of four think times are below 10 hours, as published of a0; none is below 1 hour."""
    times = np.array([2.0, 3.0, 4.0, 20.0]) * 3600
    graphs = session_graphs.Graphs(
        KTH, {0: [1], 60: [1]}, {0: [40], 60: [12]}, {0: times, 60: times}, PUBLISHED["graphs"]
    )
    shares = graphs.compute_shares()[["sessions", "hours", "ours", "share"]].to_numpy().tolist()
    assert shares[:2] == [["a0", 1, 0.0, 0.35], ["a0", 10, 0.75, 0.75]]
    arity, think_times = claims.judge_claims([], all_runs(), [graphs])
    assert (arity.holds, think_times.holds) == (False, False)
    assert arity.effect == "at most 12"


def test_runs_of_the_first_jobs_are_asked_about_these_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_claims, "LEVEL_FROM", 50)
    names = ("easy", "perf*2", "fcfs")
    first = [make_run(name, "a60", "sample", first=50) for name in names]
    report = study_report(FakeResults(pd.concat([all_runs("sample"), pd.DataFrame(first)])))
    assert ["Fig. 11" in verdict.claim for verdict in report.verdicts] == [True]


# Figures -----------------------------------------------------------------------------------------


def compile_all(report: Report) -> None:
    """Compile the figures: an encoding that Vega-Lite does not know is an error."""
    for figure in report.figures:
        vl_convert.vegalite_to_vega(set_width(figure.spec))


def test_all_figures_of_the_paper_are_drawn() -> None:
    first = make_run("easy", "a60", "sample", first=50)
    runs = pd.concat([all_runs("sample"), pd.DataFrame([first])])
    report = study_report(FakeResults(runs))
    assert [figure.name[:5] for figure in report.figures] == [f"fig{n:02d}" for n in range(2, 12)]
    compile_all(report)
    captions = {figure.name[:5]: figure.caption for figure in report.figures}
    assert "Windows of 4, 6, 8 months do not fit into the 20 days" in captions["fig09"]
    assert "Points: replays of the first n jobs" in captions["fig11"]
    sizes = [len(json.dumps(figure.spec)) for figure in report.figures]
    assert max(sizes) < 300_000, "a figure is to have some 2,000 points"


def test_figures_without_their_runs_are_left_out_with_a_note() -> None:
    runs = pd.DataFrame([make_run("easy", "rigid", "sample"), make_run("easy", "a0", "sample")])
    report = study_report(FakeResults(runs, days=5))
    assert [figure.name[:5] for figure in report.figures] == ["fig06", "fig10", "fig11"]
    (notes,) = [part.markdown for part in report.parts if hasattr(part, "markdown")]
    assert "Fig. 2: submissions over time is left out: no infrastructure has been" in notes
    assert "Fig. 9: throughput and utilisation on windows is left out: the log is shorter" in notes
    assert "Points" not in report.figures[-1].caption


@cache
def drawn_texts(name: str) -> list[str]:
    """Return the texts in the file of a figure."""
    figures_of = {figure.name[:5]: figure for figure in sample_report().figures}
    return re.findall(
        r"<text[^>]*>([^<]*)</text>", render_chart("svg", figures_of[name].spec).decode()
    )


@cache
def sample_report() -> Report:
    return study_report(FakeResults(all_runs("sample")))


@pytest.mark.parametrize("name", ["fig02", "fig03", "fig08"])
def test_the_file_of_a_figure_has_its_legend(name: str) -> None:
    assert {"rigid (as recorded)", "a60 (with feedback)"} <= set(drawn_texts(name))


def test_axes_name_what_a_reader_looks_for() -> None:
    lateness = drawn_texts("fig05")
    assert {"0", "100", "1,000", "10,000", "100,000"} <= set(lateness)
    days = drawn_texts("fig08")
    assert [days.count(day) for day in ("Mon", "Sun")] == [3, 3]  # the lower row of panels


@pytest.mark.parametrize(
    ("values", "least", "ticks"),
    [
        ([1, 2400], 1, [1, 10, 100, 1000]),
        ([2, 60], 1, [2, 5, 10, 20, 50]),  # else there would be one
        ([0, 7], 1, [0, 1, 2, 5]),
        ([-3e4, 2e5], 100, [-1e4, -1e3, -100, 0, 100, 1e3, 1e4, 1e5]),
        ([0, 0], 100, [0]),
    ],
)
def test_logarithmic_axes_name_powers_of_ten(
    values: list[float], least: float, ticks: list[float]
) -> None:
    assert replays.make_log_axis(values, least).values == ticks


def test_texts_do_not_tell_of_what_is_not_there() -> None:
    """Of a log for which nothing was published, nothing is said of the paper's values."""
    report = sample_report()
    texts = [figure.caption for figure in report.figures] + [table.note for table in report.tables]
    assert not [text for text in texts if "paper" in text]
    terms = dict(study_report(FakeResults(all_runs("sample").iloc[[0]])).terms)
    assert {"easy", "rigid", "lateness"} <= set(terms)
    assert not {"fcfs", "a60", "feedback", "session graph"} & set(terms)
    words = dict(report.terms)["session graph"]
    assert all(word in words for word in ("edge", "longest path", "arity"))
    assert "infrastructure" in dict(report.terms)


def test_the_head_has_question_method_and_result() -> None:
    assert "users submit 13.3 d earlier than recorded on perf*2 and 43.5 d later on perf/2" in (
        study_report(MadeUpCampaign(all_runs())).summary.replace("\n", " ")
    )


def test_the_report_says_whether_differences_are_more_than_chance() -> None:
    """One run of each case: unknown, and which command tells; several: beside the numbers."""
    alone = study_report(MadeUpCampaign(all_runs()))
    assert f"campaign replay_feedback/shake --log {KTH}`" in alone.summary
    assert "is not known" in alone.tables[0].note
    shaken = [all_runs().assign(shake=seed) for seed in range(2)]
    shaken[1]["mean_lateness"] += 10 * DAY
    several = study_report(MadeUpCampaign(pd.concat(shaken)))
    assert "not known" not in several.summary + several.tables[0].note
    table = table_of(several, "table2_kth_sp2_1996_2_1_cln_requested")
    row = one_row(table.frame, infrastructure="easy", replay="a60")
    assert (row["mean_lateness_spread"], row["mean_lateness_rank"]) == (
        "\N{MINUS SIGN}4.47 to 5.53",
        "1 of 2",
    )
    shown = [column.name for column in table.shown]
    assert {"mean_lateness_spread", "mean_lateness_rank"} <= set(shown)
    ranked = [verdict.evidence for verdict in several.verdicts if "earliest" in verdict.claim]
    assert "the ranges of the runs overlap: perf\\*2 and infra\\*2" in ranked[0]
    assert "infra/2 and perf/2" not in ranked[0]  # 30 days apart


def test_histogram_of_submissions_has_all_jobs() -> None:
    results = FakeResults(all_runs("sample"))
    (study,) = replays.read_studies(results)
    chart = figures.draw_submissions(study).to_dict()
    frame = pd.DataFrame(next(iter(chart["datasets"].values())))
    jobs = len(results.kept_jobs(results.runs.iloc[0]))
    assert (frame.groupby("infrastructure")[["rigid", "a60"]].sum() == jobs).all(axis=None)


def test_no_run_is_no_error() -> None:
    report = study_report(FakeResults(pd.DataFrame()))
    assert report.sections == ()
    assert "No run" in report.summary


@pytest.mark.parametrize("at", range(0, 18, 5))
def test_any_single_run_gives_a_report(at: int) -> None:
    report = study_report(FakeResults(all_runs().iloc[[at]], days=3))
    assert len(report.tables) >= 2  # the table of the run, and the counts


# Campaign files ----------------------------------------------------------------------------------


def test_confidence_has_the_same_people_everywhere() -> None:
    runs = read_campaign(STUDY / "confidence.toml").runs
    drawn = {"rigid": ("resampled", None), "a0": ("feedback", True), "a60": ("feedback", True)}
    for run in runs:
        options = dict(run.settings.user_options)
        found = (run.settings.users, options.pop("resampled", None))
        assert found == drawn[str(run.labels["replay"])]
        assert options == {"begin": "anywhere"}
