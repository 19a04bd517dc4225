"""The commands ``thresholds`` and ``portrait`` from files to tables and figures."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from batsched_py.errors import BatschedError, InputError, OutputError, UsageError
from batsched_users.commands.studies import portrait, thresholds
from helpers.drawn_sessions import LOG

app = typer.Typer()
app.command()(thresholds)
app.command()(portrait)

JOBS = """\
job_id,workload_name,submission_time,final_state,finish_time,user
1,w0,0.0,COMPLETED_SUCCESSFULLY,50.0,5
2,w0,90.0,REJECTED,,5
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.swf").write_text(LOG)
    Path("out_jobs.csv").write_text(JOBS)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_a_row_per_delimitation_and_figures_of_two_logs_of_one_name() -> None:
    Path("sub").mkdir()
    Path("sub/log.swf").write_text(LOG)
    rules = ("--sessions", "arrival:60:>", "--sessions", "last+1:20")
    done = run(
        "thresholds", "log.swf", "sub/log.swf", *rules, "--figures", "fig", "--format", "svg"
    )
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["log,", "4", "jobs"]
    rows = {line[0]: line[1:] for line in lines if len(line) == 9}
    assert rows == {
        "arrival:60:>": ["4", "2", "1.000", "2.000", "100.0%", "50.0%", "0.00%", "62"],
        "last+1:20": ["4", "3", "1.000", "1.333", "100.0%", "66.7%", "0.00%", "2"],
    }
    parts = ("_curves.csv", "_session_lengths.svg", "_think_times.svg")
    figures = [name + part for name in ("log", "log-2") for part in parts]
    written = {path.name for path in Path("fig").iterdir()}
    assert written == {"inter_arrival_times.svg", *figures}


def test_a_log_beside_a_result() -> None:
    done = run("portrait", "log.swf", "out_jobs.csv", "-o", "new/portrait.svg", "--labels", "A,B c")
    assert done.exit_code == 0, done.output
    assert "A: 2 sessions" in done.stderr  # an hour exactly does not end a session
    assert "note: B c: " in done.stderr  # the weekday of its second 0 is unknown
    assert "note: A" not in done.stderr
    written = Path("new/portrait.svg").read_bytes()
    assert b">B c<" in written
    run("portrait", "log.swf", "out_jobs.csv", "-o", "again.svg", "--labels", "A,B c")
    assert Path("again.svg").read_bytes() == written


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["thresholds", "gone.swf"], UsageError, "gone.swf"),
        (["thresholds", "log.swf", "--format", "gif"], UsageError, ".png, .svg, .pdf"),
        (["thresholds", "log.swf", "--figures", "log.swf"], OutputError, "not a folder"),
        (["thresholds", "none"], UsageError, "no jobs"),
        (["portrait", "log.swf", "-o", "a.png", "--labels", "A,B"], UsageError, "2 names for 1"),
        (["portrait", "bad_jobs.csv", "-o", "a.png"], InputError, "bad_jobs.csv:1: "),
    ],
)
def test_errors_are_a_line_and_nothing_is_written(
    arguments: list[str], kind: type[BatschedError], message: str
) -> None:
    Path("bad_jobs.csv").write_text("job_id,submission_time,finish_time\n1,0,1\n")
    Path("a.png").write_text("old")
    before = set(Path().rglob("*"))
    error = run(*arguments).exception
    assert isinstance(error, kind)
    assert message in str(error)
    assert "\n" not in str(error)
    assert set(Path().rglob("*")) == before
    assert Path("a.png").read_text() == "old"
