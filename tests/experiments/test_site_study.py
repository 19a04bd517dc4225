"""What a change of a site does to its users: what is measured, and what is said of made-up runs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert

from batsched_py import Result, simulate
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.figures.chart_files import printable
from batsched_py.report import Report, Text
from batsched_py.report.kit import UNKNOWN, Interval
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import DAY, HOUR, WEEK
from batsched_studies.site import cases
from batsched_studies.site.answers import Conclusion, direction
from batsched_studies.site.measures import gini, measure, span
from batsched_studies.site.report import report
from batsched_users.behaviour.calendar import Calendar
from helpers.calling import command
from helpers.made_up_campaign import MadeUpCampaign, one_row, table_of

# Measured in a simulation -----------------------------------------------------------------------

THREE = [
    J(0, 8, HOUR, user="ann"),
    J(0, 1, 600, user="bob"),
    J(HOUR / 2, 2, 60, user="bob"),
]
"""On 8 processors the first runs at once, the others when it has ended."""


def measured(**settings: Any) -> dict[str, float]:
    return measure(simulate(workload(THREE, 8), **settings))


def test_waits_and_habits_by_hand() -> None:
    """Ann waits 0, Bob an hour and half an hour; all is submitted within half an hour."""
    numbers = measured()
    assert numbers["wait"] == HOUR / 2 == numbers["wait_median"]
    assert numbers["at_once"] == pytest.approx(1 / 3)
    # up to a quarter of a processor is narrow, more than one is wide
    assert isnan(numbers["wait_narrow"])
    assert (numbers["wait_medium"], numbers["wait_wide"]) == (HOUR, HOUR / 4)
    assert numbers["user_wait_median"] == 0.375 * HOUR  # between 0 and 0.75 h
    assert numbers["user_wait_gini"] == 0.5
    assert (numbers["active_users"], numbers["jobs_by_user"]) == (2, 1.5)
    assert (numbers["night"], numbers["short"]) == (1, pytest.approx(2 / 3))
    assert isnan(numbers["weekend"])  # nobody knows what day it was
    assert numbers["busy"] == pytest.approx(1)
    weeks = (HOUR / 2) / WEEK
    assert numbers["jobs_weekly"] == pytest.approx(3 / weeks)
    assert numbers["work_weekly"] == pytest.approx((8 * HOUR + 600 + 2 * 60) / weeks)
    assert numbers["refused"] == 0 == numbers["refused_weekly"]
    assert not any(name.startswith("fidelity") for name in numbers)


def test_the_same_work_on_faster_processors() -> None:
    """Waits are shorter, and jobs of 15 min, which take 7.5 now, are no short ones for that."""
    jobs = [J(0, 8, 900), J(0, 8, 900), J(60, 8, 900)]
    slow, fast = (
        measure(simulate(workload(jobs, 8), speed_factor=factor)) for factor in (1.0, 2.0)
    )
    assert fast["work_weekly"] == pytest.approx(slow["work_weekly"])
    assert fast["short"] == slow["short"] == 0
    assert fast["wait"] < slow["wait"]


def test_sizes_are_those_of_the_machine_as_it_is(tmp_path: Path) -> None:
    """Four of 32 processors are not wide, on half of the machine neither."""
    (tmp_path / "m.toml").write_text('[[nodes]]\ncount = 32\n[[partitions]]\nname = "all"\n')
    for factor in (1.0, 0.5):
        machine: dict[str, Any] = {"machine": str(tmp_path / "m.toml"), "node_factor": factor}
        numbers = measure(simulate(workload([J(0, 4, 60), J(9, 4, 60)], 32), **machine))
        assert numbers["wait_medium"] == 0
        assert isnan(numbers["wait_wide"])


def test_what_limits_take(tmp_path: Path) -> None:
    """An hour on all processors is refused; of the others the longer one ends at its limit."""
    text = '[[nodes]]\ncount = 8\n[[partitions]]\nname = "short"\nmax_walltime = 1000\n'
    (tmp_path / "m.toml").write_text(text)
    jobs = [J(0, 8, HOUR), J(0, 1, 600), J(HOUR / 2, 2, 60, 120)]
    numbers = measure(simulate(workload(jobs, 8), machine=str(tmp_path / "m.toml")))
    assert numbers["refused"] == pytest.approx(1 / 3)
    assert numbers["refused_weekly"] == pytest.approx(8 * HOUR / (HOUR / 2 / WEEK))
    assert numbers["at_limit"] == 0.5
    assert numbers["wait"] == 0


def test_waits_by_partition(tmp_path: Path) -> None:
    """The jobs of a log are of the partitions of its machine file."""
    text = '[[nodes]]\ncount = 64\n[[partitions]]\nname = "batch"\nnumber = 1\n'
    (tmp_path / "m.toml").write_text(text)
    options = {"weeks": 2, "long_weeks": 3, "edge_weeks": 1}
    machine: dict[str, Any] = {"machine": str(tmp_path / "m.toml")}
    result = simulate("sample", users="resampled", user_options=options, **machine)
    numbers = measure(result)
    assert numbers["wait_in_batch"] == pytest.approx(numbers["wait"])
    assert 0 < numbers["night"] < 0.3 > numbers["weekend"] > 0


def test_when_jobs_are_measured() -> None:
    """Weeks of users begin on the Monday after second 0, a Saturday noon; else all is measured."""
    calendar = Calendar(5.5 * DAY)
    ends = {"warm_up": WEEK, "cool_down": DAY}
    table = simulate(workload(THREE, 8)).table
    drawn = {"user_options": {"weeks": 6}, **ends}
    assert span(table, drawn, calendar) == (1.5 * DAY + WEEK, 1.5 * DAY + 6 * WEEK - DAY)
    everything = {"user_options": {}, "warm_up": 0.0, "cool_down": 0.0}
    begin, end = span(table, everything, calendar)
    assert (begin, end) == (0, pytest.approx(HOUR / 2))
    assert (table.submit < end).all()


@pytest.mark.parametrize(
    ("values", "expected"), [([2, 2, 2], 0), ([0, 0, 0, 4], 0.75), ([1, 3], 0.25), ([0, 0], nan)]
)
def test_gini_by_hand(values: list[float], expected: float) -> None:
    assert gini(np.array(values, dtype=float)) == pytest.approx(expected, nan_ok=True)


def test_gini_is_half_of_the_mean_difference_in_relation_to_the_mean() -> None:
    """The definition that is slow: of all pairs."""
    values = np.random.default_rng(1).exponential(size=50)
    pairs = np.abs(values[:, None] - values).mean()
    assert gini(values) == pytest.approx(pairs / (2 * values.mean()))


# Said of made-up runs ---------------------------------------------------------------------------

MORE, FEWER, EASY = "25 % more nodes", "20 % fewer nodes", "EASY"
Factors = Mapping[tuple[str, str], float]
"""How many times as long the waits are with a change, for a kind of users; 1 if not said."""


class Campaign(MadeUpCampaign):
    """Made-up runs whose users ``a`` wait as all do, and ``b`` as in the runs as it is."""

    def settings(self, run: Any) -> dict[str, Any]:
        waits = {"a": run["wait"], "b": HOUR * (1 + run["replication"]), "c": None}
        per_user = {user: {"mean_waiting_time": wait} for user, wait in waits.items()}
        return {"metrics": {"per_user": per_user}}


def made_up(
    waits: Factors, replications: int = 5, work: Factors | None = None, **fidelity: float
) -> Campaign:
    """Return runs of three changes, for users of two kinds and for the log itself."""
    runs = []
    for (change, policy), people, number in product(
        (("as it is", "site"), (MORE, "site"), (FEWER, "site"), ("as it is", EASY)),
        ("fluid", "rigid"),
        range(replications),
    ):
        name = policy if policy == EASY else change
        spread = 1 + 0.01 * ((number * (3 if people == "rigid" else 7)) % 5 - 2)
        factor = waits.get((name, people), spread if name != "as it is" else 1.0)
        run: dict[str, Any] = {
            "log": "sample",
            "policy": policy,
            "change": change,
            "people": people,
        }
        wait = HOUR * (1 + number) * factor
        run |= {"replication": number, "wait": wait, "slowdown": 2.0 + 0.1 * number, "busy": 0.7}
        run |= dict.fromkeys(cases.SIZES, wait) | {"wait_in_batch": wait, "wait_in_debug": 9.0}
        run |= {"wait_in_gpu": wait if number else nan}
        run |= {"work_weekly": 100 * WEEK * (work or {}).get((name, people), 1.0)}
        run |= dict.fromkeys(("user_wait_median", "user_wait_p90"), wait) | {"user_wait_gini": 0.5}
        run |= {"night": 0.1, "weekend": 0.2, "short": 0.1, "at_once": 0.4, "jobs_by_user": 30.0}
        run |= {"refused": 0.0, "refused_weekly": 0.0, "at_limit": 0.1 if name == EASY else 0.0}
        runs.append(run | {"jobs_weekly": 400.0, "active_users": 40.0})
    if fidelity:
        numbers = {f"fidelity_{name}": value for name, value in fidelity.items()}
        labels: dict[str, Any] = {
            "change": "as it is",
            "policy": "site",
            "people": "recorded",
            "replication": 0,
        }
        runs.append({"log": "sample", **labels, "wait": HOUR, **numbers})
    return Campaign(runs, "site")


def of(*arguments: Any, **options: Any) -> Report:
    return report(made_up(*arguments, **options))  # type: ignore[arg-type]


TURNED = {
    (MORE, "rigid"): 0.5,
    (MORE, "fluid"): 0.8,
    (FEWER, "rigid"): 2.0,
    (FEWER, "fluid"): 0.9,
    (EASY, "fluid"): 1.3,
}
"""With fewer nodes who reacts waits less; of rigid users EASY tells nothing."""


def test_the_answer_comes_first() -> None:
    summary = of(TURNED).summary
    assert summary.startswith(f"Whoever the users are, they wait **less** with **{MORE}** (-50 to")
    assert f"it depends on the users with **{FEWER}**" in summary
    assert "(longer: rigid, less: fluid)" in summary
    told = (
        f"it can be told of some users only with **{EASY}** (cannot be told: rigid, longer: fluid)"
    )
    assert told in summary


def test_of_few_replications_nothing_is_told() -> None:
    made = of(TURNED, 4)
    assert "It cannot be told with" in made.summary
    assert "4 replications" in made.summary
    assert "whoever" not in made.summary.lower()
    assert "conclusions_sample" not in [table.name for table in made.tables]


def test_answers_that_are_others_where_users_react() -> None:
    """Rigid users wait twice as long with fewer nodes, those who react 0.9 times: 0.45 of it."""
    made = of(TURNED)
    frame = table_of(made, "conclusions_sample").frame
    assert set(frame["what"]) == {"mean wait"}
    turned = one_row(frame, change=FEWER)
    assert turned["kind"] == "turns round"
    assert turned[["rigid", "reacting", "beside"]].tolist() == pytest.approx([100, -10, 0.45])
    assert one_row(frame, change=MORE)["kind"] == "is smaller where they react"
    assert one_row(frame, change=EASY)["kind"] == "can be told only where they react"
    # three changes, one kind of users who react, three quantities
    assert "Of 9 answers on waits, slowdown and utilisation **3 are other ones" in made.summary
    assert f"mean wait with **{FEWER}** (fluid) turns round" in made.summary


@pytest.mark.parametrize(
    ("rigid", "reacting", "kind"),
    [
        (0.5, 0.8, "shrinks"),
        (0.8, 0.5, "grows"),
        (2.0, 1.2, "shrinks"),
        (1.2, 2.0, "grows"),
        (0.5, 2.0, "turns"),
        (0.5, None, "vanishes"),
        (None, 0.5, "appears"),
        (None, None, "open"),
    ],
)
def test_how_an_answer_is_another_one(
    rigid: float | None, reacting: float | None, kind: str
) -> None:
    """None: it cannot be told from no change."""
    before, after = (
        UNKNOWN if of is None else Interval(of, 0.99 * of, 1.01 * of, 5) for of in (rigid, reacting)
    )
    value = (reacting or 1) / (rigid or 1)
    beside = Interval(value, 0.98 * value, 1.02 * value, 5)
    assert Conclusion(MORE, "fluid", "wait", before, after, beside).kind == kind


def test_the_same_answer_is_not_another_one() -> None:
    made = of({(MORE, "rigid"): 0.5, (MORE, "fluid"): 0.5})
    assert "conclusions_sample" not in [table.name for table in made.tables]
    assert "**0 are other ones where users react**" in made.summary


def test_direction() -> None:
    assert direction(Interval(0.5, 0.4, 0.9, 5)) == "less"
    assert direction(Interval(1.5, 1.1, 2.0, 5)) == "more"
    assert direction(Interval(0.9, 0.8, 1.1, 5)) == "open"
    assert direction(Interval(0.5, nan, nan, 3)) == "open"


def test_who_submits_more() -> None:
    parts = of({}, work={(MORE, "fluid"): 1.07}).parts
    texts = [part.markdown for part in parts if isinstance(part, Text)]
    assert any(f"**More work** is submitted by fluid with **{MORE}** (+7" in text for text in texts)
    assert not any("Less work" in text for text in texts)


POOR = {
    "relative_bias": 0.8,
    "low_relative_bias": 0.6,
    "high_relative_bias": 1.0,
    "rank_correlation": 0.5,
    "low_rank_correlation": 0.3,
    "high_rank_correlation": 0.6,
    "bias": 2880.0,
    "low_bias": 2160.0,
    "high_bias": 3600.0,
    "weeks": 7.0,
    "mean_recorded": HOUR,
    "mean_simulated": 1.8 * HOUR,
    "users_near": 0.4,
}
GOOD = {
    "relative_bias": 0.05,
    "low_relative_bias": -0.1,
    "high_relative_bias": 0.15,
    "rank_correlation": 0.9,
    "low_rank_correlation": 0.8,
    "high_rank_correlation": 0.95,
    "bias": 180.0,
    "low_bias": -360.0,
    "high_bias": 540.0,
    "weeks": 7.0,
    "mean_recorded": HOUR,
    "mean_simulated": 1.05 * HOUR,
}


def test_a_poor_replay_is_told_before_anything_else() -> None:
    made = of(TURNED, **POOR)
    assert made.summary.startswith("**Mind: the replay does not reproduce")
    assert "1.8 h" in made.summary
    farther = {"share_explained": -0.5, "low_share_explained": -0.7, "high_share_explained": -0.3}
    assert of(TURNED, **{**GOOD, **farther}).summary.startswith("**Mind")
    frame = table_of(made, "fidelity_sample").frame
    row = one_row(frame, what="mean wait (h)")
    assert row[["recorded", "simulated"]].tolist() == pytest.approx([1.0, 1.8])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "reproduces level and order"),
        ({"low_rank_correlation": 0.5}, "in part"),
        ({"low_relative_bias": -0.3}, "in part"),
        ({"low_bias": nan, "high_bias": nan, "low_rank_correlation": nan}, "in part"),
    ],
)
def test_another_replay_is_told_last(changed: dict[str, float], said: str) -> None:
    summary = of(TURNED, **{**GOOD, **changed}).summary
    assert summary.startswith("Whoever")
    assert said in summary
    believable = "3 min" if "low_bias" in changed else "9 min"
    assert f"by less than {believable}" in summary


def test_without_the_log_itself_it_is_said_that_nothing_is_known() -> None:
    made = of(TURNED)
    assert "is not known" in made.summary
    assert "fidelity_sample" not in [table.name for table in made.tables]


def test_tables_by_hand() -> None:
    made = of(TURNED)
    place = {"change": MORE, "users": "rigid"}
    row = one_row(table_of(made, "changes_sample").frame, **place)
    assert row[["wait_before", "wait_after", "wait"]].tolist() == pytest.approx([3, 1.5, -50])
    assert row["pairs"] == 5
    assert one_row(table_of(made, "sizes_sample").frame, **place)["wait_wide"] == pytest.approx(-50)
    by_partition = table_of(made, "partitions_sample").frame
    assert one_row(by_partition, partition="debug", **place)["wait"] == pytest.approx(0)
    assert one_row(by_partition, partition="batch", **place)["after"] == pytest.approx(1.5)
    assert "gpu" not in set(by_partition["partition"])  # which had no job in one replication
    users = one_row(table_of(made, "users_sample").frame, **place)
    assert users[["longer", "shorter"]].tolist() == [0, 50]  # b waits as before, c never waited
    limits = table_of(made, "limits_sample").frame
    assert set(limits["change"]) == {EASY}  # where something ends at a limit
    assert set(table_of(made, "bases_sample").frame["users"]) == {"rigid", "fluid"}


@pytest.mark.parametrize("replications", [1, 5])
def test_the_figure_has_each_change_for_each_kind_of_users(replications: int) -> None:
    (figure,) = of(TURNED, replications).figures
    vl_convert.vegalite_to_vega(printable(figure.spec))  # an encoding that is none is an error
    rows = pd.concat(map(pd.DataFrame, figure.spec["datasets"].values()))
    rows = rows.dropna(subset="change")
    assert len(rows) == 2 * 3 * 2
    row = one_row(rows, change=MORE, users="rigid", panel="wait")
    assert row["ours"] == pytest.approx(0.5)
    assert pd.isna(row["low"]) == (replications == 1)


@pytest.mark.parametrize("runs", [[], [{"log": "sample", "people": "rigid", "change": MORE}]])
def test_campaigns_that_have_just_begun(runs: list[dict[str, Any]]) -> None:
    made = report(Campaign(runs, "site"))  # type: ignore[arg-type]
    assert made.summary.startswith("No run has finished yet")
    assert not made.tables
    assert not made.figures


# From a site's file to its page -----------------------------------------------------------------

OURS = """
extends = "site"
name = "ours"
replications = 2

[run]
log = "sample"
machine = "ours_machine.toml"
change = ["as it is"]
people = ["rigid", "a60"]
warm_up = 0
cool_down = 0

[policy.site]
scheduler = "easy"

[crowd.drawn]
user_options = { weeks = 2, begin = "anywhere", long_weeks = 3, edge_weeks = 1 }

[[include]]
machine = "ten_more.toml"

[[include]]
people = "recorded"
crowd = "recorded"
replications = 1
"""
MACHINE = '[[nodes]]\ncount = {}\ncores = 4\n[[partitions]]\nname = "batch"\nnumber = 1\n'


def test_an_operator_extends_the_study(tmp_path: Path) -> None:
    """A change of one's own, one's own policy, and the page of both."""
    (tmp_path / "ours.toml").write_text(OURS)
    (tmp_path / "ours_machine.toml").write_text(MACHINE.format(16))
    (tmp_path / "ten_more.toml").write_text(MACHINE.format(26))
    called = command(tmp_path, "campaign", "ours.toml", "-e", "out", "--jobs", "1")
    assert called.returncode == 0, called.stderr
    results = open_results(tmp_path / "out")
    assert len(results.runs) == 2 * 2 * 2 + 1
    made = report(results)
    assert {f"{name}_sample" for name in ("changes", "users", "fidelity", "bases")} <= {
        table.name for table in made.tables
    }
    row = one_row(table_of(made, "changes_sample").frame, change="ten_more", users="rigid")
    assert row["wait_after"] < row["wait_before"]
    assert row["work_weekly"] == pytest.approx(0)
    words = next(part.markdown for part in made.parts if isinstance(part, Text))
    assert "- *as it is*: `machine = ours_machine.toml`, `scheduler = easy`." in words
    assert "- *ten_more*: `machine = ten_more.toml`." in words
    recorded = one_row(table_of(made, "fidelity_sample").frame, what="mean wait (h)")
    assert recorded["recorded"] == pytest.approx(4.0, abs=0.1)  # 14,458 s of the log
    assert (tmp_path / "out" / "report.html").exists()


def test_the_machine_file_of_the_study_is_that_of_its_log() -> None:
    """On it the sample log waits as without: it has one partition, which gives 24 h."""
    folder = Path(cases.__file__).parent
    settings: dict[str, Any] = {"rules": "predictsim", "drop": "", "first": 500}
    with_file: Result = simulate("sample", machine=str(folder / "machine.toml"), **settings)
    assert with_file.metrics["mean_waiting_time"] == pytest.approx(
        simulate("sample", **settings).metrics["mean_waiting_time"]
    )
