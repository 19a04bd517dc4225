"""The sentences with which a report begins."""

from __future__ import annotations

from math import nan

import pytest

from batsched_py.report.answers import Change, describe_changes, describe_levels
from batsched_py.report.document import Figure, Report, Section, Verdict
from batsched_py.report.formatting import format_answer, format_method
from batsched_py.report.metric_words import ShownMetric
from batsched_py.support.statistics import Interval

WAIT = ShownMetric("mean_waiting_time", "mean wait", "h", 3600)
SLOWDOWN = ShownMetric("mean_bounded_slowdown", "bounded slowdown")
LATE = ShownMetric("mean_lateness", "lateness", "h", 3600)
MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize(
    ("metric", "change", "words"),
    [
        (SLOWDOWN, Interval(-0.12, -0.22, -0.01, 9), "bounded slowdown 12 % lower (1 to 22 %)"),
        (WAIT, Interval(-0.12, -0.24, -0.004, 9), "mean wait 12.0 % shorter (0.4 to 24.0 %)"),
        (WAIT, Interval(0.13, nan, nan, 1), "mean wait 13 % longer"),
        (WAIT, Interval(0.13, -0.1, 0.3, 9), "mean wait inconclusive"),
        (WAIT, Interval(0.0, nan, nan, 9), "mean wait equal"),
        (LATE, Interval(-7200.0, -9000.0, -3600.0, 9), "submissions 2.0 h earlier (1.0 to 2.5 h)"),
    ],
)
def test_a_change_is_a_clause(metric: ShownMetric, change: Interval, words: str) -> None:
    assert describe_changes([Change("fair", "", metric, change)]) == f"- **fair**: {words}."


def test_inconclusive_metrics_come_last_and_together() -> None:
    unclear, clear = Interval(0.1, -0.1, 0.3, 9), Interval(0.5, 0.4, 0.6, 9)
    changes = [Change("fair", "rigid", *of) for of in ((WAIT, unclear), (SLOWDOWN, clear))]
    changes.append(Change("fair", "rigid", LATE, unclear, "refuses 3 % of the jobs"))
    assert describe_changes(changes) == (
        "- **fair** (rigid): bounded slowdown 50 % higher (40 to 60 %), mean wait and lateness "
        "inconclusive."
    )


def test_a_case_with_less_work_says_so() -> None:
    change = Change("fair", "", WAIT, Interval(-0.5, nan, nan, 1), "refuses 3 % of the jobs")
    assert describe_changes([change]) == (
        "- **fair**: mean wait 50 % shorter; but it refuses 3 % of the jobs."
    )


def test_many_cases_are_counted() -> None:
    ends = [
        (0.1, 0.05, 0.2),
        (0.4, 0.3, 0.5),
        (0.2, -0.1, 0.5),
        (-0.1, -0.2, -0.05),
        (0.3, 0.1, 0.5),
    ]
    changes = [Change("fair", f"log {at}", WAIT, Interval(*of, 9)) for at, of in enumerate(ends)]
    assert describe_changes(changes) == (
        "- **fair**: mean wait longer in 3 of 5 cases by 10 to 40 %, inconclusive in 1 of 5 cases, "
        "shorter in 1 of 5 cases by 10 %."
    )


def test_values_without_a_comparison() -> None:
    assert describe_levels(WAIT, [("", 12240.0)]) == "Mean wait: 3.4 h."
    few = [("a", 3600.0), ("b", 7200.0)]
    assert describe_levels(WAIT, few) == "Mean wait: 1 h (*a*) and 2 h (*b*)."
    many = [(str(at), 3600.0 * at) for at in range(1, 9)]
    assert describe_levels(WAIT, many) == "Mean wait: 1 h (*1*) to 8 h (*8*)."


def test_a_study_begins_with_its_claims() -> None:
    claims = [
        Verdict("Users wait", None, "", effect="1 %"),
        Verdict("Users stay.", True, "", "KTH", "9 %"),
    ]
    report = Report("A study", "", (), tuple(claims), "The method.")
    tally = "**1 of 2 claims holds, 1 is inconclusive.**"
    assert format_answer(report) == f"{tally} Holds on KTH: Users stay (9 %)."
    assert format_method(report) == "The method."
    unclear = Report("A study", "", (), (claims[0], claims[0]))
    assert format_answer(unclear) == (
        "**All 2 claims are inconclusive.** Inconclusive: Users wait (1 %)."
    )
    own = Report("A study", "", (), tuple(claims), answer="Waits halve.")
    assert format_answer(own) == f"{tally} Waits halve."


def test_a_report_without_an_answer_begins_with_its_summary() -> None:
    report = Report("A report", "", (), summary="All is well.")
    assert (format_answer(report), format_method(report)) == ("All is well.", "")


def test_the_main_figure_is_the_first_or_the_named_one() -> None:
    figures = tuple(Figure(name, name, {}) for name in ("one", "two"))
    sections = (Section("Figures", figures),)
    assert Report("", "", sections).main_figure is figures[0]
    assert Report("", "", sections, figure="two").main_figure is figures[1]
    with pytest.raises(ValueError, match="no figure 'three'"):
        Report("", "", sections, figure="three")
