"""The study of a site: measures, the way from a file of an operator to a page, and its answers."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from batsched_py import simulate
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.errors import UsageError
from batsched_py.report import Text
from batsched_py.report.kit import UNKNOWN, Interval
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.units import HOUR, WEEK
from batsched_studies.site.measures import USERS, gini, measure
from batsched_studies.site.other_answers import classify_answer
from batsched_studies.site.report import report
from helpers.calling import command
from helpers.campaigns import in_this_process
from helpers.made_up_campaign import one_row, table_of
from helpers.made_up_site import (
    EASY,
    FEWER,
    MORE,
    TURNED,
    Campaign,
    interval,
    made_up,
    of,
    one_run,
    page,
    replay,
    texts,
)

# Measured in a simulation -----------------------------------------------------------------------

THREE = [J(0, 8, HOUR, user="ann"), J(0, 1, 600, user="bob"), J(HOUR / 2, 2, 60, user="bob")]
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


def test_the_same_work_on_faster_processors() -> None:
    """Waits are shorter, and jobs of 15 min, which take 7.5 now, are no short ones for that."""
    jobs = [J(0, 8, 900), J(0, 8, 900), J(60, 8, 900)]
    slow, fast = (
        measure(simulate(workload(jobs, 8), speed_factor=factor)) for factor in (1.0, 2.0)
    )
    assert fast["work_weekly"] == pytest.approx(slow["work_weekly"])
    assert fast["short"] == slow["short"] == 0
    assert fast["wait"] < slow["wait"]


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


@pytest.mark.parametrize(
    ("values", "expected"), [([2, 2, 2], 0), ([0, 0, 0, 4], 0.75), ([1, 3], 0.25), ([0, 0], nan)]
)
def test_gini_by_hand(values: list[float], expected: float) -> None:
    assert gini(np.array(values, dtype=float)) == pytest.approx(expected, nan_ok=True)


# From a site's file to its page -----------------------------------------------------------------

OURS = """
extends = "site"
name = "ours"
replications = 2

[run]
log = "sample"
machine = "ours_machine.toml"
change = ["as it is"]
user_kind = ["rigid", "a60"]
warm_up = 0
cool_down = 0

[policy.site]
scheduler = "easy"

[user_set.drawn]
user_options = { weeks = 2, begin = "anywhere", long_weeks = 3, edge_weeks = 1 }

[[include]]
machine = "ten_more.toml"

[[include]]
user_kind = "recorded"
user_set = "recorded"
replications = 1
"""
MACHINE = '[[nodes]]\ncount = {}\ncores = 4\n[[partitions]]\nname = "batch"\nnumber = 1\n'


def test_an_operator_extends_the_study(tmp_path: Path) -> None:
    """A change of one's own, one's own policy, and the page of both."""
    (tmp_path / "ours.toml").write_text(OURS)
    (tmp_path / "ours_machine.toml").write_text(MACHINE.format(16))
    (tmp_path / "ten_more.toml").write_text(MACHINE.format(26))
    with in_this_process():
        called = command(tmp_path, "campaign", "ours.toml", "-e", "out")
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


# How far to trust it ----------------------------------------------------------------------------

SIDES = ("low", "high")
MEASURES = ("bias", "relative_bias", "rank_correlation")
NO_INTERVALS = {f"{side}_{name}": nan for side in SIDES for name in MEASURES}
"""Of few weeks; then only what is plainly poor is called so."""
POOR = "**Do not use these results: the replay waits 1.05 h on average, your log 1 h;"


@pytest.mark.parametrize(
    ("numbers", "said", "warning"),
    [
        (replay(**interval("share_explained", -0.7, -0.5, -0.3)), "level of waits is", POOR),
        (replay(), "so the level of waits is reproduced. The order of waits is reproduced (", ""),
        (replay(low_rank_correlation=0.5), "The order of waits is reproduced in part", ""),
        (replay(low_relative_bias=-0.3), "inconclusive whether the level of waits", ""),
        ({}, "not known", "**It is not known"),
        (replay(**NO_INTERVALS), "fewer than 5 weeks", ""),
        (replay(**NO_INTERVALS, relative_bias=0.4), "fewer than 5 weeks", ""),
        (replay(**NO_INTERVALS, relative_bias=-0.6), "another site than yours", POOR),
        (replay(**NO_INTERVALS, rank_correlation=-0.1), "another site than yours", POOR),
        (replay(**NO_INTERVALS, share_explained=-40.0), "another site than yours", POOR),
    ],
)
def test_how_well_the_record_is_reproduced(
    numbers: dict[str, float], said: str, warning: str
) -> None:
    """The answer begins with a warning, also in the caption, if the replay is another site."""
    made = of(TURNED, **numbers)
    assert said in made.summary
    assert made.answer.startswith(warning or "- **")
    assert MORE in made.answer
    assert made.main_figure is not None
    assert made.main_figure.caption.startswith("**Do not use") is (warning == POOR)


# What is called a change ------------------------------------------------------------------------


def test_repeats_other_than_replications_are_refused() -> None:
    runs = [run | {"shake": number} for number in (0, 1) for run in made_up({})]
    with pytest.raises(UsageError, match="'shake'"):
        page(runs)


# The answer -------------------------------------------------------------------------------------


def test_a_change_that_the_replay_cannot_tell_is_no_answer() -> None:
    """The replay may be off by 45 min: of 3 h a fifth is 36 min, which is less, and half is not."""
    bias = {"bias": 600.0, "low_bias": -600.0, "high_bias": 2700.0}
    made = of({(MORE, "rigid"): 0.5, (MORE, "fluid"): 0.8}, **replay(**bias))
    line = "20 to 50 % shorter; clear for rigid; within the error of the replay for fluid."
    assert made.answer.startswith(f"- **{MORE}**: {line}")
    assert f"- **{EASY}**: 0 %; inconclusive for all users." in made.answer
    made = of({(MORE, "rigid"): 0.9, (MORE, "fluid"): 0.8}, **replay(**bias))
    row = one_row(table_of(made, "changes_sample").frame, change=MORE, users="fluid")
    assert row[["wait_more", "wait_more_low"]].tolist() == pytest.approx([-0.6, -0.993], abs=1e-3)


def test_a_change_that_rounds_to_nothing_has_the_direction_of_the_other() -> None:
    made = of({(MORE, "rigid"): 0.9, (MORE, "fluid"): 1.004}, **replay())
    assert f"- **{MORE}**: 0 to 10 % shorter;" in made.answer


def test_an_error_that_exceeds_the_whole_wait() -> None:
    """Fluid users wait 3 h, and the replay may be off by 4 h: no shorter wait can be clear."""
    bias = {"bias": 600.0, "low_bias": -600.0, "high_bias": 4 * HOUR}
    made = of({(MORE, "rigid"): 0.1, (MORE, "fluid"): 0.1, (FEWER, "rigid"): 2.0}, **replay(**bias))
    assert (
        "90 % shorter; inconclusive (the replay's error is as large as the whole wait) for "
        in made.answer
    )
    assert f"- **{FEWER}**: 0 to 100 % longer; within the error of the replay for r" in made.answer


def test_job_sizes_that_lose() -> None:
    """Wide jobs wait longer with more nodes, where all jobs together wait less."""
    slow = {"wait_wide": 12 * HOUR}
    made = of(TURNED, numbers={(MORE, "rigid"): slow})
    assert f"wide jobs with **{MORE}** (rigid: +300 %)" in made.answer
    assert "Who loses" not in of({(FEWER, "rigid"): 2.0, (FEWER, "fluid"): 2.0}).answer


def test_equal_policies_are_two_changes() -> None:
    """The study has FCFS; a site with the same policy has the same runs as it is."""
    runs = made_up(TURNED)
    campaign = Campaign(runs)
    as_it_is = [at for at, run in enumerate(runs) if run["change"] == "as it is"]
    first = [at for at in as_it_is if runs[at]["policy"] == "site"]
    for at, same in zip(first, [at for at in as_it_is if runs[at]["policy"] == EASY], strict=True):
        campaign.planned[same] = (campaign.planned[at][0], campaign.planned[same][1])
        campaign.runs.loc[same, "folder"] = str(campaign.planned[at][0])
        campaign.runs.loc[same, "wait"] = campaign.runs.loc[at, "wait"]
    made = report(campaign)  # type: ignore[arg-type]
    assert f"- **{EASY}**: equal for all users." in made.answer


# Work -------------------------------------------------------------------------------------------

WEEKS_WORK = one_run(HOUR)["work_weekly"]


def work(factor: float) -> dict[str, float]:
    return {"work_weekly": WEEKS_WORK * factor}


def test_what_a_limit_takes_is_no_reaction() -> None:
    """It takes 57 % of the work of rigid users, half of that of others: these submit more."""
    numbers = {(MORE, "rigid"): work(0.43), (MORE, "fluid"): work(0.5)}
    made = of(TURNED, numbers=numbers)
    told = texts(made)
    assert f"by fluid with **{MORE}** (+16" in told
    assert ["More work" in told, "Less work" in told] == [True, False]
    assert "57 % of the work" in made.answer
    assert "Shorter waits" not in made.answer
    changes = table_of(made, "changes_sample").frame
    assert one_row(changes, change=MORE, users="fluid")["work_weekly"] == pytest.approx(-50)


# Answers that are other ones where users react --------------------------------------------------


def test_answers_that_are_others_where_users_react() -> None:
    """Rigid users wait twice as long with fewer nodes, those who react 0.9 times: 0.45 of it."""
    made = of(TURNED)
    frame = table_of(made, "conclusions_sample").frame
    assert set(frame["what"]) == {"mean wait"}
    turned = one_row(frame, change=FEWER)
    assert turned[["rigid", "reacting", "beside"]].tolist() == pytest.approx([100, -10, 0.45])
    assert frame["kind"].nunique() == 3
    # three changes, one kind of users who react, three quantities; 5 to 8 % of nine
    assert "Of 9 answers" in made.summary
    assert "give 0 to 1." in made.summary
    same = of({(MORE, "rigid"): 0.5, (MORE, "fluid"): 0.5})
    assert "conclusions_sample" not in [table.name for table in same.tables]


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
    """None: an answer that is inconclusive."""
    before, after = (
        UNKNOWN if of is None else Interval(of, 0.99 * of, 1.01 * of, 5) for of in (rigid, reacting)
    )
    value = (reacting or 1) / (rigid or 1)
    assert classify_answer(before, after, Interval(value, 0.98 * value, 1.02 * value, 5)) == kind
