"""The campaign files of all studies: they expand to different runs, small ones without download."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.report.campaign_report import make_campaign_report
from helpers.calling import command
from helpers.made_up_campaign import STUDIES as FOLDER
from helpers.made_up_campaign import MadeUpCampaign

STUDIES = {
    # campaign files; runs of all, of their small sizes; files whose small size downloads nothing
    "creasy": (6, 1469, 180, "alphas campaign generated machines readings thirds"),
    "dynamic_think_times": (4, 7920, 776, "campaign equal_work readings warm_up"),
    "dynp": (
        *(17, 4194, 909),
        "campaign clock estimates legacy load load_extension load_slackness metrics slackness "
        "subset",
    ),
    "grid": (5, 1919, 221, "adaptive bounds campaign readings sharing"),
    "grid_users": (4, 192, 48, "campaign"),
    "league": (7, 1332, 168, "campaign"),
    "replay_feedback": (
        *(7, 1313, 129),
        "allocated campaign confidence first fixed models shake",
    ),
    "resampling": (8, 9243, 87, "campaign"),
    "reservations": (4, 980, 90, "campaign limits"),
    "site": (2, 197, 80, "campaign"),
    "sufficiency": (7, 1660, 375, "campaign states"),
    "tbuos_ups": (10, 3099, 144, "campaign"),
}
CAMPAIGN = re.compile(r"^(\[run\]|extends)", re.MULTILINE)
FILES = {
    study: [
        path
        for path in sorted((FOLDER / study).glob("*.toml"))
        if CAMPAIGN.search(path.read_text())
    ]
    for study in STUDIES
}


@pytest.mark.parametrize("study", STUDIES)
def test_campaign_files_expand_to_different_runs(study: str) -> None:
    """Replications have the same seed in all runs, another one than each other."""
    nb_runs, nb_quick, local = 0, 0, []
    for path in FILES[study]:
        whole, small = (read_campaign(path, quick=quick) for quick in (False, True))
        nb_runs, nb_quick = nb_runs + len(whole.runs), nb_quick + len(small.runs)
        assert len({tuple(run.labels.items()) for run in whole.runs}) == len(whole.runs), path
        if {run.settings.log for run in small.runs} <= {"sample", "none"}:
            local.append(path.stem)
        seeds: dict[Any, set[int]] = {}
        for run in whole.runs:
            if "replication" in run.labels:
                seeds.setdefault(run.labels["replication"], set()).add(run.settings.seed)
        assert all(len(equal) == 1 for equal in seeds.values()), path
        assert len(set().union(*seeds.values())) == len(seeds), path
    assert (len(FILES[study]), nb_runs, nb_quick, " ".join(local)) == STUDIES[study]


@pytest.mark.parametrize("study", STUDIES)
def test_the_report_of_a_study_is_not_about_other_runs(study: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    report = str(FOLDER / study / "report.py:report")
    for file in FILES[study]:
        name = f"{study}/{file.stem}"
        path.write_text(f'extends = "{name}"\n[run]\n')
        assert read_campaign(path).report == report
        assert not read_campaign(path).is_part
        assert read_campaign(path).title == read_campaign(find_campaign(name)).title
    path.write_text(f'extends = "{study}"\ntitle = "Ours"\n[run]\nshake = 12345\n')
    ours = read_campaign(path)
    for_any_runs = study == "site"
    assert (ours.title, ours.report) == ("Ours", report if for_any_runs else None)


@pytest.mark.parametrize("study", STUDIES)
def test_a_campaign_that_has_just_begun_shows_that_nothing_is_known(study: str) -> None:
    module = importlib.import_module(f"batsched_studies.{study}.report")
    made = module.report(MadeUpCampaign([], study))
    assert not made.figures
    assert not any(verdict.holds for verdict in made.verdicts)


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
    assert (made.source, made.verdicts) == ("", ())
    shown = [table.frame for table in made.tables if table.name.startswith("matrix")]
    labels = ["infrastructure", "replay"]
    rows = {tuple(row) for frame in shown for row in frame[labels].to_numpy().tolist()}
    assert rows == set(map(tuple, results.runs[labels].to_numpy().tolist()))
    assert len(rows) == 6


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
