"""``batsched-py report`` on a small campaign of the sample log."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import pytest

from batsched_py.campaign.campaign_folder import open_results
from batsched_py.commands import report as report_command
from batsched_py.errors import SimulationError
from batsched_py.report import Figure, Report, Section
from batsched_py.report.forms import publish
from batsched_py.report.forms.publish import write_page
from batsched_py.report.forms.schedule_view import draw_schedules
from helpers.calling import command
from helpers.campaigns import in_this_process
from helpers.made_up_report import a_report
from helpers.waiting import LIMIT

CAMPAIGN = """
name = "small"
title = "A small campaign"
{report}
[run]
log = ["sample"]
first = 60
scheduler = ["fcfs", "easy"]
"""
REPORT = """
import pandas as pd
from batsched_py.report import Report, Section, Table

def report(results):
    frame = results.runs[["scheduler", "mean_waiting_time"]]
    waits = Section("S", (Table("waits", "Waits", frame),))
    return Report("Not the title of the file", "Of a study", (waits,))
"""

LINE = ("campaign", "small.toml", "-e", "out", "--jobs", 1, "--no-report")
LIMITED = """
import resource, sys
most = int(sys.argv.pop(1))
from batsched_py.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
main()
"""
KILLED = """
import os
os.replace = lambda *files: os._exit(9)
from batsched_py.cli import main
main()
"""
"""Ends, without a word, where a whole file gets its name."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign that has ended and names no report."""
    return ended(tmp_path_factory.mktemp("campaign"), "")


def ended(folder: Path, report: str) -> Path:
    (folder / "study.py").write_text(REPORT)
    (folder / "small.toml").write_text(CAMPAIGN.format(report=report))
    with in_this_process():
        done = command(folder, *LINE)
    assert done.returncode == 0, done.stderr
    return folder / "out"


def test_sleeping_processors_are_in_the_reports_of_campaigns_and_runs(tmp_path: Path) -> None:
    sleepy = CAMPAIGN + 'shutdown = ["idle_time=inf", "idle_time=600"]\n'
    sleepy += 'power = "off_seconds=6,on_seconds=152"\n'
    (tmp_path / "small.toml").write_text(sleepy.format(report="").replace('"fcfs", ', ""))
    with in_this_process():
        assert command(tmp_path, *LINE).returncode == 0
    views = list(draw_schedules(open_results(tmp_path / "out")))
    shown = [
        "being switched" in json.dumps(view["chart"]["datasets"], default=str) for view in views
    ]
    assert shown == [False, True]
    runs = sorted((tmp_path / "out").glob("runs/*/out_jobs.csv"))
    pages = []
    for run in runs:
        assert command(None, "report", run).returncode == 0
        pages.append(Path(str(run).replace("_jobs.csv", "_report.html")).read_text())
    assert sorted("The green line" in page for page in pages) == [False, True]
    assert sorted("being switched" in page for page in pages) == [False, True]


def test_page_and_files_are_written_and_named(folder: Path) -> None:
    done = command(None, "report", folder)
    assert done.returncode == 0
    written = re.findall(r"^wrote (.*)$", done.stdout, re.MULTILINE)
    assert written[0] == str(folder / "report.html")
    assert {str(path) for path in (folder / "report").iterdir()} == set(written[1:])
    text = (folder / "report.html").read_text()
    again = command(None, "report", folder)
    assert f"replaces {folder / 'report.html'}" in again.stderr
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))  # type: ignore[union-attr]
    assert data["runs"]["n"] == 2
    assert len(data["schedules"]["runs"]) == 2
    rows = data["schedules"]["runs"][0]["chart"]["datasets"].values()
    assert max(len(set(columns.get("job_id", ()))) for columns in rows) == 60
    table = pd.read_csv(folder / "report" / "matrix_rigid.csv")
    results = pd.read_csv(folder / "results.csv")
    assert table["mean_waiting_time"].tolist() == results["mean_waiting_time"].tolist()


def drawn(folder: Path, page: Path, jobs: int) -> dict[str, bytes]:
    """Write a report with a figure, drawn by some processes; return the content of the files."""
    _, paths = write_page(a_report, page, open_results(folder), jobs)
    made = re.compile(rb"\d+-\d+-\d+ \d+:\d+ UTC")
    return {path.name: made.sub(b"", path.read_bytes()) for path in paths}


def test_processes_draw_what_one_draws(folder: Path, tmp_path: Path) -> None:
    here = drawn(folder, tmp_path / "here" / "page.html", 1)
    assert len(here) == 6
    assert b'"chart"' in here["page.html"]
    assert drawn(folder, tmp_path / "there" / "page.html", 2) == here


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_figure_that_cannot_be_drawn_ends_the_report(tmp_path: Path, jobs: int) -> None:
    """Wherever it is drawn; the page, which draws it in the browser, is there."""
    spec = {"data": {"url": "https://example.org/data.csv"}, "mark": "point", "encoding": {}}
    report = Report("T", "", (Section("S", (Figure("f", "F", spec),)),))
    with pytest.raises(ValueError, match=r"example\.org"):
        write_page(lambda: report, tmp_path / "report.html", jobs=jobs)
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["tables.md"]
    assert "example.org" in (tmp_path / "report.html").read_text()


def test_a_process_that_is_lost_ends_the_report(tmp_path: Path) -> None:
    report = Report("T", "", (Section("S", (Figure("f", "F", {}),)),))
    lost = partial(exec, "import os; os._exit(3)")
    with (
        patch.object(publish, "render_figure", lost),
        pytest.raises(SimulationError, match=r"page\.html and its files .* exited with 3"),
    ):
        write_page(lambda: report, tmp_path / "page.html", jobs=2)


def test_a_run_has_a_page(tmp_path: Path) -> None:
    prefix = tmp_path / "easy"
    done = command(None, "simulate", "sample", "--first", 50, "-e", prefix)
    assert f"batsched-py report {prefix}" in done.stdout
    for given, place in (
        (prefix, f"{prefix}_report.html"),
        (f"{prefix}_jobs.csv", tmp_path / "x.html"),
    ):
        done = command(None, "report", given, "-o", place)
        assert (done.returncode, done.stdout) == (0, f"wrote {place}\n"), done.stderr
        assert "easy on sample-v1" in Path(place).read_text()


def test_code_that_only_the_results_name_is_not_run(tmp_path: Path) -> None:
    folder = ended(tmp_path, 'report = "study.py:report"')
    place = f"{tmp_path / 'study.py'}:report"
    done = command(None, "report", folder)
    assert done.returncode == 0
    assert f"--report {place}" in done.stderr
    assert "Of a study" not in (folder / "report.html").read_text()
    page = tmp_path / "elsewhere" / "page.html"
    done = command(None, "report", folder, "--report", place, "-o", page)
    assert done.returncode == 0
    assert "--report" not in done.stderr
    assert "Of a study" in page.read_text()
    assert (page.parent / "page_files" / "waits.csv").is_file()


def test_a_link_in_the_results_leads_nowhere(tmp_path: Path) -> None:
    folder = ended(tmp_path, "")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mine.html").write_text("mine")
    (folder / "report").symlink_to(tmp_path / "elsewhere")
    (folder / "report.html").symlink_to(tmp_path / "mine.html")
    done = command(None, "report", folder)
    assert done.returncode == 1
    assert f"{folder / 'report'} is a link" in done.stderr
    assert not list((tmp_path / "elsewhere").iterdir())
    assert (tmp_path / "mine.html").read_text() == "mine"


def test_a_page_follows_its_campaign_until_all_runs_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ended(tmp_path, "")
    runs = sorted(folder.glob("runs/*"))
    for run in runs:
        run.rename(tmp_path / run.name)
    pages = []

    def next_run_ends(seconds: float) -> None:
        pages.append((folder / "report.html").read_text())
        run = runs[len(pages) - 1]
        (tmp_path / run.name).rename(run)

    monkeypatch.setattr(report_command, "sleep", next_run_ends)
    done = command(None, "report", folder, "--follow")
    assert done.returncode == 0, done.stderr
    for nb_ended, page in enumerate(pages):
        assert '<meta http-equiv="refresh" content="10">' in page
        assert f"{nb_ended} of 2 runs" in page
    assert '"n":1' in pages[1]
    assert "refresh" not in (folder / "report.html").read_text().partition("<style>")[0]
    assert (folder / "report" / "matrix_rigid.csv").exists()


def called(folder: Path, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", program, *map(str, arguments)]
    # without measuring coverage, whose file would be too large
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT)


def limited(folder: Path, most: int, *arguments: object) -> str:
    """Return the error of a command whose files may have at most ``most`` bytes."""
    done = called(folder, LIMITED, most, *arguments)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.process
def test_a_full_disk_or_a_kill_leaves_the_old_page(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder.parent, tmp_path / "copy")
    (copy / "out" / "report.html").write_text("old")
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    assert "File too large" in limited(copy, 50_000, "report", "out")
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    assert called(copy, KILLED, "report", "out").returncode == 9
    (left,) = [path for path in copy.rglob("*") if ".part" in path.name]
    left.unlink()
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


@pytest.mark.process
@pytest.mark.parametrize(("most", "message"), [(5_000, "its files"), (100, "campaign.json")])
def test_a_campaign_without_place_goes_on_when_there_is_some(
    folder: Path, tmp_path: Path, most: int, message: str
) -> None:
    copy = shutil.copytree(folder.parent, tmp_path / "copy")
    shutil.rmtree(copy / "out")
    assert message in limited(copy, most, *LINE)
    assert [path for path in copy.rglob("*") if ".part" in path.name] == []
    with in_this_process():
        done = command(copy, *LINE)
    assert done.returncode == 0, done.stderr
    for path in folder.glob("runs/*/*.csv"):
        assert (copy / "out" / path.relative_to(folder)).read_bytes() == path.read_bytes()
