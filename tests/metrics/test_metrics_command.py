"""``batsched-py metrics`` on files of ours and of Batsim, and on what are no such files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from batsched_py import simulate
from batsched_py.commands.metrics import metrics
from batsched_py.errors import BatschedError, InputError, UsageError
from batsched_py.metrics import COUNTS, METRICS
from batsched_py.results.jobs_file import read_jobs
from batsched_py.simulator.files.output_files import JOBS_COLUMNS
from helpers.logs import swf_line, swf_text
from helpers.sealed_runs import seal

app = typer.Typer()
app.command()(metrics)

BATSIMS = f"""{JOBS_COLUMNS}
1,w0,d,0.0,2,-1.0,1,COMPLETED_SUCCESSFULLY,0.0,10.0,10.0,0.0,10.0,1.0,0-1,-1.0,""
2,w0,d,2.0,4,-1.0,1,COMPLETED_SUCCESSFULLY,10.0,20.0,30.0,8.0,28.0,1.4,0 2-4,-1.0,"a, b"
3,w0,d,5.0,9,-1.0,0,REJECTED,,,,,,,,,""
"""


def run(*arguments: object) -> tuple[str, str]:
    """Return stdout and stderr; raise what the command raises."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exception is not None:
        raise result.exception
    return result.stdout, result.stderr


def rows_of(*arguments: object) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in json.loads(run(*arguments, "--json")[0])}


@pytest.fixture
def batsims(tmp_path: Path) -> Path:
    path = tmp_path / "out_jobs.csv"
    path.write_text(BATSIMS)
    return path


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    log = tmp_path / "small.swf"
    jobs = [swf_line(i + 1, 10 * i, 7 * (i + 1), 1 + i % 3, 1 + i % 2) for i in range(6)]
    log.write_text(swf_text(*jobs))
    simulate(log).write(tmp_path / "out")
    return tmp_path / "out_jobs.csv"


def test_a_file_of_ours_gives_what_run_json_has(ours: Path) -> None:
    assert run(ours.parent / "out") == run(ours)  # its prefix will do
    stored = json.loads((ours.parent / "out_run.json").read_text())["metrics"]
    printed = {name: row["value"] for name, row in rows_of(ours).items()}
    missing = {name for name, value in stored["overall"].items() if value is None}
    assert {name for name, value in printed.items() if value is None} == missing
    for name in printed.keys() - missing:
        assert printed[name] == pytest.approx(stored["overall"][name], rel=1e-6)
    assert list(printed) == list(stored["overall"])
    users = {row.pop("user"): row for row in json.loads(run(ours, "--per-user", "--json")[0])}
    assert users.keys() == stored["per_user"].keys()
    for user, values in users.items():
        assert values == pytest.approx(stored["per_user"][user], rel=1e-6)


def test_a_file_of_batsim(batsims: Path) -> None:
    rows = rows_of(batsims, "--nodes", 5)
    assert [rows[name]["value"] for name in COUNTS] == [3, 2, 1]
    assert rows["utilisation"]["value"] == pytest.approx((2 * 10 + 4 * 20) / (5 * 30))
    assert rows["loss_of_capacity"]["value"] == pytest.approx(3 * 8 / (5 * 30))
    assert rows["sessions_per_user"]["value"] is None  # Batsim writes no users,
    assert rows["mean_lateness"]["value"] is None  # and not when a job was recorded
    assert rows["utilisation"]["source"] == METRICS["utilisation"].source


def test_text_and_csv(batsims: Path) -> None:
    out, _ = run(batsims, "--nodes", 5, "--only", "SLDwA", "--only", "nb_jobs,SLDwA")
    assert [line.split()[:2] for line in out.splitlines()] == [
        *(["name", "value"], ["mean_slowdown_by_area", "1.32"], ["nb_jobs", "3"]),
    ]
    rows = csv.DictReader(run(batsims, "--nodes", 5, "--csv")[0].splitlines())
    values = {row["name"]: row["value"] for row in rows}
    assert values == {
        name: "" if row["value"] is None else str(row["value"])
        for name, row in rows_of(batsims, "--nodes", 5).items()
    }


def test_per_user_of_chosen_metrics(ours: Path) -> None:
    out, _ = run(ours, "--per-user", "--only", "squashed_area", "--csv")
    # Sizes 1, 3, 2 of user 1 and 2, 1, 3 of user 2 for 7 to 42 s.
    areas = {"1": 1 * 7 + 3 * 21 + 2 * 35, "2": 2 * 14 + 1 * 28 + 3 * 42}
    rows = csv.DictReader(out.splitlines())
    assert {row["user"]: float(row["squashed_area"]) for row in rows} == pytest.approx(areas)


def test_size_of_the_machine(batsims: Path) -> None:
    """--nodes before _run.json before _schedule.csv; if none tells, a dash and a note."""
    arguments = (batsims, "--only", "UTIL,makespan")
    out, notes = run(*arguments)
    assert [line.split()[1] for line in out.splitlines()] == ["value", "-", "30"]
    assert "give --nodes" in notes
    batsims.with_name("out_schedule.csv").write_text("a,nb_computing_machines\n1,10\n")
    assert rows_of(*arguments)["utilisation"]["value"] == pytest.approx(100 / 300)
    seal(batsims.with_name("out_run.json"), {"nb_processors": 20})
    assert rows_of(*arguments)["utilisation"]["value"] == pytest.approx(100 / 600)
    assert rows_of(*arguments, "--nodes", 5)["utilisation"]["value"] == pytest.approx(100 / 150)
    renamed = batsims.rename(batsims.with_name("table.csv"))
    assert rows_of(renamed, *arguments[1:])["utilisation"]["value"] is None


def test_list_needs_no_file() -> None:
    out, _ = run("--list")
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(METRICS)
    assert rows_of("--list", "--only", "LOC").keys() == {"loss_of_capacity"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "FILE is missing"),
        (("FILE", "--nodes", 0), "--nodes 0"),
        (("FILE", "--nodes", 3), "4 processors"),
        (("FILE", "--only", "utilization"), "'utilisation'"),
        (("FILE", "--only", "AWRT"), "mean_turnaround_time_by_width, "),
        (("FILE", "--json", "--csv"), "one of them"),
        (("FILE", "--list"), "FILE"),
    ],
)
def test_wrong_usage(batsims: Path, arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(UsageError) as error:
        run(*(batsims if word == "FILE" else word for word in arguments))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (BATSIMS, "", "out_jobs.csv is empty"),
        (JOBS_COLUMNS, "x,y", "out_jobs.csv:1: no column"),
        ("job_id", "finish_time", "out_jobs.csv:1: column finish_time"),
        ("2,w0,d,2.0", "2,w0,d,soon", "out_jobs.csv:3: submission_time is 'soon'"),
        ("10.0,20.0,30.0", "10.0,20.0,3.0", "out_jobs.csv:3: starting_time 10"),
        ("0 2-4", "0,2-4", "out_jobs.csv:3: 18 fields"),
        ("REJECTED", "RUNNING", "out_jobs.csv:4: starting_time is ''"),
    ],
)
def test_bad_files(batsims: Path, old: str, new: str, message: str) -> None:
    batsims.write_text(BATSIMS.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        run(batsims, "--nodes", 5)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(batsims: Path) -> None:
    with pytest.raises(UsageError, match="out_jobs"):
        run(batsims.with_name("none_jobs.csv"))
    with pytest.raises(UsageError, match=r"/out_jobs\.csv$"):
        run(batsims.parent)
    batsims.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not a text"):
        run(batsims)


RUN, SCHEDULE = "out_run.json", "out_schedule.csv"


@pytest.mark.parametrize(
    ("content", "words"), [('{"nb_processors": "4"}', "nb_processors"), ("{", ""), ("[]", "")]
)
def test_a_bad_description_beside(batsims: Path, content: str, words: str) -> None:
    """It is not believed in anything."""
    if words:
        seal(batsims.with_name(RUN), content)
    else:
        batsims.with_name(RUN).write_text(content)
    for options in ((), ("--nodes", 5)):
        with pytest.raises(InputError, match=f"{RUN}.*{words}"):
            run(batsims, *options)


@pytest.mark.parametrize("content", ["", "nb_computing_machines\nmany\n"])
def test_a_bad_summary_beside(batsims: Path, content: str) -> None:
    batsims.with_name(SCHEDULE).write_text(content)
    with pytest.raises(InputError, match=f"{SCHEDULE}: .*processors.*nodes"):
        run(batsims)
    run(batsims, "--nodes", 5)


def test_tables_that_batsim_wrote(shared: Path) -> None:
    """Means and ends are those of Batsim's own summary, which divides by all jobs."""
    paths = sorted((shared / "batsim_transcripts").glob("*/out_jobs.csv"))
    checked = 0
    for path in paths:
        if not path.stat().st_size:  # Batsim aborted
            with pytest.raises(BatschedError, match="is empty"):
                read_jobs(path)
            continue
        rows = {name: row["value"] for name, row in rows_of(path).items()}
        with path.with_name("out_schedule.csv").open() as file:
            (summary,) = csv.DictReader(file)
        assert rows["nb_jobs"] == int(summary["nb_jobs"])
        assert rows["nb_rejected"] == int(summary["nb_jobs_rejected"])
        if rows["nb_ran"]:
            checked += 1
            share = rows["nb_ran"] / rows["nb_jobs"]
            ours = {
                "makespan": rows["last_end"],
                "max_waiting_time": rows["max_waiting_time"],
                "mean_waiting_time": rows["mean_waiting_time"] * share,
                "mean_turnaround_time": rows["mean_turnaround_time"] * share,
            }
            theirs = {name: float(summary[name]) for name in ours}
            assert ours == pytest.approx(theirs, abs=1e-5)
    assert checked > 40
