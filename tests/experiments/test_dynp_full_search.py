"""The search for the thesis's full self-tuning: what it shares with the policy, and its size."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given, settings

from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.support.installation import studies_folder
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import starts
from batsched_studies.dynp.full_search import Interpretation, SearchedDynp, list_interpretations
from helpers.streit_schedules import load_of, random_jobs, run_watched


@pytest.mark.parametrize(
    ("when", "made"),
    [
        ("half", Interpretation(ends="none")),
        ("full", Interpretation()),
        ("starts", Interpretation(after="started")),
    ],
)
@pytest.mark.parametrize("decider", ["simple", "advanced"])
def test_three_interpretations_are_those_of_the_policy(
    when: str, made: Interpretation, decider: str
) -> None:
    @settings(max_examples=20)
    @given(random_jobs())
    def check(jobs: list[J]) -> None:
        policy = Dynp(decider=decider, when=when, legacy_fcfs_list_order=True)
        searched = SearchedDynp(made, decider)
        expected, _ = run_watched(load_of(jobs), policy)
        ours, _ = run_watched(load_of(jobs), searched)
        assert starts(ours) == starts(expected)
        assert searched.statistics() == policy.statistics()

    check()


def test_each_interpretation_is_searched_once() -> None:
    every = list_interpretations()
    assert len(set(every)) == len(every) == 456


def test_the_page_states_what_the_search_found() -> None:
    folder = studies_folder() / "dynp"
    with (folder / "full_search.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["decider"] == "advanced"]
    nearest = min(abs(float(row["difference_percent"])) for row in rows)
    text = " ".join((folder / "README.md").read_text().split())
    assert f"Of {len(rows)} interpretations" in text
    assert f"the nearest is {nearest:.2f} % off" in text
