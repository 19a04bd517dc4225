"""What is measured of a site, and its way from a file of an operator to a page."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from batsched_py import Result, simulate
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.report import Text
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import DAY, HOUR, WEEK
from batsched_studies.site import cases
from batsched_studies.site.measures import USERS, find_span, gini, measure
from batsched_studies.site.report import report
from batsched_users.behaviour.calendar import Calendar
from helpers.calling import command
from helpers.made_up_campaign import one_row, table_of

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


def test_users_are_measured_in_the_same_weeks_as_jobs() -> None:
    """Their waits are means over the jobs of the span, whenever the last one is submitted.

    Of the weeks 0 to 3 those in the middle are measured: bob's job of 1 h of wait, and not ann's.
    ``per_user`` measures up to a week before the last submission, which is another time.
    """
    jobs = [
        *(J(0, 8, HOUR, user="ann"), J(60, 8, HOUR, user="ann")),
        *(J(WEEK + HOUR, 8, 2 * HOUR, user="bob"), J(WEEK + 2 * HOUR, 8, 60, user="bob")),
        J(9 * WEEK, 8, 60, user="ann"),
    ]
    options: dict[str, Any] = {"warm_up": WEEK, "cool_down": WEEK}
    result = simulate(workload(jobs, 8), **options)
    result.settings["run"]["user_options"] = {"weeks": 3}
    numbers = measure(result)
    assert numbers["jobs_weekly"] == 2  # in the one week that is measured
    assert numbers["all_jobs"] == 5
    assert result.measured[USERS] == {"bob": HOUR / 2}
    assert numbers["user_wait_median"] == HOUR / 2


def test_a_kind_of_users_brings_the_same_jobs_whatever_happens() -> None:
    """Who goes on after sessions does; who goes on within hours, for some weeks, does not."""
    drawn = {"weeks": 2, "begin": "anywhere", "long_weeks": 3, "edge_weeks": 1}
    after = {"resampled": True, "sessions": "arrival:60"}
    kinds: dict[str, dict[str, Any]] = {"feedback": after, "tbuos": {}}
    for users, options in kinds.items():
        settings: dict[str, Any] = {"users": users, "user_options": options | drawn}
        small, large = (measure(simulate("sample", nodes=nodes, **settings)) for nodes in (64, 128))
        assert small["wait"] > large["wait"]
        assert (small["all_jobs"] == large["all_jobs"]) == (users == "feedback")


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
    assert numbers["jobs_in_batch"] == pytest.approx(2 * numbers["jobs_weekly"])
    assert 0 < numbers["night"] < 0.3 > numbers["weekend"] > 0


def test_when_jobs_are_measured() -> None:
    """Weeks of users begin on the Monday after second 0, a Saturday noon; else all is measured."""
    calendar = Calendar(5.5 * DAY)
    ends = {"warm_up": WEEK, "cool_down": DAY}
    table = simulate(workload(THREE, 8)).table
    drawn = {"user_options": {"weeks": 6}, **ends}
    assert find_span(table, drawn, calendar) == (1.5 * DAY + WEEK, 1.5 * DAY + 6 * WEEK - DAY)
    everything = {"user_options": {}, "warm_up": 0.0, "cool_down": 0.0}
    begin, end = find_span(table, everything, calendar)
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
    users = one_row(table_of(made, "users_sample").frame, change="ten_more", users="rigid")
    assert users["shorter"] > 50
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
