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


def failed(*arguments: str) -> BatschedError:
    """The error of a call, which is one line and has left no file behind."""
    before = set(Path().rglob("*"))
    error = run(*arguments).exception
    assert isinstance(error, BatschedError), error
    assert "\n" not in str(error)
    assert set(Path().rglob("*")) == before
    return error


def test_a_row_per_delimitation() -> None:
    done = run("thresholds", "log.swf", "--sessions", "arrival:60:>", "--sessions", "last+1:20")
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["log,", "4", "jobs"]
    rows = {line[0]: line[1:] for line in lines if line and ":" in line[0]}
    assert rows == {
        "arrival:60:>": ["4", "2", "1.000", "2.000", "100.0%", "50.0%", "0.00%", "62"],
        "last+1:20": ["4", "3", "1.000", "1.333", "100.0%", "66.7%", "0.00%", "2"],
    }
    assert list(Path().glob("*.png")) == []


def test_figures_and_curves_of_two_logs_of_one_name() -> None:
    Path("sub").mkdir()
    Path("sub/log.swf").write_text(LOG)
    done = run("thresholds", "log.swf", "sub/log.swf", "--figures", "fig", "--format", "svg")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in Path("fig").iterdir()) == [
        "inter_arrival_times.svg",
        "log-2_curves.csv",
        "log-2_session_lengths.svg",
        "log-2_think_times.svg",
        "log_curves.csv",
        "log_session_lengths.svg",
        "log_think_times.svg",
    ]
    assert Path("fig/log_curves.csv").read_text().startswith("curve,of,minutes,share\n")


def test_a_log_beside_a_result() -> None:
    done = run("portrait", "log.swf", "out_jobs.csv", "-o", "new/portrait.svg", "--labels", "A,B c")
    assert done.exit_code == 0, done.output
    assert "A: 2 sessions" in done.stderr  # an hour exactly does not end a session
    assert "note: B c: " in done.stderr  # the weekday of its second 0 is unknown
    assert "note: A" not in done.stderr
    assert ">B c<" in Path("new/portrait.svg").read_text()


def test_same_call_same_bytes() -> None:
    written = []
    for _ in range(2):
        assert run("portrait", "log.swf", "-o", "a.svg").exit_code == 0
        written.append(Path("a.svg").read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["thresholds", "gone.swf"], UsageError, "gone.swf"),
        (["thresholds", "log.swf", "--sessions", "mx:20"], UsageError, "'mx'"),
        (["thresholds", "log.swf", "--format", "gif"], UsageError, ".png, .svg, .pdf"),
        (["thresholds", "log.swf", "--figures", "log.swf"], OutputError, "not a folder"),
        (["thresholds", "none"], UsageError, "no jobs"),
        (["portrait", "log.swf", "-o", "a.png", "--labels", "A,B"], UsageError, "2 names for 1"),
        (["portrait", "log.swf", "-o", "a.png", "--labels", " "], UsageError, "--labels ' '"),
        (["portrait", "gone_jobs.csv", "-o", "a.png"], UsageError, "gone_jobs.csv"),
        (["portrait", "bad_jobs.csv", "-o", "a.png"], InputError, "bad_jobs.csv:1: "),
    ],
)
def test_errors_are_a_line_and_nothing_is_written(
    arguments: list[str], kind: type[BatschedError], message: str
) -> None:
    Path("bad_jobs.csv").write_text("job_id,submission_time,finish_time\n1,0,1\n")
    error = failed(*arguments)
    assert isinstance(error, kind)
    assert message in str(error)


def test_an_old_figure_stays_if_the_new_one_fails() -> None:
    Path("a.png").write_text("old")
    assert run("portrait", "log.swf", "gone.swf", "-o", "a.png").exception
    assert Path("a.png").read_text() == "old"
