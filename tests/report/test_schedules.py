"""Windows of schedules, users, and the table of runs, as the page gets them."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.figures import run_figures
from batsched_py.report.forms.runs_table import list_provenance, make_runs_table, pack_column
from batsched_py.report.forms.schedule_view import (
    choose_rows,
    draw_schedule_view,
    draw_schedules,
    summarise_users,
)
from batsched_py.report.shown_runs import read_all_stored
from helpers.made_up_report import MadeUp, some_jobs


def run_of(jobs: pd.DataFrame) -> run_figures.JobsOfRun:
    return run_figures.JobsOfRun(jobs, {"nb_processors": 64})


def shown_jobs(chart: dict) -> list[str]:
    """Return the jobs of the schedule, the first panel, row by row."""
    return chart["datasets"][chart["vconcat"][0]["data"]["name"]]["job_id"]


def test_a_short_run_is_shown_whole() -> None:
    assert len(shown_jobs(draw_schedule_view(run_of(some_jobs(50))))) == 50


@given(st.integers(2, 120), st.integers(1, 60), st.integers(0, 3))
def test_a_window_is_bounded_and_has_all_that_runs_in_it(nb: int, most: int, seed: int) -> None:
    jobs = some_jobs(nb, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_figures, "READABLE_RECTANGLES", most)
        patch.setattr(run_figures, "MOST_RECTANGLES", most)
        begin, end = run_figures.find_window(jobs)
        shown = shown_jobs(draw_schedule_view(run_of(jobs)))
    inside = (jobs["starting_time"] < end) & (jobs["finish_time"] > begin)
    assert 1 <= len(shown) <= most
    if inside.sum() <= most:  # else more than that run at one instant
        assert set(shown) == set(jobs["job_id"][inside])


def test_the_window_is_around_the_longest_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = some_jobs(300)
    monkeypatch.setattr(run_figures, "READABLE_RECTANGLES", 40)
    begin, end = run_figures.find_window(jobs)
    events = sorted(set(jobs["submission_time"]) | set(jobs["starting_time"]))
    waiting = [
        int(((jobs["submission_time"] <= at) & (jobs["starting_time"] > at)).sum()) for at in events
    ]
    assert begin <= events[int(np.argmax(waiting))] <= end


def test_a_run_whose_jobs_were_all_rejected_says_so() -> None:
    jobs = some_jobs(5).assign(starting_time=np.nan, finish_time=np.nan)
    assert draw_schedule_view(run_of(jobs))["vconcat"][0]["title"]["subtitle"] == ["no job ran"]


def test_all_parts_are_zoomed_together() -> None:
    zoom, picked = draw_schedule_view(run_of(some_jobs(50)))["params"]
    assert (zoom["bind"], picked["bind"]) == ("scales", "legend")
    assert len(zoom["views"]) >= 3


def test_users_are_means_over_their_own_jobs() -> None:
    jobs = some_jobs(100)
    users = summarise_users(jobs)
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
    users = summarise_users(result.jobs)
    counted = dict(zip(users["user"], users["jobs"], strict=True))
    expected = {user: metrics["nb_jobs"] for user, metrics in result.measured["per_user"].items()}
    assert counted["24"] == 115
    assert counted == expected


def test_jobs_that_are_not_measured_and_unknown_users_are_not_counted() -> None:
    jobs = some_jobs(20).assign(measured=[False] * 10 + [True] * 10)
    jobs.loc[15, "user"] = None
    assert sum(summarise_users(jobs)["jobs"]) == 9
    assert summarise_users(jobs.drop(columns="user")) == {}


def test_of_many_runs_some_are_chosen_over_the_axes() -> None:
    results = MadeUp(40)
    rows = results.runs.iloc[choose_rows(results)]
    assert rows[["policy", "alpha"]].drop_duplicates().shape[0] == len(rows) == 4
    assert set(rows["replication"]) == {0}
    assert "4 of 160 runs can be chosen" in draw_schedules(results).note


def test_of_a_few_runs_all_are_chosen() -> None:
    assert choose_rows(MadeUp(3)) == list(range(12))


def test_without_jobs_the_page_says_how_to_get_them() -> None:
    shown = draw_schedules(MadeUp(keep_jobs=False))
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
    column = msgspec.json.decode(msgspec.json.encode(pack_column(values)))
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
    assert pack_column(["easy"] * 3200) == {"u": ["easy"], "n": 3200}


def test_the_table_of_runs_has_labels_metrics_and_settings() -> None:
    results = MadeUp()
    table = make_runs_table(results, read_all_stored(results))
    assert table["n"] == 12
    assert table["shown"][:3] == ["policy", "alpha", "replication"]
    assert "max_waiting_time" not in table["shown"]  # no run has it
    assert table["units"]["mean_waiting_time"] == "s"
    assert unpacked(table["settings"]["run.scheduler_options.alpha"], 3) == 6000
    assert not any(name.startswith("metrics") for name in table["settings"])


def test_the_page_knows_the_short_names_of_labels() -> None:
    results = MadeUp()
    results.runs["policy"] = results.runs["policy"].replace("creasy", "mine/a.py:Best")
    names = make_runs_table(results, read_all_stored(results))["names"]
    assert names == {"policy": {"mine/a.py:Best": "Best"}, "alpha": {}, "replication": {}}


def test_provenance_names_all_versions_and_hosts() -> None:
    results = MadeUp()
    results.runs.loc[0, "host"] = "another"
    facts = list_provenance(results, read_all_stored(results))
    assert facts["host"] == ["another", "node-7"]
    assert facts["python"] == ["3.11.7"]


def test_thousands_of_runs_stay_small() -> None:
    results = MadeUp(800)
    encoded = msgspec.json.encode(make_runs_table(results, read_all_stored(results)))
    assert len(results.runs) == 3200
    assert len(encoded) < 1_500_000


def test_no_run_at_all_is_no_error() -> None:
    results = MadeUp(0)
    results.runs = pd.DataFrame()
    assert draw_schedules(results).note == "No run has finished yet."
    assert make_runs_table(results, read_all_stored(results))["n"] == 0


def test_a_schedule_is_by_the_clocks_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    results = MadeUp(1, nb_jobs=20)

    def title(shown: dict) -> str:
        return shown["chart"]["vconcat"][0]["encoding"]["x"]["title"]

    assert {title(shown) for shown in draw_schedules(results).runs} == {
        "hours from the first submission"
    }
    dates = {"unix_start_time": 1e9, "time_zone": "Europe/Paris"}
    monkeypatch.setattr(MadeUp, "settings", lambda self, row: dates)
    assert {title(shown) for shown in draw_schedules(results).runs} == {
        "Europe/Paris; first submission 2001-09-09"
    }
