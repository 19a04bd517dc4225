"""The command: what it shows before it runs, what it tries again, and the table of results."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from calling import call

from batsched_py.campaign.results import open_results
from batsched_py.errors import PluginError, UsageError

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
        open_results("out").report()


def test_a_report_that_errs_is_one_line_and_the_table_is_written(study: Path, run: Caller) -> None:
    (study / "report.py").write_text("def report(results):\n raise KeyError('nb')\n")
    arguments = ("--quick", "-e", "out")
    code, _, err = run(*arguments)
    assert code != 0
    assert "KeyError: 'nb'" in err.splitlines()[-1]
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
