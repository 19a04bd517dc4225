"""One simulation as a user runs it: options, files, errors, determinism."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from batsched_py import simulate
from batsched_py.errors import UsageError
from batsched_py.options.setting_fields import parse_options
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from helpers.calling import command
from helpers.logs import swf_line, swf_text
from helpers.sealed_runs import unsealed

FILES = ("jobs.csv", "schedule.csv")


@pytest.mark.process
def test_same_inputs_same_bytes(tmp_path: Path) -> None:
    """In another process too, where hashes of strings differ."""
    line = ["simulate", str(SAMPLE_LOG), "--users", "feedback", "-e"]
    assert command(tmp_path, *line, "a").returncode == 0
    other = [sys.executable, "-m", "batsched_py", *line, "b"]
    subprocess.run(other, cwd=tmp_path, check=True, capture_output=True)
    for name in FILES:
        assert (tmp_path / f"a_{name}").read_bytes() == (tmp_path / f"b_{name}").read_bytes()
    runs = [unsealed(tmp_path / f"{name}_run.json") for name in ("a", "b")]
    for run in runs:
        del run["wall_time"]
    assert runs[0] == runs[1]


def test_run_json_knows_the_files_that_were_read(tmp_path: Path) -> None:
    """By the content: one that is edited later gives another run, though it is called the same."""
    signal = tmp_path / "prices.csv"
    signal.write_text("time,price\n0,5\n7200,400\n")
    options = {"signal": str(signal), "red_from": 300}
    result = simulate(SAMPLE_LOG, users="sufficient", user_options=options)
    known = hashlib.sha256(signal.read_bytes()).hexdigest()[:12]
    assert result.settings["provenance"] == {"files": {"prices.csv": known}}
    assert "provenance" not in simulate(SAMPLE_LOG, first=1).settings  # the log is the input


def test_run_json_holds_what_determines_the_run(tmp_path: Path) -> None:
    result = simulate(SAMPLE_LOG, users="feedback", sessions="arrival:30", speed_factor=2.0, seed=7)
    result.write(tmp_path / "deep" / "out")
    run = json.loads((tmp_path / "deep" / "out_run.json").read_text())
    assert run["run"]["user_options"] == {"sessions": "arrival:30"}
    assert run["run"]["seed"] == 7
    assert len(run["input"]["sha256"]) == 64
    assert {"python", "batsched_py", "numpy"} <= run["versions"].keys()
    assert run["rules"]["walltime"] == "double"
    metrics = run["metrics"]
    assert metrics["denominators"]["mean_lateness"] == "recorded jobs"
    rows = list(csv.DictReader((tmp_path / "deep" / "out_jobs.csv").open()))
    assert set(metrics["per_user"]) == {row["user"] for row in rows}
    mean = sum(float(row["lateness"]) for row in rows) / len(rows)
    assert metrics["overall"]["mean_lateness"] == pytest.approx(mean, abs=1e-5)


def test_a_converted_workload_gives_the_same_schedule(tmp_path: Path) -> None:
    """Rigid and with users: user and recorded end travel in the workload file."""
    path = tmp_path / "sample.json"
    assert command(tmp_path, "convert", SAMPLE_LOG, path).returncode == 0
    for users in ("rigid", "feedback"):
        ours, theirs = simulate(path, users=users), simulate(SAMPLE_LOG, users=users)
        assert ours.jobs_csv() == theirs.jobs_csv()


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("no-such.swf", 2, "no-such.swf"),
        ("sample --scheduler esay", 2, "did you mean 'easy'"),
        ("sample --platform x.xml --nodes 3", 2, "give one"),
        ("sample --users feedback --sessions arival:60", 2, "arrival"),
        ("sample -O depth", 2, "key=value"),
        ("nobody.swf --users feedback", 2, "--unknown-user"),
        ("sample --each-event --check-against socket", 2, "--backend embedded"),
        ("sample --timeouts run=5", 2, "--timeouts"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path: Path, line: str, code: int, message: str) -> None:
    (tmp_path / "nobody.swf").write_text(swf_text(swf_line(user=-1), swf_line(2, user=-1)))
    done = command(tmp_path, "simulate", *line.split())
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("out*"))


def test_options_of_plugins() -> None:
    parsed = {"a": 1, "b": "x", "c": True, "d": [1, 2], "e": "a=b", "f": ""}
    assert parse_options(["a=1", "b=x", "c=true", "d=[1,2]", "e=a=b", "f="], "-O") == parsed
    for wrong in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(UsageError):
            parse_options(wrong, "-O")


def test_shake_changes_the_order_and_is_repeatable() -> None:
    """Another order of simultaneous events; the same seed gives the same schedule."""
    assert simulate(SAMPLE_LOG, shake=1).jobs_csv() == simulate(SAMPLE_LOG, shake=1).jobs_csv()
    users = {"users": "feedback", "sessions": "arrival:0", "speed_factor": 0.5}
    shaken = {simulate(SAMPLE_LOG, shake=seed, **users).jobs_csv() for seed in range(3)}
    assert len(shaken) > 1


def test_a_recording_takes_the_place_of_an_earlier_one_at_the_end(tmp_path: Path) -> None:
    """A run that fails leaves the earlier recording, and beside it what was said."""
    (tmp_path / "lazy.py").write_text(
        "class Lazy:\n    def schedule(self, now, queue, machine):\n        return []\n"
    )
    line = ("simulate", "sample", "--first", "20", "--record", "-e", "r")
    assert command(tmp_path, *line).returncode == 0
    exchange = tmp_path / "r_exchange.jsonl"
    before = exchange.read_bytes()
    failed = command(tmp_path, *line, "--scheduler", "lazy.py:Lazy")
    assert failed.returncode == 1
    assert "deadlock" in failed.stderr
    assert exchange.read_bytes() == before
    assert (tmp_path / "r_exchange.jsonl.part").stat().st_size > 0


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("__init__", "FileNotFoundError(2, 'no', 'x.csv')"),
        ("schedule", "BrokenPipeError('y')"),
        ("statistics", "FileNotFoundError(2, 'no', 'x.csv')"),
    ],
)
def test_an_error_in_a_plug_in_is_one_line_with_its_place(
    tmp_path: Path, where: str, kind: str
) -> None:
    base = "from batsched_py.schedulers.easy import Easy\n\nclass P(Easy):"
    (tmp_path / "p.py").write_text(f"{base}\n    def {where}(self, *_):\n        raise {kind}\n")
    done = command(tmp_path, "simulate", "sample", "--first", "5", "--scheduler", "p.py:P")
    assert done.returncode == 1
    error = done.stderr.splitlines()[-1]
    assert kind.partition("(")[0] in error
    assert f"p.py:5, in {where}" in error


def test_what_is_replaced_is_told(tmp_path: Path) -> None:
    def notes(*line: str) -> str:
        done = command(tmp_path, "simulate", SAMPLE_LOG, "--first", "20", *line)
        assert done.returncode == 0
        return done.stderr.partition("note: replaced out_* of ")[2].partition(": ")[2]

    assert notes() == ""
    same = notes()
    assert "same settings" in same
    assert "(easy, users rigid, on sample" in notes("--scheduler", "fcfs")
    policy = "from batsched_py.schedulers.easy import Easy\nclass P(Easy): x = {}\n"
    for x, note in ((1, "another run ("), (2, "(changed since: p.py)\n")):
        (tmp_path / "p.py").write_text(policy.format(x))
        assert note in notes("--scheduler", "p.py:P")
    assert notes("--scheduler", "p.py:P") == same
    (tmp_path / "out_run.json").write_text("{}")  # of Batsim, or of long ago
    assert notes().startswith("another run\n")
