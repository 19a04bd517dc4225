"""The campaign files of all studies: they expand to different runs, small ones without download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.report.campaign_report import make_campaign_report
from helpers.calling import command

FILES = [
    # campaign file, runs, runs of the small size
    ("creasy/campaign", 5 * 5 * 10, 12),
    ("creasy/thirds", 3 * 5 * 10, 12),
    ("creasy/alphas", (10 + 4 + 4) * 10, 3 * 3),
    ("creasy/machines", 83 * 3, 83),
    ("creasy/readings", 15 * (3 + 1) * 10, 15 * (2 + 2)),
    ("creasy/generated", 2 * 2 * 10, 2 * 2),
    ("dynamic_think_times/campaign", 2 * 4 * 4 * 100, 2 * 4 * 4 * 6),
    ("dynamic_think_times/readings", 10 * 8 * 50, 10 * 8 * 6),
    ("dynamic_think_times/equal_work", 2 * 8 * 30, 2 * 8 * 6),
    ("dynamic_think_times/warm_up", 8 * 30, 4 * 2),
    ("dynp/campaign", 9, 9),
    ("dynp/ctc", 9, 9),
    ("dynp/metrics", 14, 14),
    ("dynp/metrics_ctc", 14, 14),
    ("dynp/estimates", 10, 10),
    ("dynp/estimates_ctc", 10, 10),
    ("dynp/slackness", 18, 18),
    ("dynp/slackness_ctc", 18, 18),
    ("dynp/legacy", 12, 12),
    ("dynp/clock", 7, 7),
    ("dynp/clock_kth", 7, 7),
    ("dynp/subset", 16, 16),
    ("dynp/load_extension", 3 * 3 * 5 * 10, 3 * 3 * 5),
    ("dynp/load", 3 * 5 * 5 * 10, 5 * 5 * 4),
    ("dynp/load_ctc", 5 * 5 * 10, 5 * 5 * 4),
    ("dynp/load_slackness", 3 * (1 + 12) * 5 * 10, 13 * 5 * 4),
    ("dynp/load_slackness_ctc", 13 * 5 * 10, 13 * 5 * 4),
    ("grid/campaign", 590, 45),
    ("grid/sharing", 138, 42),
    ("grid/bounds", 387, 36),
    ("grid/adaptive", 276, 18),
    ("grid/readings", 528, 80),
    ("grid_users/campaign", 3 * 2 * 8, 3 * 2 * 2),
    ("grid_users/kth", 3 * 2 * 8, 3 * 2 * 2),
    ("grid_users/kth_full", 3 * 2 * 8, 3 * 2 * 2),
    ("grid_users/sdsc", 3 * 2 * 8, 3 * 2 * 2),
    ("league/campaign", 2 * (11 * 10 + 1), 2 * (4 * 5 + 1)),
    ("league/logs", 5 * (11 * 10 + 1), 4 * 5 + 1),
    *((f"league/{log}", 11 * 10 + 1, 4 * 5 + 1) for log in ("blue", "sp2", "osc", "kth", "ctc")),
    ("replay_feedback/campaign", 18, 9),
    ("replay_feedback/allocated", 6, 6),
    ("replay_feedback/first", 96, 12),
    ("replay_feedback/fixed", 5, 3),
    ("replay_feedback/shake", 720, 45),
    ("replay_feedback/confidence", 360, 27),
    ("replay_feedback/models", 108, 27),
    ("reservations/campaign", 5 * 4 * 2 * 10, 2 * 3 * 5),
    ("reservations/kth", 5 * 4 * 2 * 10, 2 * 3 * 5),
    ("reservations/limits", 3 * 3 * 10, 3 * 5),
    ("reservations/limits_kth", 3 * 3 * 10, 3 * 5),
    ("site/campaign", (6 + 2) * 3 * 5 + 1, (6 + 2) * 3 * 2 + 1),
    ("site/sdsc_ds", (4 + 1) * 3 * 5 + 1, (4 + 1) * 3 * 2 + 1),
    ("sufficiency/campaign", 3 * (1 + 6 * 3) * 10, 3 * (1 + 2 * 3) * 5),
    ("sufficiency/kth", 3 * 3 * 10, 3 * 3 * 5),
    ("sufficiency/levers", 3 * (1 + 6 * 3) * 10, 3 * (1 + 2 * 3) * 5),
    ("sufficiency/effort", 2 * 5 * 10, 2 * 3 * 5),
    ("sufficiency/states", 3 * 2 * 10, 3 * 2 * 5),
    ("sufficiency/ample", 3 * 3 * 10, 3 * 2 * 5),
    ("sufficiency/curie", 3 * 3 * 20, 3 * 2 * 5),
    ("resampling/campaign", 40 + 5 * 10 + 3 + 1, 4 * 6 + 3 + 1),
    ("resampling/intervals", 7 * 1001, 6 + 1),
    ("resampling/intervals_cea", 101, 2 + 1),
    ("resampling/even", 6 * 201, 2 * 6 + 1),
    ("resampling/extension", 100 + 3 + 1, 2 + 2 + 1),
    ("resampling/load", 3 * 8 * 10, 2 * 2),
    ("resampling/osc", 9 * 10 + 1, 9 * 2 + 1),
    ("resampling/flurries", 4 * 100, 4 * 2),
    ("tbuos_ups/campaign", (2 * 8 + 2) * 30, (2 * 8 + 2) * 3),
    ("tbuos_ups/ratios", 2 * 2 * 100, 2 * 2 * 4),
    ("tbuos_ups/ups", 2 * 11 * 10, 2 * 11),
    ("tbuos_ups/ups_logs", 6 * (1 + 3 + 2) * 10, 1 + 3 + 2),
    ("tbuos_ups/machine", 2 * (2 * 2 + 4) * 10, 2 * 2 * 2),
    ("tbuos_ups/logs", 6 * 3 * 30, 3 * 2),
    ("tbuos_ups/real", 2 * 2 * 3 * 30, 2 * 3 * 2),
    ("tbuos_ups/warm_up", 2 * 30, 2 * 2),
    ("tbuos_ups/waits", 8 * (2 + 3 * 5) * 3, 5 * 3),
    ("tbuos_ups/waits_cea", (2 + 3 * 5) * 3, 1),
]
DOWNLOADED = {
    *(f"dynp/{table}_ctc" for table in ("metrics", "estimates", "slackness")),
    *("dynp/ctc", "dynp/clock_kth", "dynp/load_ctc", "dynp/load_slackness_ctc"),
    *("grid_users/kth", "grid_users/kth_full", "grid_users/sdsc"),
    *(f"league/{name}" for name in ("logs", "blue", "sp2", "osc", "kth", "ctc")),
    *("reservations/kth", "reservations/limits_kth", "site/sdsc_ds"),
    *(f"sufficiency/{name}" for name in ("kth", "levers", "effort", "ample", "curie")),
    *(f"resampling/{name}" for name in ("intervals", "intervals_cea", "even", "extension", "load")),
    *("resampling/osc", "resampling/flurries"),
    *(f"tbuos_ups/{name}" for name in ("ratios", "ups", "ups_logs", "machine", "logs", "real")),
    *("tbuos_ups/warm_up", "tbuos_ups/waits", "tbuos_ups/waits_cea"),
}
"""Whose small size takes a log of the archive too."""


@pytest.mark.parametrize(("name", "runs", "quick"), FILES)
def test_campaign_files_expand_to_different_runs(name: str, runs: int, quick: int) -> None:
    whole, small = (read_campaign(find_campaign(name), quick=small) for small in (False, True))
    assert (len(whole.runs), len(small.runs)) == (runs, quick)
    assert len({tuple(run.labels.items()) for run in whole.runs}) == runs
    if name not in DOWNLOADED:
        assert {run.settings.log for run in small.runs} <= {"sample", "none"}
    seeds: dict[Any, set[int]] = {}
    for run in whole.runs:
        if "replication" in run.labels:
            seeds.setdefault(run.labels["replication"], set()).add(run.settings.seed)
    assert all(len(equal) == 1 for equal in seeds.values()), "the same users everywhere"
    assert len(set().union(*seeds.values())) == len(seeds)


@pytest.mark.parametrize("name", [name for name, *_ in FILES])
def test_the_report_of_a_study_is_not_about_other_runs(name: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(f'extends = "{name}"\n[run]\n')
    study = find_campaign(name)
    report = str(study.parent / "report.py:report")
    assert read_campaign(path).report == report
    assert not read_campaign(path).is_part
    assert read_campaign(path).title == read_campaign(study).title
    path.write_text(f'extends = "{name}"\ntitle = "Ours"\n[run]\nshake = 12345\n')
    ours = read_campaign(path)
    for_any_runs = name.startswith("site/")
    assert (ours.title, ours.report) == ("Ours", report if for_any_runs else None)


EXTENSION = """
extends = "replay_feedback"
title = "Three times as large"
[run]
first = 60
infrastructure = ["easy", "infra*3", "infra*2"]
replay = ["rigid", "max:30"]
[infrastructure."infra*3"]
node_factor = 3.0
[replay."max:30"]
users = "feedback"
sessions = "max:30"
"""


def test_the_page_of_an_extension_shows_its_runs_and_judges_nothing(tmp_path: Path) -> None:
    (tmp_path / "ours.toml").write_text(EXTENSION)
    called = command(tmp_path, "campaign", "ours.toml", "-e", "out", "--jobs", "1")
    assert called.returncode == 0, called.stderr
    results = open_results(tmp_path / "out")
    made = make_campaign_report(results)
    assert (made.title, made.source, made.verdicts) == ("Three times as large", "", ())
    shown = [table.frame for table in made.tables if table.name.startswith("matrix")]
    labels = ["infrastructure", "replay"]
    rows = {tuple(row) for frame in shown for row in frame[labels].to_numpy().tolist()}
    assert rows == set(map(tuple, results.runs[labels].to_numpy().tolist()))
    assert len(rows) == 6
    assert r"*infra\*3* (192 processors) and *infra\*2* (128 processors)" in made.summary


PART = """
from batsched_py.report import Report, Verdict


def report(results):
    claims = [Verdict("It holds", True, "seen"), Verdict("It does not", False, "seen")]
    return Report("A study", "nobody", (), tuple(claims), "Done.")
"""


def test_no_claim_holds_on_a_part_of_the_runs_of_a_study(tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "report.py").write_text(PART)
    (study / "campaign.toml").write_text(
        'report = "report.py:report"\n[run]\nfirst = 20\nscheduler = ["easy", "fcfs"]\n'
    )
    for text, answers in {
        "": [True, False],
        'scheduler = "easy"\n': [None, False],
    }.items():
        path = tmp_path / "ours.toml"
        path.write_text(f'extends = "{study}"\nname = "ours"\n[run]\n{text}')
        called = command(tmp_path, "campaign", path, "-e", "out", "--jobs", "1")
        assert called.returncode == 0, called.stderr
        made = make_campaign_report(open_results(tmp_path / "out"), f"{study / 'report.py'}:report")
        assert [verdict.holds for verdict in made.verdicts] == answers
        assert ("Not all runs of the study" in made.summary) is (None in answers)
