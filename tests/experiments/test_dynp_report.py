"""The report of the study: published numbers, tables, and that the campaign files expand.

The runs are made up: three jobs, or a few months with one job each; metrics are given.
"""

from __future__ import annotations

import json
from statistics import fmean
from typing import Any

import pandas as pd
import pytest

from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.report import Report
from batsched_py.workload.conversion_rules import PRESETS
from batsched_studies.dynp import PUBLISHED, layout, load, measures, tables
from batsched_studies.dynp.report import describe_comparison
from batsched_studies.dynp.report import report as study_report
from batsched_users.models.synthetic import Synthetic
from helpers.made_up_campaign import MadeUpCampaign

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


class FakeResults(MadeUpCampaign):
    """Made-up runs with the same jobs each: one submitted in September, two in October."""

    def __init__(self, runs: list[dict[str, Any]]) -> None:
        self._stored = [
            {
                "unix_start_time": run.pop("unix_start_time", KTH_START),
                "time_zone": "Europe/Stockholm",
                "statistics": run.pop("statistics", None),
            }
            for run in runs
        ]
        super().__init__([run | {"folder": n} for n, run in enumerate(runs)])

    def settings(self, run: Any) -> dict[str, Any]:
        return self._stored[run["folder"]]

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
        "users": "rigid",
        "user_options": "{}",
        "scheduler": "planning" if order else "dynp",
        "scheduler_options": json.dumps({"order": order} if order else options),
        "nb_res": PUBLISHED["traces"][trace]["nodes"],
        "nb_ran": 3,
        "size": "requested",
        "mean_slowdown_by_area": sldwa,
        "mean_turnaround_time_by_width": 28_000.0,
        "mean_waiting_time": 7_000.0,
        "utilisation": 0.6872,
    } | more


def make_set(
    sldwa: float, replication: int, shrink: float = 1.0, util: float = 0.7, **options: Any
) -> dict[str, Any]:
    """Return a run of a synthetic job set of KTH."""
    users = {"arrivals": "thesis", "shrink": shrink, **options.pop("user_options", {})}
    made = {
        "users": "synthetic",
        "user_options": json.dumps(users),
        "replication": replication,
        "utilisation": util,
    }
    return make_run(sldwa, **options) | made


def read(*runs: dict[str, Any]) -> Any:
    return list(measures.read_runs(FakeResults(list(runs))))


def build(*runs: dict[str, Any]) -> Any:
    return tables.make_rows(read(*runs))


def columns(table: str, trace: str) -> dict[str, float]:
    return dict(zip(PUBLISHED[table]["columns"], PUBLISHED[table][trace], strict=True))


# The published numbers


def test_case_counts_add_up_to_two_more_than_printed() -> None:
    rows = PUBLISHED["table5_3"]["SDSC"]
    assert " ".join(rows) == "1 2 3 4a 4b 4c 5 6a 6b 6c 7 8a 8b 8c 9 10a 10b 10c"
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
    "name",
    ["campaign", "ctc", "metrics", "estimates", "slackness", "legacy", "load", "load_ctc"],
)
def test_campaign_files_say_what_the_thesis_says(name: str) -> None:
    for planned in read_campaign(find_campaign(f"dynp/{name}")).runs:
        settings = planned.settings
        assert settings.rules in PRESETS
        assert settings.size == "allocated"
        assert settings.nodes == (430 if name.endswith("ctc") else None)
        known = policy(settings)
        assert known.order or known.legacy_fcfs_list_order == (name == "legacy")


def policy(settings: Any) -> Any:
    row = {
        "scheduler": settings.scheduler,
        "scheduler_options": json.dumps(settings.scheduler_options),
    }
    return measures.read_policy(row)


def test_every_run_of_a_campaign_file_has_a_place_in_the_published_tables() -> None:
    known = {
        "campaign": [*PUBLISHED["table5_2"]["columns"], *PUBLISHED["table5_7"]["columns"], "ljf"],
        "metrics": [f"advanced {when}" for when in ("half", "full")],
        "slackness": [f"{decider} full" for decider in PUBLISHED["table5_8"]["CTC"]],
        "load": PUBLISHED["load"]["columns"],
        "load_slackness": ["sjf", *PUBLISHED["load_slackness"]["CTC"]],
    }
    for name, keys in known.items():
        spec = read_campaign(find_campaign(f"dynp/{name}"))
        policies = [policy(run.settings) for run in spec.runs]
        assert {policy.key for policy in policies} == set(keys)
        assert {policy.metric for policy in policies} <= set(PUBLISHED["table5_5"]["columns"])
        assert {policy.slackness for policy in policies} <= set(PUBLISHED["table5_8"]["columns"])


def test_the_model_takes_as_many_jobs_as_the_thesis_by_default() -> None:
    assert Synthetic.__init__.__kwdefaults__["jobs"] == load.PUBLISHED_JOBS


# The report


def test_a_static_policy_is_compared_with_thesis_and_reference() -> None:
    fcfs = make_run(3.1326, order="fcfs") | {"utilisation": 0.7}
    tables = build(fcfs, make_run(2.5, order="sjf"))
    assert list(tables) == ["static", "monthly"]
    found = {(row.run.policy.key, row.metric): row for row in tables["static"]}
    row = found["fcfs", "SLDwA"]
    assert (row.thesis, row.reference) == (3.1015, 3.101298)
    assert row.difference == pytest.approx(1.0027, abs=1e-4)
    utilisation = found["fcfs", "UTIL"]
    points = 70 - columns("table3_6", "KTH")["UTIL"]
    assert (utilisation.ours, utilisation.difference) == (70, pytest.approx(points))
    assert found["fcfs", "ARTwW"].thesis == 28_680
    assert found["sjf", "ARTwW"].thesis is None


def test_the_reference_is_of_one_kind_of_sizes() -> None:
    runs = [make_run(order="fcfs", trace=trace, size="allocated") for trace in ("KTH", "SDSC")]
    rows = [row for row in build(*runs)["static"] if row.metric == "SLDwA"]
    assert [row.reference for row in rows] == [None, 6.826071]


def test_deciders_with_their_gain_on_the_best_static_policy() -> None:
    runs = [make_run(2.5, order="sjf"), make_run(3.0, order="fcfs")]
    runs += [make_run(2.0, decider="simple", when="half"), make_run(2.25)]
    rows = build(*runs)["deciders"]
    found = {(row.run.policy.key, row.metric): row for row in rows}
    assert found["simple half", "SLDwA"].thesis == 4.7256
    assert found["simple half", tables.GAIN].ours == pytest.approx(20)
    assert found["simple half", tables.GAIN].thesis == pytest.approx(-85.41, abs=0.01)
    assert found["advanced full", tables.GAIN].ours == pytest.approx(10)
    assert found["advanced full", "SLDwA"].reference == 2.524869


def test_without_static_runs_there_is_no_gain() -> None:
    rows = build(make_run(), make_run(order="sjf"))["deciders"]
    assert [row.metric for row in rows] == ["SLDwA"]


def test_perfect_estimates_are_only_in_their_own_table() -> None:
    runs = [
        make_run(value, order=order, walltime=walltime, **options)
        for walltime in ("requested", "exact")
        for value, order, options in (
            (2.0, "fcfs", {}),
            (1.9, "sjf", {}),
            (1.8, "", {"decider": "fcfs-preferred"}),
        )
    ]
    tables = build(*runs)
    assert list(tables) == ["static", "estimates", "monthly"]
    assert {row.run.estimates for row in tables["static"]} == {"user"}
    found = {
        (row.run.policy.key, row.run.estimates): row.thesis
        for row in tables["estimates"]
        if row.metric == "SLDwA"
    }
    assert found["fcfs", "perfect"] == 2.9228
    assert found["fcfs-preferred full", "user"] == 5.6985
    table = layout.make_value_table("estimates", "KTH", tables["estimates"])
    assert [column.name for column in table.shown][:3] == ["policy", "estimates", "SLDwA"]
    assert len(table.frame) == 6


def test_metrics_and_slackness() -> None:
    runs = [make_run(metric="SLD", when="half"), make_run(), make_run(slackness=4)]
    tables = build(*runs)
    assert list(tables) == ["deciders", "metrics", "slackness", "monthly"]
    found = {(row.run.policy.label, row.metric): row.thesis for row in tables["metrics"]}
    assert found == {
        ("advanced half, SLD", "SLDwA"): 2.6579,
        ("advanced half, SLD", "UTIL"): 68.716,
        ("advanced full", "SLDwA"): 2.5665,
        ("advanced full", "UTIL"): 68.716,
    }
    slack = {row.run.policy.label: row.thesis for row in tables["slackness"]}
    assert slack == {"advanced full": 2.5665, "advanced full, 4 %": 2.5672}


def test_months_are_those_of_the_thesis_and_of_submission() -> None:
    rows = build(make_run(order="fcfs"))["monthly"]
    jobs = {row.month: (row.ours, row.thesis) for row in rows if row.metric == "jobs"}
    assert jobs == {"1996-09": (1, 108), "1996-10": (2, 2405)}
    sldwa = {row.month: (row.ours, row.thesis) for row in rows if row.metric == "SLDwA"}
    assert sldwa["1996-09"] == (1.0, 1.1035)
    assert sldwa["1996-10"] == (pytest.approx((2 * 20 + 20) / (2 * 20 + 10)), 4.1895)
    table = layout.make_month_table("KTH", rows)
    assert [(column.name, column.kind) for column in table.shown] == [
        ("month", ""),
        ("jobs", "ours"),
        ("jobs, thesis", "published"),
        ("fcfs", "ours"),
        ("fcfs, thesis", "published"),
    ]
    assert table.frame.iloc[0].to_list() == ["1996-09", 1, 108, 1.0, 1.1035]


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
    assert measures.group_by_month(jobs, KTH_START, clock)["name"].to_list() == [month]


def test_a_log_that_does_not_say_when_it_began_has_no_months() -> None:
    assert list(build(make_run(order="fcfs", unix_start_time=None))) == ["static"]


def test_cases_beside_the_thesis() -> None:
    run = make_run(trace="SDSC", decider="simple", statistics=STATISTICS)
    found = {
        (case.what, case.which): case
        for case in tables.count_cases(read(run, make_run(statistics=None)))
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


def test_counts_of_runs_with_slackness_and_of_half_self_tuning() -> None:
    runs = [
        make_run(trace="CTC", decider="simple", slackness=2, statistics=STATISTICS),
        make_run(trace="SDSC", decider="simple", when="half", statistics=STATISTICS),
    ]
    ctc, sdsc = (
        {(case.what, case.which): case for case in tables.count_cases([run])} for run in read(*runs)
    )
    assert ctc["switches", "fcfs"].thesis_count == 253
    assert ctc["case", "1"].thesis_count is None
    assert sdsc["steps", ""].thesis_count == 56_738
    assert sdsc["started", "fcfs"].thesis_share is None


def test_other_nodes_or_a_part_of_the_log_are_not_compared() -> None:
    runs = [
        make_run(trace="CTC", order="fcfs", nb_res=338),
        make_run(order="fcfs", first=100),
        make_run(order="fcfs", log="sample"),
    ]
    found = read(*runs)
    assert [run.trace for run in found] == [None, None, None]
    assert "CTC of the thesis has 430 nodes" in describe_comparison(found[0])
    made = tables.make_rows(found)
    assert all(row.thesis is None and row.reference is None for row in made["static"])


def test_runs_of_other_schedulers_are_left_out() -> None:
    assert read(make_run() | {"scheduler": "easy"}) == []


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


def report(*runs: dict[str, Any]) -> Report:
    made = study_report(FakeResults(list(runs)))
    assert isinstance(made, Report)
    assert all(figure.spec for figure in made.figures)  # altair checks them
    return made


def test_report_has_tables_and_the_figure() -> None:
    made = report(*all_runs())
    log = "kth_sp2_1996_2"
    names = ["static", "deciders", "estimates", "metrics", "slackness", "monthly", "cases"]
    assert [table.name for table in made.tables] == [f"{name}_{log}" for name in names]
    assert [figure.name for figure in made.figures] == [f"sldwa_by_month_{log}"]
    assert "KTH-SP2-1996-2: 3 jobs, 100 nodes, requested sizes; the thesis's KTH" in made.summary
    frame = made.tables[1].frame
    row = frame[frame["fcfs_list"] == "legacy"].iloc[0]
    assert (row["SLDwA"], row["SLDwA, thesis"]) == (2.0, 2.5812)
    assert row["SLDwA, difference"] == pytest.approx(-22.52, abs=0.01)
    assert made.tables[-1].note.endswith("Steps: advanced full 200; advanced full (legacy) 200.")


def test_values_with_all_printed_digits_are_marked() -> None:
    runs = [make_run(3.10149, order="fcfs"), make_run(2.54884, order="sjf")]
    assert report(*runs).tables[0].marks == ((0, "SLDwA"), (0, "UTIL"), (1, "SLDwA"))


def test_report_of_one_kind_of_runs_has_only_their_tables() -> None:
    made = report(make_run(order="fcfs", unix_start_time=None))
    assert [table.name for table in made.tables] == ["static_kth_sp2_1996_2"]
    assert not made.figures
    assert not made.verdicts


def test_report_without_runs() -> None:
    assert not study_report(FakeResults([])).parts


def holds(made: Report, claim: str) -> list[bool | None]:
    return [verdict.holds for verdict in made.verdicts if claim in verdict.claim]


def test_verdicts_on_deciders() -> None:
    runs = [
        make_run(3.0, order="fcfs"),
        make_run(2.5, order="sjf"),
        make_run(2.0, decider="simple"),
        make_run(2.4),
        make_run(2.6, when="half"),
    ]
    made = report(*runs)
    assert holds(made, "worse than the best static policy") == [False]  # the thesis: -1.27 % on KTH
    assert holds(made, "With full self-tuning the advanced decider") == [False]
    assert holds(made, "Full self-tuning is slightly better") == [True]
    assert holds(made, "With half") == []


def test_verdicts_are_by_kind_of_list() -> None:
    """Static policies belong to both kinds."""
    runs = [make_run(3.0, order="fcfs"), make_run(2.5, order="sjf"), make_run(2.4)]
    runs.append(make_run(2.6, legacy_fcfs_list_order=True))
    assert holds(report(*runs), "worse than the best static policy") == [False, True]


def test_verdicts_on_metrics_slackness_and_estimates() -> None:
    runs = [make_run(2.0), make_run(1.9, metric="SLD"), make_run(2.5, metric="ART")]
    runs += [make_run(value, slackness=s) for s, value in ((2, 1.8), (4, 2.4), (6, 2.4))]
    runs.append(make_run(1.5, walltime="exact"))
    made = report(*runs)
    assert holds(made, "ARTwW is the best") == [False]
    assert holds(report(*runs[1:3], make_run(1.8, metric="SLDwW")), "ARTwW is the best") == []
    assert holds(made, "Slackness does not pay") == [True]  # 2.0, and 2.2 on average
    assert holds(made, "Perfect estimates") == [True]


# Synthetic job sets


def test_published_gains_are_those_of_the_published_values() -> None:
    """The averages over the factors, from values of two digits: within 0.4 %, 0.05 points."""
    levels, gains = PUBLISHED["load"], PUBLISHED["load_gains"]
    for metric, near in (("SLDwA", 0.4), ("UTIL", 0.05)):
        for trace in TRACES:
            rows = [
                dict(zip(levels["columns"], r, strict=True)) for r in levels[metric][trace].values()
            ]
            for name, average in zip(gains["columns"], gains[metric][trace], strict=True):
                own = [load.GAIN[metric](row[name], row[load.BASES[name]]) for row in rows]
                assert fmean(own) == pytest.approx(average, abs=near)


def test_published_slackness_agrees_with_the_tables_without() -> None:
    load, slack = PUBLISHED["load"], PUBLISHED["load_slackness"]
    for trace in TRACES:
        for name, by_factor in slack[trace].items():
            own = [row[load["columns"].index(name)] for row in load["SLDwA"][trace].values()]
            assert [row[0] for row in by_factor.values()] == own
            gains = PUBLISHED["load_slackness_gains"][trace][name]
            sjf = [row[1] for row in load["SLDwA"][trace].values()]
            for at, average in enumerate(gains):
                values = [row[at] for row in by_factor.values()]
                found = fmean(100 * (1 - v / s) for v, s in zip(values, sjf, strict=True))
                assert found == pytest.approx(average, abs=0.4)


def test_the_best_and_the_worst_set_are_dropped() -> None:
    runs = [make_set(value, n, order="fcfs") for n, value in enumerate([9, 1, 3, 4, 100])]
    (own,) = load.read_loads(FakeResults(runs))
    value = own.mean("fcfs", 1.0, "SLDwA")
    assert value.value == pytest.approx(16 / 3)
    assert value.low < value.value < value.high
    frame = report(*runs).tables[0].frame
    assert frame[["sets", "SLDwA, thesis", "UTIL, thesis"]].iloc[0].to_list() == [5, 4.06, 69.33]


def test_gains_are_of_pairs_of_the_same_set() -> None:
    """The sets differ by a factor of 10,000; dynP is always better by a tenth."""
    runs = [make_set(10.0**n, n, order="sjf") for n in range(5)]
    runs += [make_set(0.9 * 10.0**n, n, util=0.72) for n in range(5)]
    (own,) = load.read_loads(FakeResults(runs))
    gain = own.gain("advanced full", [1.0], "SLDwA")
    assert (gain.value, gain.low, gain.high) == pytest.approx((10, 10, 10))
    assert own.gain("advanced full", [1.0], "UTIL").value == pytest.approx(2)


def test_a_set_that_one_policy_lacks_is_left_out() -> None:
    runs = [make_set(10, 0, order="sjf"), make_set(1000, 1, order="sjf"), make_set(9, 0)]
    (own,) = load.read_loads(FakeResults(runs))
    gain = own.gain("advanced full", [1.0], "SLDwA")
    assert (gain.value, gain.nb) == (pytest.approx(10), 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"user_options": {"arrivals": "fit"}},
        {"user_options": {"jobs": 500}},
        {"user_options": {"alpha": 0.3, "beta": 20}},
        {"nb_res": 128},
        {"log": "sample"},
    ],
)
def test_other_sets_are_not_compared(changes: dict[str, Any]) -> None:
    (own,) = load.read_loads(FakeResults([make_set(2, 0, **changes)]))
    assert own.trace is None
    table = report(make_set(2, 0, **changes)).tables[0]
    assert not any(column.kind == "published" for column in table.shown)


FACTORS = (1.0, 0.9, 0.8, 0.7, 0.6)


def sets(replications: int = 5, left: float = 0.0) -> list[dict[str, Any]]:
    """All factors; LJF worst, SJF best but for dynP, which is 5 % better, less with slackness:
    with 4 % of it, ``left`` per cent."""
    runs = []
    for shrink in FACTORS:
        for n in range(replications):
            base = (n + 3) / shrink
            runs += [
                make_set(2 * base, n, shrink, 0.8, order="fcfs"),
                make_set(base, n, shrink, 0.75, order="sjf"),
                make_set(3 * base, n, shrink, 0.85, order="ljf"),
                make_set(0.95 * base, n, shrink, 0.76),
                make_set(0.99 * base, n, shrink, 0.76, slackness=2),
                make_set((1 - left / 100) * base, n, shrink, 0.75, slackness=4),
            ]
    return runs


def test_report_of_job_sets() -> None:
    made = report(*sets())
    log = "kth_sp2_1996_2"
    tables = ["load", "load_gains", "load_slackness_gains", "load_slackness"]
    figures = ["sldwa_by_load", "util_by_load", "gain_by_slackness"]
    assert [table.name for table in made.tables] == [f"{name}_{log}" for name in tables]
    assert [figure.name for figure in made.figures] == [f"{name}_{log}" for name in figures]
    gains = made.tables[2].frame
    assert gains["slackness"].to_list() == [0, 2, 4]
    assert gains["gain"].to_list() == pytest.approx([5, 1, 0], abs=1e-9)
    assert gains["thesis"].to_list() == [0.15, 1.21, 0.32]
    average = (
        made.tables[1].frame.query("policy == 'advanced full' and factor == 'average'").iloc[0]
    )
    assert average["SLDwA"] == pytest.approx(5)
    assert (average["SLDwA, thesis"], average["UTIL, thesis"]) == (0.15, 0.13)


def test_verdicts_on_job_sets() -> None:
    made = report(*sets())
    assert holds(made, "LJF has the highest utilisation") == [True]
    assert holds(made, "At the highest load SJF") == [True]
    assert holds(made, "dynP (advanced) is better than SJF in SLDwA") == [True]
    assert holds(made, "dynP (advanced) is better than SJF in UTIL") == [True]
    assert holds(made, "slackness leaves little") == [True]
    assert holds(report(*sets(left=2.6)), "slackness leaves little") == [False]


def test_one_set_or_some_factors_decide_nothing_on_averages() -> None:
    for runs in (sets(1), [run for run in sets() if '"shrink": 0.6' not in run["user_options"]]):
        made = report(*runs)
        assert holds(made, "dynP (advanced) is better than SJF in SLDwA") == [None]
        assert len(made.tables) == 4


def test_policies_that_hardly_differ_are_alike() -> None:
    static = [make_run(3.0, order="fcfs"), make_run(2.5202, order="sjf")]
    made = report(make_run(2.5204, decider="simple"), make_run(2.5203), *static)
    assert holds(made, "With full self-tuning the advanced decider") == [False]
    assert holds(made, "worse than the best static policy") == [False]


# What the thesis names and has no table of


def test_versions_stand_beside_the_static_policies_and_self_tuning() -> None:
    clock = make_run(3.0) | {"scheduler": "dynp_clock", "scheduler_options": '{"begins": "mon"}'}
    counted = {**STATISTICS, "cases": {}}
    bounds = make_run(2.5, statistics=counted) | {"scheduler": "dynp_bounds"}
    static = [make_run(4.0, order="fcfs"), make_run(2.0, order="sjf")]
    found = build(*static, clock, bounds, make_run(1.5))
    assert "versions" not in build(*static, make_run(1.5))
    gains = {r.run.policy.label: r.ours for r in found["versions"] if r.metric.startswith("gain")}
    expected = {"by the clock": -50, "by bounds": -25, "advanced full": 25}
    assert gains == pytest.approx(expected)
    assert {row.run.policy.label for row in found["deciders"]} == {"advanced full"}
    counts = {case.what for case in tables.count_cases(read(bounds | {"statistics": counted}))}
    assert counts == {"steps", "switches", "no switch", "started"}
    (shown,) = [t for t in report(*static, clock, make_run(1.5)).tables if "versions" in t.name]
    assert not any(column.kind == "published" for column in shown.shown)


def test_the_subset_of_jobs_that_count_has_a_table_and_is_in_no_other() -> None:
    static = [make_run(4.0, order="fcfs"), make_run(2.0, order="sjf")]
    runs = [make_run(1.9), make_run(3.0, first_jobs=5), make_run(1.8, within=4)]
    found = build(*static, *runs)
    assert [row.run.policy.label for row in found["subset"] if row.metric == "SLDwA"] == [
        "advanced full",
        "advanced full, first 5",
        "advanced full, within 4 h",
    ]
    assert {row.run.policy.label for row in found["deciders"]} == {"advanced full"}
    assert "metrics" not in found
    assert "slackness" not in found
    made = report(*static, *runs)
    assert holds(made, "worse than the best static policy") == [False]


def extended(
    policy: str, extension: float, shrink: float, area: float, util: float
) -> list[dict[str, Any]]:
    """Return five sets of different utilisation, which a factor ``util`` raises."""
    options = {"order": policy} if policy in ("fcfs", "sjf") else {}
    return [
        make_set(
            2.0 * util,
            n,
            shrink,
            (0.5 + 0.01 * n) * util,
            user_options={"extension": extension},
            **options,
        )
        | {"squashed_area": 1000.0 * (n + 1) * area}
        for n in range(5)
    ]


def test_longer_jobs_beside_shorter_gaps() -> None:
    """FCFS has 9 % more utilisation, whichever way the load comes; SJF 4 %, and less if denser."""
    runs = [
        *(run for policy in ("fcfs", "sjf") for run in extended(policy, 1.0, 1.0, 1, 1)),
        *extended("fcfs", 1.1, 1.0, 1.1, 1.09),
        *extended("fcfs", 1.0, 1 / 1.1, 1, 1.09),
        *extended("sjf", 1.1, 1.0, 1.1, 1.04),
        *extended("sjf", 1.0, 1 / 1.1, 1, 0.9),
    ]
    made = report(*runs)
    assert holds(made, "raise the total area by 10 %") == [True]
    assert holds(made, "nearly as much, 10 % (fcfs)") == [True]
    assert holds(made, "nearly as much, 10 % (sjf)") == [False]
    assert holds(made, "without changing areas (fcfs)") == [True]
    assert holds(made, "without changing areas (sjf)") == [False]
    (table,) = made.tables
    row = table.frame.query("policy == 'fcfs' and extension == 1.1").iloc[0]
    values = row[["area", "change", "beside", "sets"]].to_list()
    assert values == pytest.approx([10, 9, 0, 5], abs=1e-9)
    other = report(*(run for run in runs if run["replication"] < 2))
    assert holds(other, "without changing areas (sjf)") == [None]
