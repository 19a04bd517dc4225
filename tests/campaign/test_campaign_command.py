"""The command: what it shows before it runs, what it tries again, and the table of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.campaign.preparation import prepare
from batsched_py.campaign.runner import execute
from batsched_py.campaign.worker_processes import LocalWorkers
from batsched_py.errors import PluginError, UsageError
from batsched_py.report.publish import report_of
from helpers.calling import call

FILE = """
name = "test"
report = "report.py:report"
measure = "measures.py:measure"
replications = 2
[run]
log = "sample"
first = [60, 40]
scheduler = ["easy", "fcfs"]
[[exclude]]
first = 40
scheduler = "fcfs"
[quick]
first = 20
"""
REPORT = """
from batsched_py.report import Report, Section, Table, Verdict


def report(results):
    runs = results.runs
    assert list(results.axes) == ["first", "scheduler", "replication"]
    assert len(results.jobs(runs.iloc[0])) == runs.iloc[0]["first"]
    table = Table("jobs", "Jobs", runs.groupby("first", as_index=False)["nb"].sum())
    verdict = Verdict("There are jobs", bool((runs["nb"] > 0).all()), "counted")
    return Report("A test", "nobody", (Section("Jobs", (table,)),), (verdict,))
"""


Said = tuple[int, str, str]


class Caller:
    """The command line in a folder, with what it says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Said:
        code = call(self._monkeypatch, "campaign", "test.toml", *arguments)
        said = self._capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Caller:
    return Caller(monkeypatch, capsys)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "test.toml").write_text(FILE)
    (tmp_path / "report.py").write_text(REPORT)
    (tmp_path / "measures.py").write_text(
        "def measure(result):\n return {'nb': len(result.table.submit)}\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_a_file_to_a_report(study: Path, run: Caller) -> None:
    code, out, err = run("-e", "out", "-j", "2")
    assert (code, err.splitlines()[0]) == (0, "test: 6 runs, 0 of them done before")
    assert "There are jobs" in out
    table = pd.read_csv(study / "out" / "results.csv")
    assert table["nb"].tolist() == [60, 60, 60, 60, 40, 40]
    assert table["replication"].tolist() == [0, 1] * 3
    assert table.groupby("replication")["seed"].nunique().tolist() == [1, 1]
    for column in ("hash", "version", "host", "started", "seconds", "wall_time", "backend"):
        assert table[column].notna().all()
    assert pd.read_parquet(study / "out" / "results.parquet")["nb"].tolist() == table["nb"].tolist()
    assert (study / "out" / "report.html").is_file()
    assert (study / "out" / "report" / "jobs.csv").is_file()

    results = open_results("out")
    assert (results.name, results.nb_planned, results.failures) == ("test", 6, [])
    row = results.runs.iloc[0]
    assert results.settings(row)["provenance"]["hash"] == row["hash"]
    assert "--first 60" in results.command(row)

    (study / "report.py").write_text("report = 3\n")  # a campaign's folder can be read all the same
    with pytest.raises(PluginError, match="not a function"):
        report_of(open_results("out"))


def test_a_report_that_errs_is_one_line_and_the_table_is_written(study: Path, run: Caller) -> None:
    (study / "report.py").write_text("def report(results):\n raise KeyError('nb')\n")
    arguments = ("--quick", "-e", "out")
    code, _, err = run(*arguments)
    assert code != 0
    assert "report.py:2: KeyError: 'nb'; the runs are kept" in err.splitlines()[-1]
    assert (study / "out" / "results.csv").is_file()


def test_a_dry_run_runs_nothing(study: Path, run: Caller) -> None:
    arguments = ("-e", "out", "--no-report")
    code, out, _ = run(*arguments, "--dry-run")
    assert (code, (study / "out").exists()) == (0, False)
    assert out.count("missing:") == 6
    assert "6 runs are like none that was timed" in out
    easy = 'scheduler = ["easy"]\nuser_options = {}'
    few = FILE.partition("[[exclude]]")[0].replace('scheduler = ["easy", "fcfs"]', easy)
    (study / "test.toml").write_text(few.replace("[60, 40]", "[60]"))
    code, _, err = run(*arguments)
    assert code == 0, err
    (study / "test.toml").write_text(FILE)
    _, out, err = run(*arguments, "--dry-run", "--jobs", "1")
    assert "2 of them done before" in err
    assert out.count("missing:") == 4
    assert "s for 2 runs, 1 at a time; 2 runs are like none" in out


def test_runs_that_failed_are_tried_or_left(study: Path, run: Caller) -> None:
    """A measure fails for runs of 40 jobs; mended, only those run again."""
    measure = study / "measures.py"
    measure.write_text(
        "import pathlib\n"
        "def measure(result):\n"
        " nb = len(result.table.submit)\n"
        " if nb == 40 and not pathlib.Path('mended').exists(): raise ValueError('forty')\n"
        " return {'nb': nb}\n"
    )
    arguments = ("-e", "out", "--no-report")
    code, _, err = run(*arguments)
    assert code == 1
    assert "ValueError: forty" in err
    assert "2 of 6 runs failed" in err
    assert len(open_results("out").runs) == 4
    assert [said for _, said in open_results("out").failures] == ["ValueError: forty"] * 2
    (study / "mended").touch()
    code, _, err = run(*arguments, "--only-missing")
    assert code == 1
    assert "2 failed before and were left out" in err
    code, out, _ = run(*arguments, "--retry-failed", "--dry-run")
    assert out.count("failed before:") == 2
    code, _, err = run(*arguments, "--retry-failed")
    assert code == 0, err
    assert len(open_results("out").runs) == 6
    assert open_results("out").failures == []


def test_what_failed_is_known_until_it_is_tried_again(study: Path) -> None:
    """Interrupted while it tries failed runs again, a campaign still knows the others."""
    (study / "measures.py").write_text("def measure(result):\n raise ValueError(chr(0xdcff))\n")
    runs = prepare(read_campaign(study / "test.toml"), study / "out")
    with LocalWorkers(1) as workers:
        assert len(execute(runs, workers)) == 6
    assert runs[0].failure == "ValueError: \\udcff"

    class Interrupted(LocalWorkers):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(runs, Interrupted(1))
    assert all(run.failure for run in runs)


def test_runs_that_are_one_fail_once(study: Path, run: Caller) -> None:
    text = "[run]\nfirst = 20\nx = ['a', 'b']\n[x.a]\n[x.b]\n"
    (study / "test.toml").write_text(f"measure = 'measures.py:measure'\n{text}")
    (study / "measures.py").write_text("def measure(result):\n raise ValueError('no')\n")
    code, _, err = run("-e", "out")
    assert code == 1
    assert "1 of 2 runs failed; why" in err


def test_no_table_of_another_campaign_is_left(study: Path, run: Caller) -> None:
    """Where nothing came out, the table of what was in the folder before would be taken for it."""
    arguments = ("--quick", "-e", "out", "--no-report")
    run(*arguments)
    assert (study / "out" / "results.csv").is_file()
    (study / "measures.py").write_text("def measure(result):\n raise ValueError('no')\n")
    code, _, _ = run(*arguments)
    assert code == 1
    assert not list((study / "out").glob("results.*"))


def test_labels_of_several_types(study: Path, run: Caller) -> None:
    """Parquet has columns of one type: such a label is text there."""
    text = "[run]\nx = [1, 0.5, 'auto']\ny = [true, 5]\n[x.1]\n[x.'0.5']\n[x.auto]\n"
    (study / "test.toml").write_text(f"{text}first = 9\n[y.true]\n[y.5]\nnodes = 32\n")
    code, _, err = run("-e", "out", "--no-report")
    assert code == 0, err
    table = pd.read_parquet(study / "out" / "results.parquet")
    assert table["x"].tolist() == ["1", "1", "0.5", "0.5", "auto", "auto"]
    assert table["y"].tolist() == ["True", "5"] * 3


def test_a_broken_file_of_a_run_is_no_result(study: Path, run: Caller) -> None:
    arguments = ("--quick", "-e", "out", "--no-report")
    run(*arguments)
    next((study / "out").glob("runs/*/out_run.json")).write_text("[]")
    assert len(open_results("out").runs) == 3
    _, _, err = run(*arguments)
    assert "4 runs, 3 of them done before" in err


def test_another_measure_measures_again_and_another_report_does_not(
    study: Path, run: Caller
) -> None:
    arguments = ("--quick", "-e", "out", "--no-report")
    run(*arguments)
    (study / "report.py").write_text(REPORT + "\n")
    _, _, err = run(*arguments)
    assert "4 runs, 4 of them done before" in err
    (study / "measures.py").write_text("def measure(result):\n return {'nb': 1}\n")
    _, _, err = run(*arguments)
    assert "4 runs, 0 of them done before" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--retry-failed", "--only-missing"), "give one of them"),
        (("--cluster", "dask://x:1", "--jobs", "2"), "--jobs is for this machine"),
        (("--jobs", "0"), "at least 1"),
        (("-e", ""), "expected a folder"),
    ],
)
def test_options_that_contradict(
    study: Path,
    run: Caller,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    code, _, err = run(*arguments)
    assert (code, said in err) == (2, True)


def test_what_is_no_campaign_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder of a campaign"):
        open_results(tmp_path)
    (tmp_path / "campaign.json").write_text(json.dumps({"name": 3}))
    with pytest.raises(Exception, match="run the campaign again"):
        open_results(tmp_path)


def test_the_folder_of_another_campaign_is_left_alone(study: Path, run: Caller) -> None:
    assert run("--quick", "-e", "out", "--no-report")[0] == 0
    stored = (study / "out" / "campaign.json").read_bytes()
    code, _, err = run("-e", "out")
    assert code == 2
    assert "folder of the campaign 'test_quick'" in err
    code, _, err = run("--quick", "-e", "out", "--cluster", "foo")
    assert "2 of them done before" not in err
    (study / "test.toml").write_text(FILE.replace("first = 20", "first = 30"))
    code, _, err = run("--quick", "-e", "out", "--cluster", "foo")
    assert (code, (study / "out" / "campaign.json").read_bytes()) == (2, stored)


def test_replications_of_users_who_draw_nothing_are_noted(study: Path, run: Caller) -> None:
    _, _, err = run("--quick", "-e", "out", "--no-report")
    assert "nothing was drawn at random: all replications of 2 combinations" in err
    assert open_results("out").nb_equal_replications == 2
    text = FILE.replace('log = "sample"', 'log = "none"\nusers = "weekly"').replace(
        "[quick]", '[quick]\n"user_options.weeks" = 1'
    )
    (study / "test.toml").write_text(text)
    _, _, err = run("--quick", "-e", "drawn", "--no-report")
    assert "drawn at random" not in err
    assert open_results("drawn").nb_equal_replications == 0


def test_folders_of_before_are_noted(study: Path, run: Caller) -> None:
    run("--quick", "-e", "out", "--no-report")
    (study / "test.toml").write_text(FILE.replace("first = 20", "first = 30"))
    _, _, err = run("--quick", "-e", "out", "--no-report")
    assert "4 folders in out/runs are of other settings" in err


def test_a_small_or_synthetic_study_says_so(study: Path, run: Caller) -> None:
    (study / "report.py").write_text(
        REPORT.replace("(runs.iloc[0])) ==", "(runs.iloc[0])) >=").replace(
            '["first", "scheduler"', '["scheduler"'
        )
    )
    _, out, err = run("--quick", "-e", "out")
    assert "too small to judge the paper by" in out, err
    assert "synthetic" in (study / "out" / "report.html").read_text()


def test_the_command_of_a_run_works_from_anywhere(study: Path, run: Caller) -> None:
    (study / "mine.py").write_text("from batsched_py.schedulers.fcfs import Fcfs as Mine\n")
    (study / "test.toml").write_text("[run]\nfirst = 5\nscheduler = 'mine.py:Mine'\n")
    assert run("-e", "out", "--no-report")[0] == 0
    results = open_results("out")
    assert f"--scheduler {study}/mine.py:Mine" in results.command(results.runs.iloc[0])
    stored = results.settings(results.runs.iloc[0])["provenance"]
    assert sorted(stored["files"])[0] == "measures.py"
    assert len(stored["code"]) == 12
