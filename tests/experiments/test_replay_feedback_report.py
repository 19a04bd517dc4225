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
import pandas as pd
import pytest
import vl_convert

from batsched_py.figures.chart_files import render_chart, set_width
from batsched_py.report import Report
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.log_archive import find_log
from batsched_studies.replay_feedback import (
    PUBLISHED,
    spread,
    tables,
)
from batsched_studies.replay_feedback.report import report as study_report
from helpers.made_up_campaign import MadeUpCampaign, one_row, table_of

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


# Spread by the order of events -------------------------------------------------------------------


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
    (said,) = [verdict for verdict in report.verdicts if verdict.effect.startswith("z ")]
    assert said.holds is not far


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


# User models -------------------------------------------------------------------------------------


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
    sizes = [len(json.dumps(figure.spec)) for figure in report.figures]
    assert max(sizes) < 300_000, "a figure is to have some 2,000 points"


def test_the_file_of_a_figure_has_its_legend_and_days() -> None:
    report = study_report(FakeResults(all_runs("sample")))
    (figure,) = [figure for figure in report.figures if figure.name.startswith("fig08")]
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", render_chart("svg", figure.spec).decode())
    assert {"rigid (as recorded)", "a60 (with feedback)"} <= set(drawn)
    assert [drawn.count(day) for day in ("Mon", "Sun")] == [3, 3]  # the lower row of panels
    assert not [of.caption for of in report.figures if "paper" in of.caption]  # nothing published


def test_several_runs_of_a_case_have_their_range_beside_the_number() -> None:
    shaken = [all_runs().assign(shake=seed) for seed in range(2)]
    shaken[1]["mean_lateness"] += 10 * DAY
    several = study_report(MadeUpCampaign(pd.concat(shaken)))
    table = table_of(several, "table2_kth_sp2_1996_2_1_cln_requested")
    row = one_row(table.frame, infrastructure="easy", replay="a60")
    spread_of_row = (row["mean_lateness_spread"], row["mean_lateness_rank"])
    assert spread_of_row == ("\N{MINUS SIGN}4.47 to 5.53", "1 of 2")
    (ranked, *_) = [verdict.evidence for verdict in several.verdicts if "earliest" in verdict.claim]
    assert r"perf\*2 and infra\*2" in ranked  # their ranges overlap
    assert "infra/2 and perf/2" not in ranked  # 30 days apart


@pytest.mark.parametrize("at", [[], [0], [5], [10], [15]])
def test_any_runs_give_a_report(at: list[int]) -> None:
    report = study_report(FakeResults(all_runs().iloc[at], days=3))
    assert (len(report.tables) >= 2) == bool(at)  # the table of the run, and the counts
