"""Windows of schedules, users, and the table of runs, as the page gets them."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.report import schedule_view as schedules
from batsched_py.report.packed_columns import packed, words
from batsched_py.report.runs_table import provenance, runs_table, stored_of
from batsched_py.report.schedule_view import chosen_rows, one_schedule, schedules_of, users_of
from helpers.made_up_report import MadeUp, some_jobs


def test_a_short_run_is_shown_whole() -> None:
    shown = one_schedule(some_jobs(50), 64)
    assert len(shown["jobs"]["id"]) == shown["nb_ran"] == 50
    assert shown["from"] == pytest.approx(min(shown["jobs"]["start"]), abs=0.1)


@given(st.integers(2, 120), st.integers(1, 60), st.integers(0, 3))
def test_a_window_is_bounded_and_has_all_that_runs_in_it(nb: int, most: int, seed: int) -> None:
    jobs = some_jobs(nb, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedules, "MOST_JOBS", most)
        shown = one_schedule(jobs, 64)
    inside = (jobs["starting_time"] < shown["to"]) & (jobs["finish_time"] > shown["from"])
    assert 1 <= len(shown["jobs"]["id"]) <= most
    if inside.sum() <= most:  # else more than that run at one instant
        assert set(shown["jobs"]["id"]) == set(jobs["job_id"][inside])


def test_the_window_is_around_the_longest_queue() -> None:
    jobs = some_jobs(300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedules, "MOST_JOBS", 40)
        shown = one_schedule(jobs, 64)
    events = sorted(set(jobs["submission_time"]) | set(jobs["starting_time"]))
    waiting = [
        int(((jobs["submission_time"] <= at) & (jobs["starting_time"] > at)).sum()) for at in events
    ]
    assert shown["from"] <= events[int(np.argmax(waiting))] <= shown["to"]


def test_rectangles_are_the_allocated_processors() -> None:
    jobs = some_jobs(3).assign(allocated_resources=["0-3 7", "5", "2-9"])
    shown = one_schedule(jobs, 64)
    order = [int(name) for name in shown["jobs"]["id"]]
    of = {0: [(0, 3), (7, 7)], 1: [(5, 5)], 2: [(2, 9)]}
    expected = [[at, *ends] for at, job in enumerate(order) for ends in of[job]]
    assert shown["rectangles"] == expected


def test_scattered_allocations_count_by_their_rectangles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "MOST_RECTANGLES", 100)
    jobs = some_jobs(200).assign(allocated_resources="0 2 4 6 8")
    assert 5 <= len(one_schedule(jobs, 64)["rectangles"]) <= 100


def test_busy_processors_are_means_over_the_steps() -> None:
    jobs = some_jobs(60)
    shown = one_schedule(jobs, 64)
    edges = np.linspace(shown["from"], shown["to"], 301)
    for step in (0, 10, 150, 299):
        left, right = edges[step], edges[step + 1]
        inside = np.minimum(jobs["finish_time"], right) - np.maximum(jobs["starting_time"], left)
        area = (inside.clip(lower=0) * jobs["requested_number_of_resources"]).sum()
        assert shown["busy"]["processors"][step] == pytest.approx(area / (right - left), rel=1e-4)


def test_a_run_whose_jobs_were_all_rejected_has_nothing_to_show() -> None:
    jobs = some_jobs(5).assign(starting_time=np.nan, finish_time=np.nan)
    shown = one_schedule(jobs, 64)
    assert shown["jobs"]["id"] == shown["rectangles"] == shown["busy"]["processors"] == []


def test_users_are_means_over_their_own_jobs() -> None:
    jobs = some_jobs(100)
    users = users_of(jobs)
    at = users["user"].index("3")
    jobs_of_user = jobs[jobs["user"] == "3"]
    run = jobs_of_user["finish_time"] - jobs_of_user["starting_time"]
    turnaround = jobs_of_user["finish_time"] - jobs_of_user["submission_time"]
    expected = {
        "jobs": len(jobs_of_user),
        "wait": (jobs_of_user["starting_time"] - jobs_of_user["submission_time"]).mean(),
        "slowdown": np.maximum(1, turnaround / np.maximum(run, 10)).mean(),
        "lateness": jobs_of_user["lateness"].mean(),
        "activity": jobs_of_user["submission_time"].max() - jobs_of_user["submission_time"].min(),
        "area": (run * jobs_of_user["requested_number_of_resources"]).sum(),
    }
    assert {name: users[name][at] for name in expected} == pytest.approx(expected, rel=1e-5)


def test_jobs_of_the_warm_up_are_not_counted() -> None:
    """The same jobs as in the metrics."""
    result = simulate("sample", users="feedback", warm_up=20 * 86_400)
    users = users_of(result.jobs)
    counted = dict(zip(users["user"], users["jobs"], strict=True))
    expected = {user: metrics["nb_jobs"] for user, metrics in result.measured["per_user"].items()}
    assert counted["24"] == 115
    assert counted == expected


def test_jobs_that_are_not_measured_and_unknown_users_are_not_counted() -> None:
    jobs = some_jobs(20).assign(measured=[False] * 10 + [True] * 10)
    jobs.loc[15, "user"] = None
    assert sum(users_of(jobs)["jobs"]) == 9
    assert users_of(jobs.drop(columns="user")) == {}


def test_of_many_runs_some_are_chosen_over_the_axes() -> None:
    results = MadeUp(40)
    rows = results.runs.iloc[chosen_rows(results)]
    assert rows[["policy", "alpha"]].drop_duplicates().shape[0] == len(rows) == 4
    assert set(rows["replication"]) == {0}
    assert "4 of 160 runs can be chosen" in schedules_of(results).note


def test_of_a_few_runs_all_are_chosen() -> None:
    assert chosen_rows(MadeUp(3)) == list(range(12))


def test_without_jobs_the_page_says_how_to_get_them() -> None:
    shown = schedules_of(MadeUp(keep_jobs=False))
    assert shown.runs == []
    assert "repeat a run with the command" in shown.note


_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(), st.text(max_size=5)
)


def unpacked(column: dict, row: int) -> object:
    if "v" in column:
        return column["v"][row]
    return column["u"][column["i"][row] if "i" in column else 0]


@given(st.lists(_VALUES, min_size=1, max_size=30))
def test_a_packed_column_gives_its_values_back(values: list) -> None:
    column = msgspec.json.decode(msgspec.json.encode(packed(values)))
    for row, value in enumerate(values):
        restored = unpacked(column, row)
        if value is None or value != value:
            assert restored is None
        elif isinstance(value, bool | str):
            assert restored is value or restored == value
        elif isinstance(value, int):
            assert restored == (value if abs(value) <= 2**53 else str(value))
        elif abs(value) == float("inf"):
            assert restored == str(value)
        else:
            assert restored == pytest.approx(value, rel=1e-5)


def test_a_setting_that_all_runs_share_is_there_once() -> None:
    assert packed(["easy"] * 3200) == {"u": ["easy"], "n": 3200}


def test_commands_share_their_words() -> None:
    lines = ["simulate a --seed 1", "simulate  a --seed 2"]
    made = words(lines)
    assert [" ".join(made["words"][at] for at in line) for line in made["lines"]] == lines
    assert made["words"].count("simulate") == 1


def test_the_table_of_runs_has_labels_metrics_and_settings() -> None:
    results = MadeUp()
    table = runs_table(results, stored_of(results))
    assert table["n"] == 12
    assert table["shown"][:3] == ["policy", "alpha", "replication"]
    assert "max_waiting_time" not in table["shown"]  # no run has it
    assert table["units"]["mean_waiting_time"] == "s"
    assert unpacked(table["settings"]["run.scheduler_options.alpha"], 3) == 6000
    assert not any(name.startswith("metrics") for name in table["settings"])


def test_the_page_knows_the_short_names_of_labels() -> None:
    results = MadeUp()
    results.runs["policy"] = results.runs["policy"].replace("creasy", "mine/a.py:Best")
    names = runs_table(results, stored_of(results))["names"]
    assert names == {"policy": {"mine/a.py:Best": "Best"}, "alpha": {}, "replication": {}}


def test_provenance_names_all_versions_and_hosts() -> None:
    results = MadeUp()
    results.runs.loc[0, "host"] = "another"
    facts = provenance(results, stored_of(results))
    assert facts["host"] == ["another", "node-7"]
    assert facts["python"] == ["3.11.7"]


def test_thousands_of_runs_stay_small() -> None:
    results = MadeUp(800)
    encoded = msgspec.json.encode(runs_table(results, stored_of(results)))
    assert len(results.runs) == 3200
    assert len(encoded) < 1_500_000


def test_no_run_at_all_is_no_error() -> None:
    results = MadeUp(0)
    results.runs = pd.DataFrame()
    assert schedules_of(results).note == "No run has finished yet."
    assert runs_table(results, stored_of(results))["n"] == 0
