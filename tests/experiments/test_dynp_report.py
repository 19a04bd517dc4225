"""The report of the study: published numbers, tables, and that the campaign files expand.

The runs are made up: three jobs, or a few months with one job each; metrics are given.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from batsched_py.campaign.runner import PREFIX
from batsched_py.campaign.spec import find_campaign, read_campaign
from batsched_py.plugins import load_file
from batsched_py.workload.rules import PRESETS

STUDY = Path(__file__).parents[2] / "experiments" / "dynp"
REPORT = load_file(f"{STUDY / 'report.py'}:report")
MODULE: Any = sys.modules[REPORT.__module__]
MEASURES = MODULE._sibling("measures")
TABLES = MODULE._sibling("tables")
TEXTS = MODULE._sibling("texts")
PUBLISHED = MODULE.tomllib.loads((STUDY / "published.toml").read_text())
TRACES = ("CTC", "KTH", "LANL", "SDSC")
LOGS = {trace: log for log, trace in PUBLISHED["logs"].items()}
KTH_START = 843_480_031
"""Monday 23 September 1996, 12:00:31 UTC."""
STATISTICS = {
    "steps": 200,
    "cases": {"1": 50, "2": 100, "6b": 50},
    "switches": {"fcfs": 10, "sjf": 20, "ljf": 0},
    "no_switch": 170,
    "started": {"fcfs": 1, "sjf": 3, "ljf": 0},
}


class FakeResults:
    """Made-up runs with the same jobs each: one submitted in September, two in October."""

    study = STUDY

    def __init__(self, out: Path, runs: list[dict[str, Any]]) -> None:
        self.out = out / "report"
        for number, run in enumerate(runs):
            run["folder"] = str(out / f"run{number}")
            Path(run["folder"]).mkdir(parents=True)
            stored = {
                "unix_start_time": run.pop("unix_start_time", KTH_START),
                "time_zone": "Europe/Stockholm",
                "statistics": run.pop("statistics", None),
            }
            (Path(run["folder"]) / f"{PREFIX}_run.json").write_text(json.dumps(stored))
        self.runs = pd.DataFrame(runs)

    def jobs(self, run: Any) -> pd.DataFrame:
        october = 8 * 86_400
        return pd.DataFrame(
            {
                "submission_time": [0.0, october, october + 10, october + 20],
                "starting_time": [0.0, october, october + 20, float("nan")],
                "finish_time": [10.0, october + 20, october + 30, float("nan")],
                "requested_number_of_resources": [4, 2, 1, 1],
            }
        )


def make_run(
    sldwa: float = 2.0, trace: str = "KTH", order: str = "", **options: Any
) -> dict[str, Any]:
    """Return a run; settings are told from options of the scheduler by their names."""
    settings = ("walltime", "statistics", "unix_start_time", "first", "nb_res", "log", "size")
    more = {name: options.pop(name) for name in settings if name in options}
    return {
        "log": LOGS[trace],
        "scheduler": "planning" if order else "dynp",
        "scheduler_options": {"order": order} if order else options or float("nan"),
        "nb_res": PUBLISHED["traces"][trace]["nodes"],
        "nb_ran": 3,
        "size": "requested",
        "mean_slowdown_by_area": sldwa,
        "mean_turnaround_time_by_width": 28_000.0,
        "mean_waiting_time": 7_000.0,
        "utilisation": 0.6872,
    } | more


def read(tmp_path: Path, *runs: dict[str, Any]) -> Any:
    return MEASURES.read_runs(FakeResults(tmp_path, list(runs)), PUBLISHED)


def build(tmp_path: Path, *runs: dict[str, Any]) -> Any:
    return TABLES.build(read(tmp_path, *runs), PUBLISHED)


def columns(table: str, trace: str) -> dict[str, float]:
    return dict(zip(PUBLISHED[table]["columns"], PUBLISHED[table][trace], strict=True))


# The published numbers


def test_case_counts_add_up_to_two_more_than_printed() -> None:
    rows = PUBLISHED["table5_3"]["SDSC"]
    assert tuple(rows) == TABLES.CASES
    totals = [sum(column) for column in zip(*rows.values(), strict=True)]
    assert totals == [155_644, 144_944]
    assert PUBLISHED["table5_3"]["printed_totals"] == [total - 2 for total in totals]
    assert min(totals) > 2 * PUBLISHED["traces"]["SDSC"]["jobs"]


@pytest.mark.parametrize("trace", ["SDSC", "CTC"])
def test_usage_fits_its_percentages_and_the_number_of_jobs(trace: str) -> None:
    for policy, counts in PUBLISHED["usage"][trace].items():
        steps, started = counts[:4], counts[4:]
        assert sum(started) == PUBLISHED["traces"][trace]["jobs"]
        shares = [100 * n / sum(steps) for n in steps] + [100 * n / sum(started) for n in started]
        printed = PUBLISHED["usage_shares"][trace][policy]
        assert printed == pytest.approx(shares, abs=0.0101)  # one is a digit off
    policies = ("simple full", "advanced full")
    totals = [sum(PUBLISHED["usage"]["SDSC"][name][:4]) for name in policies]
    assert totals == PUBLISHED["table5_3"]["printed_totals"]


def test_switches_of_the_advanced_decider_fit_its_cases() -> None:
    cases = {case: row[1] for case, row in PUBLISHED["table5_3"]["SDSC"].items()}
    assert PUBLISHED["usage"]["SDSC"]["advanced full"][1] == cases["2"] + cases["10a"]


@pytest.mark.parametrize("trace", TRACES)
def test_gains_of_the_advanced_decider_fit_the_corrected_values(trace: str) -> None:
    values = columns("table5_2", trace)
    for when, gain in columns("table5_2_gains", trace).items():
        own = 100 * (1 - values[f"advanced {when}"] / values[f"simple {when}"])
        assert own == pytest.approx(gain, abs=0.02)
    averages = columns("averages", trace)
    assert {k: pytest.approx(v, abs=6e-5) for k, v in averages.items()} == values


@pytest.mark.parametrize("trace", TRACES)
def test_tables_agree_with_each_other(trace: str) -> None:
    static, deciders = columns("table5_1", trace), columns("table5_2", trace)
    estimates = dict(
        zip(PUBLISHED["table5_7"]["columns"], PUBLISHED["table5_7"]["user"][trace], strict=True)
    )
    slackness = PUBLISHED["table5_8"][trace]
    near = {"abs": 1.5e-4}
    assert static["fcfs"] == pytest.approx(estimates["fcfs"], **near)
    assert static["fcfs"] == pytest.approx(columns("table3_6", trace)["SLDwA"], **near)
    assert static["sjf"] == pytest.approx(estimates["sjf"], **near)
    assert slackness["simple"][0] == pytest.approx(deciders["simple full"], **near)
    assert slackness["sjf-preferred"][0] == pytest.approx(estimates["sjf-preferred full"], **near)
    assert slackness["simple"][1:] == pytest.approx(slackness["advanced"][1:], **near)
    metrics = PUBLISHED["table5_5"][trace]
    ours = PUBLISHED["table5_5"]["columns"].index("ARTwW")
    assert metrics["full"][ours] == pytest.approx(slackness["advanced"][0], **near)
    assert metrics["full"][ours] == min(metrics["full"] + metrics["half"])
    if trace != "KTH":  # has three values for one setting
        assert metrics["full"][ours] == pytest.approx(deciders["advanced full"], **near)
        assert metrics["half"][ours] == pytest.approx(deciders["advanced half"], **near)


@pytest.mark.parametrize("trace", TRACES)
def test_months_add_up_to_the_trace(trace: str) -> None:
    rows = list(PUBLISHED["monthly"][trace].values())
    assert all(len(row) == len(PUBLISHED["monthly"]["columns"]) for row in rows)
    assert sum(row[0] for row in rows) == PUBLISHED["traces"][trace]["total"]
    months = pd.PeriodIndex(list(PUBLISHED["monthly"][trace]), freq="M")
    assert (months[1:] - months[:-1] == pd.offsets.MonthEnd(1)).all()
    whole = [*columns("table5_1", trace).values(), *columns("averages", trace).values()]
    for at, value in enumerate(whole, start=1):
        own = [row[at] for row in rows]
        assert min(own) <= value <= max(own)


def test_averages_until_june_1999_are_plain_means_of_the_months() -> None:
    rows = [r for m, r in PUBLISHED["monthly"]["SDSC"].items() if m <= "1999-06"]
    means = [sum(column) / len(rows) for column in list(zip(*rows, strict=True))[1:]]
    assert len(rows) == 15
    assert PUBLISHED["until_june_1999"]["SDSC"] == pytest.approx(means, abs=1e-4)


def test_reference_values_of_sdsc_have_the_printed_digits() -> None:
    reference = PUBLISHED["reference"][LOGS["SDSC"]]
    for policy, value in columns("table5_1", "SDSC").items():
        assert reference[policy][0] == pytest.approx(value, abs=1e-4)
    printed = columns("table3_6", "SDSC")
    sldwa, artww, awt, util = reference["fcfs"]
    assert round(sldwa, 4) == printed["SLDwA"]
    assert (round(artww), round(awt), round(util, 2)) == (
        printed["ARTwW"],
        printed["AWT"],
        printed["UTIL"],
    )


# The campaign files


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("campaign", 9),
        ("ctc", 9),
        ("metrics", 14),
        ("estimates", 10),
        ("slackness", 18),
        ("legacy", 12),
    ],
)
def test_campaign_files_expand_to_different_runs(name: str, runs: int) -> None:
    spec = read_campaign(find_campaign(f"dynp/{name}"))
    assert len(spec.runs) == runs
    keys = set()
    for planned in spec.runs:
        settings = planned.settings
        assert settings.rules in PRESETS
        assert settings.size == "allocated"
        assert settings.nodes == (430 if name == "ctc" else None)
        row = {"scheduler": settings.scheduler, "scheduler_options": settings.scheduler_options}
        keys.add((MEASURES.policy_of(row), settings.walltime))
    assert len(keys) == runs
    legacy = [policy.legacy_fcfs_list_order for policy, _ in keys if not policy.order]
    assert set(legacy) == {name == "legacy"}


def test_every_run_of_a_campaign_file_has_a_place_in_the_published_tables() -> None:
    known = {
        "campaign": [*PUBLISHED["table5_2"]["columns"], *PUBLISHED["table5_7"]["columns"], "ljf"],
        "metrics": [f"advanced {when}" for when in ("half", "full")],
        "slackness": [f"{decider} full" for decider in PUBLISHED["table5_8"]["CTC"]],
    }
    for name, keys in known.items():
        spec = read_campaign(find_campaign(f"dynp/{name}"))
        rows = [(run.settings.scheduler, run.settings.scheduler_options) for run in spec.runs]
        policies = [
            MEASURES.policy_of({"scheduler": scheduler, "scheduler_options": options})
            for scheduler, options in rows
        ]
        assert {policy.key for policy in policies} == set(keys)
        assert {policy.metric for policy in policies} <= set(PUBLISHED["table5_5"]["columns"])
        assert {policy.slackness for policy in policies} <= set(PUBLISHED["table5_8"]["columns"])


# The report


def test_a_static_policy_is_compared_with_thesis_and_reference(tmp_path: Path) -> None:
    tables = build(tmp_path, make_run(3.1326, order="fcfs"), make_run(2.5, order="sjf"))
    assert list(tables) == ["static", "monthly"]
    found = {(row.policy, row.metric): row for row in tables["static"]}
    row = found["fcfs", "SLDwA"]
    assert (row.thesis, row.reference) == (3.1015, 3.101298)
    assert row.relative_difference == pytest.approx(1.0027, abs=1e-4)
    assert found["fcfs", "UTIL"].ours == pytest.approx(68.72)
    assert found["fcfs", "ARTwW"].thesis == 28_680
    assert found["sjf", "ARTwW"].thesis is None


def test_the_reference_is_of_one_kind_of_sizes(tmp_path: Path) -> None:
    runs = [make_run(order="fcfs", trace=trace, size="allocated") for trace in ("KTH", "SDSC")]
    rows = [row for row in build(tmp_path, *runs)["static"] if row.metric == "SLDwA"]
    assert [row.reference for row in rows] == [None, 6.826071]


def test_deciders_with_their_gain_on_the_best_static_policy(tmp_path: Path) -> None:
    runs = [make_run(2.5, order="sjf"), make_run(3.0, order="fcfs")]
    runs += [make_run(2.0, decider="simple", when="half"), make_run(2.25)]
    rows = build(tmp_path, *runs)["deciders"]
    found = {(row.policy, row.metric): row for row in rows}
    assert found["simple half", "SLDwA"].thesis == 4.7256
    assert found["simple half", TABLES.GAIN].ours == pytest.approx(20)
    assert found["simple half", TABLES.GAIN].thesis == pytest.approx(-85.41, abs=0.01)
    assert found["advanced full", TABLES.GAIN].ours == pytest.approx(10)
    assert found["advanced full", "SLDwA"].reference == 2.524869


def test_without_static_runs_there_is_no_gain(tmp_path: Path) -> None:
    rows = build(tmp_path, make_run(), make_run(order="sjf"))["deciders"]
    assert [row.metric for row in rows] == ["SLDwA"]


def test_perfect_estimates_are_only_in_their_own_table(tmp_path: Path) -> None:
    runs = [
        make_run(value, order=order, walltime=walltime, **options)
        for walltime in ("requested", "exact")
        for value, order, options in (
            (2.0, "fcfs", {}),
            (1.9, "sjf", {}),
            (1.8, "", {"decider": "fcfs-preferred"}),
        )
    ]
    tables = build(tmp_path, *runs)
    assert list(tables) == ["static", "estimates", "monthly"]
    assert {row.estimates for row in tables["static"]} == {"user"}
    found = {
        (row.policy, row.estimates): row.thesis
        for row in tables["estimates"]
        if row.metric == "SLDwA"
    }
    assert found["fcfs", "perfect"] == 2.9228
    assert found["fcfs-preferred full", "user"] == 5.6985
    header, lines = TEXTS.value_grid(tables["estimates"])
    assert header[:3] == ["policy", "estimates", "SLDwA"]
    assert len(lines) == 6


def test_metrics_and_slackness(tmp_path: Path) -> None:
    runs = [make_run(metric="SLD", when="half"), make_run(), make_run(slackness=4)]
    tables = build(tmp_path, *runs)
    assert list(tables) == ["deciders", "metrics", "slackness", "monthly"]
    found = {(row.policy, row.metric): row.thesis for row in tables["metrics"]}
    assert found == {
        ("advanced half, SLD", "SLDwA"): 2.6579,
        ("advanced half, SLD", "UTIL"): 68.716,
        ("advanced full", "SLDwA"): 2.5665,
        ("advanced full", "UTIL"): 68.716,
    }
    slack = {row.policy: row.thesis for row in tables["slackness"]}
    assert slack == {"advanced full": 2.5665, "advanced full, 4 %": 2.5672}


def test_months_are_those_of_the_thesis_and_of_submission(tmp_path: Path) -> None:
    rows = build(tmp_path, make_run(order="fcfs"))["monthly"]
    jobs = {row.month: (row.ours, row.thesis) for row in rows if row.metric == "jobs"}
    assert jobs == {"1996-09": (1, 108), "1996-10": (2, 2405)}
    sldwa = {row.month: (row.ours, row.thesis) for row in rows if row.metric == "SLDwA"}
    assert sldwa["1996-09"] == (1.0, 1.1035)
    assert sldwa["1996-10"] == (pytest.approx((2 * 20 + 20) / (2 * 20 + 10)), 4.1895)
    header, lines = TEXTS.month_grid(rows)
    assert header == ["month", "jobs", "thesis", "fcfs", "thesis"]
    assert lines[0] == ["1996-09", "1", "108", "1.0000", "1.1035"]


@pytest.mark.parametrize(
    ("clock", "month"), [("+00:00", "1996-09"), ("+12:00", "1996-10"), ("US/Eastern", "1996-09")]
)
def test_the_clock_decides_on_the_month(clock: str, month: str) -> None:
    jobs = pd.DataFrame(
        {
            "submission_time": [7 * 86_400.0],  # 30 September, 12:00:31 UTC
            "starting_time": [7 * 86_400.0],
            "finish_time": [8 * 86_400.0],
            "requested_number_of_resources": [1],
        }
    )
    assert list(MEASURES.by_month(jobs, KTH_START, clock)) == [month]


def test_a_log_that_does_not_say_when_it_began_has_no_months(tmp_path: Path) -> None:
    assert list(build(tmp_path, make_run(order="fcfs", unix_start_time=None))) == ["static"]


def test_cases_beside_the_thesis(tmp_path: Path) -> None:
    run = make_run(trace="SDSC", decider="simple", statistics=STATISTICS)
    found = {
        (case.what, case.which): case
        for case in TABLES.cases(read(tmp_path, run, make_run(statistics=None)), PUBLISHED)
    }
    assert len(found) == 1 + 18 + 3 + 1 + 3
    assert found["steps", ""].thesis_count == 155_642
    case = found["case", "2"]
    assert (case.count, case.share, case.thesis_count) == (100, 50.0, 70_543)
    assert case.thesis_share == pytest.approx(45.32, abs=0.01)
    assert found["case", "10c"].count == 0
    assert found["started", "sjf"].share == 75
    assert found["started", "sjf"].thesis_share == pytest.approx(39.61, abs=0.01)
    assert found["no switch", ""].thesis_share == pytest.approx(9.00, abs=0.01)


def test_counts_of_runs_with_slackness_and_of_half_self_tuning(tmp_path: Path) -> None:
    runs = [
        make_run(trace="CTC", decider="simple", slackness=2, statistics=STATISTICS),
        make_run(trace="SDSC", decider="simple", when="half", statistics=STATISTICS),
    ]
    ctc, sdsc = (
        {(case.what, case.which): case for case in TABLES.cases([run], PUBLISHED)}
        for run in read(tmp_path, *runs)
    )
    assert ctc["switches", "fcfs"].thesis_count == 253
    assert ctc["case", "1"].thesis_count is None
    assert sdsc["steps", ""].thesis_count == 56_738
    assert sdsc["started", "fcfs"].thesis_share is None


def test_other_nodes_or_a_part_of_the_log_are_not_compared(tmp_path: Path) -> None:
    runs = [
        make_run(trace="CTC", order="fcfs", nb_res=338),
        make_run(order="fcfs", first=100),
        make_run(order="fcfs", log="sample"),
    ]
    found = read(tmp_path, *runs)
    assert [run.trace for run in found] == [None, None, None]
    assert "CTC of the thesis has 430 nodes" in MODULE._compared(found[0], PUBLISHED)
    tables = TABLES.build(found, PUBLISHED)
    assert all(row.thesis is None and row.reference is None for row in tables["static"])


def test_runs_of_other_schedulers_are_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, make_run() | {"scheduler": "easy"}) == []


def all_runs() -> list[dict[str, Any]]:
    return [
        make_run(order="fcfs"),
        make_run(order="sjf"),
        make_run(statistics=STATISTICS),
        make_run(legacy_fcfs_list_order=True, statistics=STATISTICS),
        make_run(slackness=2.0),
        make_run(metric="makespan"),
        make_run(decider="sjf-preferred"),
    ]


def test_report_writes_tables_and_the_figure(tmp_path: Path) -> None:
    results = FakeResults(tmp_path, all_runs())
    paths = REPORT(results)
    names = ["static", "deciders", "metrics", "slackness", "monthly", "cases"]
    figure = f"{LOGS['KTH']}_monthly.png"
    assert [path.name for path in paths] == [*(f"{n}.csv" for n in names), "tables.md", figure]
    assert paths[-1].read_bytes().startswith(b"\x89PNG")
    text = (results.out / "tables.md").read_text()
    assert (
        "- KTH-SP2-1996-2: 3 jobs, 100 nodes, requested sizes; the thesis's KTH: 28,479 jobs"
        in text
    )
    assert all(f"## {title} (KTH-SP2-1996-2)" in text for title in TEXTS.TITLES.values())
    assert "| advanced full | legacy | 2.0000 | 2.5812 | -22.52 |" in text
    rows = list(csv.DictReader((results.out / "deciders.csv").open()))
    assert {row["table"] for row in rows} == {"deciders", "estimates"}
    assert {row["fcfs_list"] for row in rows} == {"", "sorted", "legacy"}


def test_report_of_one_kind_of_runs_writes_only_their_tables(tmp_path: Path) -> None:
    paths = REPORT(FakeResults(tmp_path, [make_run(order="fcfs", unix_start_time=None)]))
    assert [path.name for path in paths] == ["static.csv", "tables.md"]


def test_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    first = REPORT(FakeResults(tmp_path / "a", all_runs()))
    second = REPORT(FakeResults(tmp_path / "b", all_runs()))
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(first, second, strict=True))


def test_terminal_of_80_columns_shows_all_digits(tmp_path: Path) -> None:
    text = io.StringIO()
    REPORT(FakeResults(tmp_path, all_runs()), Console(file=text, width=80))
    assert "…" not in text.getvalue()
    assert "3.1015" in text.getvalue()
    assert "1996-09" not in text.getvalue()
