"""The page of the study of a site: how far to trust it, its tables, and what it answers."""

from __future__ import annotations

from math import nan
from typing import Any

import pandas as pd
import pytest
import vl_convert

from batsched_py.errors import UsageError
from batsched_py.figures.chart_files import set_width
from batsched_py.report.kit import UNKNOWN, Interval
from batsched_py.units import HOUR
from batsched_studies.site.other_answers import classify_answer
from helpers.made_up_campaign import one_row, table_of
from helpers.made_up_site import (
    EASY,
    FEWER,
    MORE,
    POOR,
    TURNED,
    made_up,
    of,
    one_run,
    page,
    replay,
    texts,
)

# How far to trust it ----------------------------------------------------------------------------

SIDES = ("low", "high")
MEASURES = ("bias", "relative_bias", "rank_correlation")
NO_INTERVALS = {f"{side}_{name}": nan for side in SIDES for name in MEASURES}
"""Of few weeks; then only what is plainly poor is called so."""


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (POOR, "**Mind"),
        (replay(share_explained=-0.5, low_share_explained=-0.7, high_share_explained=-0.3), "**M"),
        (replay(), "level and order"),
        (replay(low_rank_correlation=0.5), "in part"),
        (replay(low_relative_bias=-0.3), "in part"),
        ({}, "not known"),
        (replay(**NO_INTERVALS), "in part"),
        (replay(**NO_INTERVALS, relative_bias=0.4), "in part"),
        (replay(**NO_INTERVALS, relative_bias=8.0), "**Mind"),
        (replay(**NO_INTERVALS, relative_bias=-0.6), "**Mind"),
        (replay(**NO_INTERVALS, rank_correlation=-0.1), "**Mind"),
        (replay(**NO_INTERVALS, share_explained=-40.0), "**Mind"),
    ],
)
def test_how_well_the_record_is_reproduced(numbers: dict[str, float], said: str) -> None:
    first, answer, *_ = of(TURNED, **numbers).summary.split("\n\n")
    assert said in first
    assert MORE in answer


def test_what_was_recorded_stands_beside_who_is_drawn() -> None:
    made = of(TURNED, **POOR)
    frame = table_of(made, "fidelity_sample").frame
    row = one_row(frame, what="mean wait (h)")
    assert row[["recorded", "simulated"]].tolist() == pytest.approx([1.0, 1.8])
    bases = table_of(made, "bases_sample").frame
    waits = dict(zip(bases["users"], bases["wait"], strict=True))
    expected = {"recorded in the log": 1, "replay of the log": 1, "rigid": 3, "fluid": 3}
    assert waits == pytest.approx(expected)


def test_what_may_mislead_is_named() -> None:
    """Four crowds wait 1 h and the fifth 100; the queue grows by 158 jobs a week, not by one."""
    runs = [run for run in made_up({}) if run["replication"] < 4]
    assert "One crowd" not in texts(page(runs))
    runs += [one_run(100 * HOUR, 4, people="rigid", change=change) for change in ("as it is", MORE)]
    assert "**One crowd decides**" in texts(page(runs))
    growing = {(EASY, "rigid"): {"backlog_growth": 158.0}, (MORE, "fluid"): {"backlog_growth": 1.0}}
    assert "for rigid (EASY):" in texts(of(TURNED, numbers=growing))
    given = [run | {"scheduler_options": '{"weight_age":1}'} for run in made_up(TURNED)]
    assumed = ["assumption" in texts(page(of_runs)) for of_runs in (made_up(TURNED), given)]
    assert assumed == [True, False]  # the options of its policy


# What is called a change ------------------------------------------------------------------------


def crossed(**others: list[str]) -> list[dict[str, Any]]:
    """Return runs of all combinations; each label that is not the first adds 10 % to the waits."""
    runs: list[dict[str, Any]] = [{}]
    for name, values in others.items():
        runs = [run | {name: value} for run in runs for value in values]
    firsts = {name: values[0] for name, values in others.items()}
    return [
        one_run(HOUR * (1 + number) * (1.1 + 0.001 * number) ** at, number, **labels)
        for labels in runs
        for at in [sum(labels[name] != first for name, first in firsts.items())]
        for number in range(5)
    ]


@pytest.mark.parametrize(
    ("axis", "values", "name"),
    [
        ("policy", ["site", EASY], EASY),
        ("machine", ["m.toml", "other/bigger.toml"], "bigger"),
        ("max_walltime", ["24 h", "12 h"], "12 h"),
    ],
)
def test_changes_that_are_crossed_have_the_names_of_both(
    axis: str, values: list[str], name: str
) -> None:
    """Each of the three is beside the site as it is, pair by pair, and nothing is mixed."""
    made = page(crossed(**{axis: values, "change": ["as it is", MORE]}))
    frame = table_of(made, "changes_sample").frame
    assert set(frame["change"]) in (
        {MORE, name, f"{name}, {MORE}"},
        {MORE, name, f"{MORE}, {name}"},
    )
    assert frame["pairs"].tolist() == [5, 5, 5]
    waits = dict(zip(frame["change"], frame["wait"], strict=True))
    both = waits.pop(next(change for change in waits if ", " in change))
    assert [*waits.values()] == pytest.approx([10, 10], abs=1)
    assert both == pytest.approx(21, abs=1)


def test_users_of_several_crowds_are_called_by_them() -> None:
    """They stand beside the rigid users of their crowd; the others wait ten times as long."""
    kinds = {"people": ["rigid", "fluid"], "change": ["as it is", MORE]}
    busy = [run | {"crowd": "busy", "wait": 10 * run["wait"]} for run in crossed(**kinds)]
    made = page([*crossed(**kinds), *busy])
    changes = table_of(made, "changes_sample").frame
    before = dict(zip(changes["users"], changes["wait_before"], strict=True))
    expected = {"rigid/drawn": 3, "fluid/drawn": 3.3, "rigid/busy": 30, "fluid/busy": 33}
    assert before == pytest.approx(expected, rel=0.01)


def test_each_log_has_a_machine_of_its_own() -> None:
    """The first of its planned runs says which; one that is missing makes no other one of it."""
    first = made_up({(MORE, "rigid"): 0.5, (MORE, "fluid"): 0.5})
    second = [run | {"log": "two.swf", "machine": "two.toml"} for run in first]
    as_it_is = [run for run in first if (run["change"], run["policy"]) == ("as it is", "site")]
    third = [run | {"machine": "third.toml"} for run in as_it_is]
    made = page([*first, *second, *third])
    one, two = (set(table_of(made, f"changes_{log}").frame["change"]) for log in ("sample", "two"))
    assert one - two == {"third"}
    assert MORE in two
    of_first = {"log": "sample", "machine": "m.toml", "policy": "site", "change": "as it is"}
    assert not page(third, [of_first]).tables  # the site as it is has not ended


def test_repeats_other_than_replications_are_refused() -> None:
    runs = [run | {"shake": number} for number in (0, 1) for run in made_up({})]
    with pytest.raises(UsageError, match="'shake'"):
        page(runs)


# Tables, figure, and campaigns that have just begun ---------------------------------------------


def test_tables_by_hand() -> None:
    made = of(TURNED, numbers={(EASY, "rigid"): {"at_limit": 0.1}})
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
    assert users[["longer", "shorter"]].tolist() == [0, 50]  # b waits as before
    limits = table_of(made, "limits_sample").frame
    assert set(limits["change"]) == {EASY}  # where something ends at a limit


@pytest.mark.parametrize("replications", [1, 5])
def test_the_figure_has_each_change_for_each_kind_of_users(replications: int) -> None:
    (figure,) = of(TURNED, replications).figures
    vl_convert.vegalite_to_vega(set_width(figure.spec))  # an encoding that is none is an error
    rows = pd.concat(map(pd.DataFrame, figure.spec["datasets"].values()))
    rows = rows.dropna(subset="change")
    assert len(rows) == 2 * 3 * 3
    row = one_row(rows, change=MORE, users="rigid", panel="wait")
    assert row["ours"] == pytest.approx(0.5)
    assert pd.isna(row["low"]) == (replications == 1)


def test_campaigns_that_have_just_begun() -> None:
    planned = [{"log": "sample", "change": "as it is"}]
    for runs, late in (([], []), ([one_run(HOUR, change=MORE)], planned), ([one_run(HOUR)], [])):
        begun = page(runs, late)
        assert begun.summary
        assert not begun.figures


# The answer -------------------------------------------------------------------------------------


def test_the_answer_is_by_change() -> None:
    """Its second paragraph: the first is how well the record is reproduced."""
    told = of(TURNED).summary.split("\n\n")[1]
    less, depends, some = told.split("; ")
    assert f"**{MORE}** (-50 % for rigid to -20 % for fluid)" in less
    assert f"**{FEWER}** (longer: rigid, less: fluid)" in depends
    assert f"**{EASY}** (cannot be told: rigid, longer: fluid)" in some
    few = of(TURNED, 4)  # replications
    assert "All users" not in few.summary
    assert "conclusions_sample" not in [table.name for table in few.tables]


def test_a_change_that_the_replay_cannot_tell_is_no_answer() -> None:
    """The replay may be off by 45 min: of 3 h a fifth is 36 min, which is less, and half is not."""
    bias = {"bias": 600.0, "low_bias": -600.0, "high_bias": 2700.0}
    made = of({(MORE, "rigid"): 0.5, (MORE, "fluid"): 0.8}, **replay(**bias))
    assert "too little to be believed: fluid" in made.summary
    made = of({(MORE, "rigid"): 0.9, (MORE, "fluid"): 0.8}, **replay(**bias))
    row = one_row(table_of(made, "changes_sample").frame, change=MORE, users="fluid")
    assert row[["wait_more", "wait_more_low"]].tolist() == pytest.approx([-0.6, -0.993], abs=1e-3)


def test_where_nobody_waits_as_it_is_times_are_told() -> None:
    """Nobody waits on all nodes; with fewer, rigid users wait 1 to 5 h, others twice as long."""
    runs = [
        one_run(0.0, number, people=kind, change=change)
        for kind in ("rigid", "fluid")
        for change in ("as it is", MORE)
        for number in range(5)
    ]
    runs += [
        one_run(factor * HOUR * (1 + number), number, people=kind, change=FEWER)
        for kind, factor in (("rigid", 1), ("fluid", 2))
        for number in range(5)
    ]
    made = page(runs)
    (figure,) = made.figures
    assert len(set_width(figure.spec)["hconcat"]) == 2  # of work and utilisation
    summary = made.summary
    assert "nan" not in summary
    assert f"**{FEWER}** (3 h more for rigid to 6 h more for fluid; " in summary


# Work -------------------------------------------------------------------------------------------

WEEKS_WORK = one_run(HOUR)["work_weekly"]


def work(factor: float) -> dict[str, float]:
    return {"work_weekly": WEEKS_WORK * factor}


def test_who_submits_more() -> None:
    told = texts(of({}, numbers={(MORE, "fluid"): work(1.07)}))
    assert f"by fluid with **{MORE}** (+7, +7 to +7 %)" in told
    assert [name in told for name in ("More work", "Less work", "Limits")] == [True, False, False]


def test_what_a_limit_takes_is_no_reaction() -> None:
    """It takes 57 % of the work of rigid users, half of that of others: these submit more."""
    numbers = {(MORE, "rigid"): work(0.43), (MORE, "fluid"): work(0.5)}
    made = of(TURNED, numbers=numbers)
    told = texts(made)
    assert f"by fluid with **{MORE}** (+16" in told
    assert ["More work" in told, "Less work" in told] == [True, False]
    assert "57 % of the work" in made.summary
    assert "wait **less**" not in made.summary
    changes = table_of(made, "changes_sample").frame
    assert one_row(changes, change=MORE, users="fluid")["work_weekly"] == pytest.approx(-50)


def test_who_brings_the_same_jobs_whatever_happens_submits_neither_more_nor_less() -> None:
    """What is submitted in the measured weeks only comes earlier, as do busy processors."""
    fixed = {"all_jobs": 2400.0} | work(1.05) | {"busy": 0.9}
    as_it_is = {("as it is", kind): {"all_jobs": 2400.0} for kind in ("a60", "fluid")}
    changed = {(change, "a60"): fixed for change in (MORE, FEWER, EASY)}
    made = of(TURNED, kinds=["rigid", "a60", "fluid"], numbers=as_it_is | changed)
    told = texts(made)
    assert "whatever happens" in told
    assert "More work" not in told
    assert "utilisation" not in set(table_of(made, "conclusions_sample").frame["what"])
    # three changes; fluid users have three answers each, a60 two
    assert "Of 15 answers" in made.summary
    # two kinds of users who submit the same are no such where their waits are, too
    assert "whatever happens" not in texts(of(dict.fromkeys(TURNED, 1.0)))


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
    assert "be 0 to 1." in made.summary
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
    """None: it cannot be told from no change."""
    before, after = (
        UNKNOWN if of is None else Interval(of, 0.99 * of, 1.01 * of, 5) for of in (rigid, reacting)
    )
    value = (reacting or 1) / (rigid or 1)
    assert classify_answer(before, after, Interval(value, 0.98 * value, 1.02 * value, 5)) == kind
