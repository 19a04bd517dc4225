"""The page of the study of a site: how far to trust it, what is called a change, and its tables."""

from __future__ import annotations

from math import nan
from typing import Any

import pandas as pd
import pytest
import vl_convert

from batsched_py.errors import UsageError
from batsched_py.figures.chart_files import set_width
from batsched_py.units import HOUR
from helpers.made_up_campaign import one_row, table_of
from helpers.made_up_site import (
    EASY,
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


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (POOR, "**Mind: the replay does not reproduce"),
        (
            replay(share_explained=-0.5, low_share_explained=-0.7, high_share_explained=-0.3),
            "**Mind: the replay does not reproduce",
        ),
        (replay(), "The replay reproduces level and order"),
        (replay(low_rank_correlation=0.5), "The replay reproduces what the log recorded in part"),
        (replay(low_relative_bias=-0.3), "The replay reproduces what the log recorded in part"),
        ({}, "How well the waits that the log recorded are reproduced is not known"),
    ],
)
def test_the_page_begins_with_how_well_the_record_is_reproduced(
    numbers: dict[str, float], said: str
) -> None:
    first, answer, *_ = of(TURNED, **numbers).summary.split("\n\n")
    assert first.startswith(said)
    assert MORE in answer


NO_INTERVALS = dict.fromkeys(
    (
        *("low_bias", "high_bias", "low_relative_bias", "high_relative_bias"),
        *("low_rank_correlation", "high_rank_correlation"),
    ),
    nan,
)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({}, "in part"),  # so few weeks do not show that it is good
        ({"relative_bias": 0.4}, "in part"),
        ({"relative_bias": 8.0}, "**Mind"),
        ({"relative_bias": -0.6}, "**Mind"),
        ({"rank_correlation": -0.1}, "**Mind"),
        ({"share_explained": -40.0}, "**Mind"),
    ],
)
def test_without_intervals_a_replay_is_poor_that_is_plainly_so(
    numbers: dict[str, float], said: str
) -> None:
    """And nothing is small: how small a change can be believed is not known."""
    summary = of(TURNED, **replay(**NO_INTERVALS, **numbers)).summary
    assert said in summary
    assert "How small a predicted change of the mean wait can be believed is not known." in summary
    assert "too little" not in summary


def test_what_was_recorded_stands_beside_who_is_drawn() -> None:
    made = of(TURNED, **POOR)
    frame = table_of(made, "fidelity_sample").frame
    row = one_row(frame, what="mean wait (h)")
    assert row[["recorded", "simulated"]].tolist() == pytest.approx([1.0, 1.8])
    assert "Compared are 2,642 of the 3,430 jobs" in table_of(made, "fidelity_sample").note
    bases = table_of(made, "bases_sample").frame
    waits = dict(zip(bases["users"], bases["wait"], strict=True))
    expected = {"recorded in the log": 1, "replay of the log": 1, "rigid": 3, "fluid": 3}
    assert waits == pytest.approx(expected)
    assert "wait 3 h (rigid) and 3 h (fluid) in the mean, beside the 1 h recorded." in made.summary


def test_without_the_log_itself_it_is_said_that_nothing_is_known() -> None:
    made = of(TURNED)
    assert "fidelity_sample" not in [table.name for table in made.tables]
    assert "recorded in the log" not in set(table_of(made, "bases_sample").frame["users"])


def test_one_crowd_that_decides_a_mean_is_named() -> None:
    """Four crowds wait 1 h and the fifth 100: the mean is that of the fifth."""
    runs = [run for run in made_up({}) if run["replication"] < 4]
    assert "One crowd" not in texts(page(runs))
    runs += [one_run(100 * HOUR, 4, people="rigid", change=change) for change in ("as it is", MORE)]
    told = "**One crowd decides** the mean wait of rigid (as it is and 25 % more nodes): it has"
    assert told in texts(page(runs))


def test_queues_that_grow_are_named() -> None:
    """By 158 jobs a week, of 400 that come; by one a week it does not."""
    growing = {(EASY, "rigid"): {"backlog_growth": 158.0}, (MORE, "fluid"): {"backlog_growth": 1.0}}
    assert "**The queue grows from week to week** for rigid (EASY):" in texts(
        of(TURNED, numbers=growing)
    )


def test_a_policy_that_nobody_gave_is_an_assumption() -> None:
    assert "`multifactor` with its defaults, is an assumption" in texts(of(TURNED))
    given = [run | {"scheduler_options": '{"weight_age":1}'} for run in made_up(TURNED)]
    assert "assumption" not in texts(page(given))


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
    assert "Of 6 answers" in made.summary  # of two kinds who react, three quantities


def test_the_first_policy_is_that_of_the_site_if_none_is_called_so() -> None:
    made = page(crossed(policy=[EASY, "FCFS"], change=["as it is", MORE]))
    changes = set(table_of(made, "changes_sample").frame["change"])
    assert changes == {MORE, "FCFS", f"FCFS, {MORE}"}
    assert "- *as it is*: `machine = m.toml`, `scheduler = easy`." in texts(made)


def test_each_log_has_a_machine_of_its_own() -> None:
    """The first of its planned runs says which; one that is missing makes no other one of it."""
    first = made_up({(MORE, "rigid"): 0.5, (MORE, "fluid"): 0.5})
    second = [run | {"log": "two.swf", "machine": "two.toml"} for run in first]
    as_it_is = [run for run in first if (run["change"], run["policy"]) == ("as it is", "site")]
    third = [run | {"machine": "third.toml"} for run in as_it_is]
    summary = page([*first, *second, *third]).summary
    one, two = summary.split("### two")
    assert f"All users wait **less** with **{MORE}** (-50 %)" in one
    assert f"All users wait **less** with **{MORE}** (-50 %)" in two
    assert "**third**" in one.lower()
    assert "third" not in two
    assert "m.toml" not in summary
    of_first = {"log": "sample", "machine": "m.toml", "policy": "site", "change": "as it is"}
    without_first = page(third, [of_first]).summary
    assert "No run of the site as it is has finished yet" in without_first
    assert "Nothing but the site as it is" in page(third).summary  # nothing else was planned


def test_repeats_other_than_replications_are_refused() -> None:
    runs = [run | {"shake": number} for number in (0, 1) for run in made_up({})]
    with pytest.raises(UsageError, match=r"several values of 'shake'.*`replications`"):
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


def test_shares_of_users_end_at_none_and_at_all() -> None:
    """In one replication of five nobody waits longer, in the others half of the users do."""
    runs = made_up({(MORE, "rigid"): 2.0}, kinds=["rigid"], changes=[(MORE, "site")])
    same = {"wait": HOUR}
    runs = [run | same if (run["change"], run["replication"]) == (MORE, 0) else run for run in runs]
    row = one_row(table_of(page(runs), "users_sample").frame, change=MORE)
    assert row["longer"] == 40
    assert row["longer_low"] == pytest.approx(12.2, abs=0.1)
    few = [
        run | {"wait": HOUR * (1 + run["replication"])} if run["replication"] else run
        for run in runs
    ]
    row = one_row(table_of(page(few), "users_sample").frame, change=MORE)
    assert row[["longer", "longer_low"]].tolist() == [0, 0]


def test_the_partitions_with_most_jobs_are_shown() -> None:
    """Of fourteen the two with fewest jobs are left out, whatever the order of the columns."""
    names = [f"p{at:02}" for at in range(14)]
    partitions = {f"wait_in_{name}": HOUR for name in names}
    partitions |= {f"jobs_in_{name}": float(at) for at, name in enumerate(names)}
    runs = [
        one_run(HOUR, number, change=change) | partitions
        for change in ("as it is", MORE)
        for number in range(5)
    ]
    runs = [{k: v for k, v in run.items() if "batch" not in k and "debug" not in k} for run in runs]
    table = table_of(page(runs), "partitions_sample")
    assert set(table.frame["partition"]) == {*names[2:]}
    assert "Of the 12 partitions with most jobs" in table.note


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


def test_the_figure_has_a_sign_for_each_of_many_kinds_of_users() -> None:
    kinds = ["rigid", *(f"kind {at}" for at in range(9))]
    (figure,) = of({}, kinds=kinds).figures
    scales = set_width(figure.spec)["hconcat"][0]["layer"][-1]["encoding"]
    shown = [scales[channel]["scale"]["range"] for channel in ("color", "shape")]
    assert len({*zip(*shown, strict=True)}) == 10


def test_campaigns_that_have_just_begun() -> None:
    assert page([]).summary == "No run has finished yet."
    begun = page([one_run(HOUR, change=MORE)], [{"log": "sample", "change": "as it is"}])
    assert "No run of the site as it is has finished yet" in begun.summary
    assert not begun.tables
    assert not begun.figures
    never = page([one_run(HOUR, change=MORE)])
    assert "it is the one with `as it is` among the values of `change`" in never.summary
    alone = page([one_run(HOUR)])
    assert "Nothing but the site as it is has been simulated yet." in alone.summary
