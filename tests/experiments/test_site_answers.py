"""What the study of a site says of made-up runs: waits, work, and answers that users turn round."""

from __future__ import annotations

from math import nan

import pytest

from batsched_py.figures.chart_files import set_width
from batsched_py.report.kit import UNKNOWN, Interval
from batsched_py.units import HOUR
from batsched_studies.site.answers import find_direction
from batsched_studies.site.other_answers import classify_answer
from helpers.made_up_campaign import one_row, table_of
from helpers.made_up_site import (
    EASY,
    FEWER,
    MORE,
    TURNED,
    of,
    one_run,
    page,
    replay,
    texts,
)

# The answer -------------------------------------------------------------------------------------


def test_the_answer_is_a_sentence() -> None:
    """Its second paragraph: the first is how well the record is reproduced."""
    told = of(TURNED).summary.split("\n\n")[1]
    less, depends, some = told.split("; ")
    assert less == f"All users wait **less** with **{MORE}** (-50 % for rigid to -20 % for fluid)"
    assert depends == f"it depends on the users with **{FEWER}** (longer: rigid, less: fluid)"
    assert some == (
        f"of some users only it can be told with **{EASY}** (cannot be told: rigid, longer: fluid)."
    )


def test_of_few_replications_nothing_is_told() -> None:
    made = of(TURNED, 4)
    assert "It cannot be told with" in made.summary
    assert "Intervals take 5 replications; there are 4." in made.summary
    assert "All users" not in made.summary
    assert "conclusions_sample" not in [table.name for table in made.tables]


def test_a_change_that_the_replay_cannot_tell_is_no_answer() -> None:
    """The replay may be off by 45 min: of 3 h a fifth is 36 min, which is less, and half is not."""
    bias = {"bias": 600.0, "low_bias": -600.0, "high_bias": 2700.0}
    made = of({(MORE, "rigid"): 0.5, (MORE, "fluid"): 0.8}, **replay(**bias))
    told = f"with **{MORE}** (less: rigid, too little to be believed: fluid)"
    assert f"of some users only it can be told {told}" in made.summary.lower()
    made = of({(MORE, "rigid"): 0.9, (MORE, "fluid"): 0.8}, **replay(**bias))
    told = f"can be believed of this replay with **{MORE}** (-20 % for fluid to -10 % for rigid)"
    assert told in made.summary
    row = one_row(table_of(made, "changes_sample").frame, change=MORE, users="fluid")
    assert row[["wait_more", "wait_more_low"]].tolist() == pytest.approx([-0.6, -0.993], abs=1e-3)


def test_what_changes_nothing_is_not_called_open() -> None:
    """A limit that no job reaches: waits are the very same, even of two replications."""
    for replications in (2, 5):
        made = of({(MORE, kind): 1.0 for kind in ("rigid", "fluid")}, replications)
        assert f"othing changes with **{MORE}**" in made.summary
    assert "Nobody submits more or less work." in texts(of({}))


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
    told = "3 h more for rigid to 6 h more for fluid; as it is, rigid and fluid never wait"
    assert f"All wait **longer** with **{FEWER}** ({told})" in summary
    assert f"nothing changes with **{MORE}** (as it is, rigid and fluid never wait)" in summary


def test_direction() -> None:
    assert find_direction(Interval(0.5, 0.4, 0.9, 5)) == "less"
    assert find_direction(Interval(1.5, 1.1, 2.0, 5)) == "more"
    assert find_direction(Interval(0.9, 0.8, 1.1, 5)) == "open"
    assert find_direction(Interval(0.5, nan, nan, 3)) == "open"


def test_utilisation_is_told() -> None:
    numbers = {(MORE, "rigid"): {"busy": 0.56}, (MORE, "fluid"): {"busy": 0.63}}
    made = of(TURNED, numbers=numbers)
    told = f"Utilisation is **lower** with **{MORE}** (-20 % for rigid to -10 % for fluid)."
    assert told in texts(made)
    row = one_row(table_of(made, "changes_sample").frame, change=MORE, users="rigid")
    assert row[["busy_after", "busy", "busy_low"]].tolist() == pytest.approx([56, -20, -20])


# Work -------------------------------------------------------------------------------------------

WEEKS_WORK = one_run(HOUR)["work_weekly"]


def work(factor: float) -> dict[str, float]:
    return {"work_weekly": WEEKS_WORK * factor}


def test_who_submits_more() -> None:
    told = texts(of({}, numbers={(MORE, "fluid"): work(1.07)}))
    assert f"by fluid with **{MORE}** (+7, +7 to +7 %)" in told
    assert "**More work**" in told
    assert "Less work" not in told
    assert "Limits" not in told


def test_what_a_limit_takes_is_no_reaction() -> None:
    """It takes 57 % of the work of rigid users, half of that of others: these submit more."""
    numbers = {(MORE, "rigid"): work(0.43), (MORE, "fluid"): work(0.5)}
    made = of(TURNED, numbers=numbers)
    assert f"of *rigid* users, by fluid with **{MORE}** (+16" in texts(made)
    assert "**More work**" in texts(made)
    assert "Less work" not in texts(made)
    assert f"take from the users with **{MORE}** (57 % of the work is cut or refused)." in texts(
        made
    )
    assert (
        f"Waits are not judged with **{MORE}** (57 % of the work is cut or refused; "
        "-50 % for rigid to -20 % for fluid)"
    ) in made.summary
    assert "wait **less**" not in made.summary
    changes = table_of(made, "changes_sample").frame
    assert one_row(changes, change=MORE, users="fluid")["work_weekly"] == pytest.approx(-50)


def test_without_users_who_do_not_react_refused_jobs_tell_what_limits_take() -> None:
    made = of(TURNED, kinds=["fluid"], numbers={(MORE, "fluid"): {"refused": 0.08}})
    assert "8 % of the jobs are refused" in made.summary
    assert "of whom there are no runs" in texts(made)
    assert "other ones" not in made.summary


def test_who_brings_the_same_jobs_whatever_happens_submits_neither_more_nor_less() -> None:
    """What is submitted in the measured weeks only comes earlier, as do busy processors."""
    fixed = {"all_jobs": 2400.0} | work(1.05) | {"busy": 0.9}
    as_it_is = {("as it is", kind): {"all_jobs": 2400.0} for kind in ("a60", "fluid")}
    changed = {(change, "a60"): fixed for change in (MORE, FEWER, EASY)}
    made = of(TURNED, kinds=["rigid", "a60", "fluid"], numbers=as_it_is | changed)
    told = texts(made)
    assert "The work of a60 is the recorded one whatever happens" in told
    assert "More work" not in told
    others = table_of(made, "conclusions_sample").frame
    assert "utilisation" not in set(others["what"])
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
    assert turned["kind"] == "turns round"
    assert turned[["rigid", "reacting", "beside"]].tolist() == pytest.approx([100, -10, 0.45])
    assert one_row(frame, change=MORE)["kind"] == "is smaller where they react"
    assert one_row(frame, change=EASY)["kind"] == "can be told only where they react"
    # three changes, one kind of users who react, three quantities; 5 to 8 % of nine
    assert "Of 9 answers on waits, slowdown and utilisation **3 are other ones" in made.summary
    assert "by chance alone it would be 0 to 1" in made.summary
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
    assert classify_answer(before, after, Interval(value, 0.98 * value, 1.02 * value, 5)) == kind


def test_the_same_answer_is_not_another_one() -> None:
    made = of({(MORE, "rigid"): 0.5, (MORE, "fluid"): 0.5})
    assert "conclusions_sample" not in [table.name for table in made.tables]
    assert "**0 are other ones where users react**" in made.summary
