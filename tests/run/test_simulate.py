"""One simulation as a user runs it: options, files, errors, determinism."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from batsched_py import simulate
from batsched_py.errors import UsageError
from batsched_py.support.option_values import parse_options
from batsched_py.support.shipped_files import platforms_folder
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.sample import cached_sample_log
from helpers.calling import command

FILES = ("jobs.csv", "schedule.csv")


@pytest.fixture(scope="session")
def sample() -> Path:
    return cached_sample_log()


@pytest.mark.process
@pytest.mark.parametrize("users", ["rigid", "feedback"])
def test_same_inputs_same_bytes(tmp_path: Path, sample: Path, users: str) -> None:
    """In another process too, where hashes of strings differ."""
    line = ["simulate", str(sample), "--users", users, "-e"]
    assert command(tmp_path, *line, "a").returncode == 0
    other = [sys.executable, "-m", "batsched_py", *line, "b"]
    subprocess.run(other, cwd=tmp_path, check=True, capture_output=True)
    for name in FILES:
        assert (tmp_path / f"a_{name}").read_bytes() == (tmp_path / f"b_{name}").read_bytes()
    runs = [json.loads((tmp_path / f"{name}_run.json").read_text()) for name in ("a", "b")]
    for run in runs:
        del run["wall_time"]
    assert runs[0] == runs[1]


def test_run_json_holds_what_determines_the_run(tmp_path: Path, sample: Path) -> None:
    result = simulate(sample, users="feedback", sessions="arrival:30", speed_factor=2.0, seed=7)
    result.write(tmp_path / "deep" / "out")
    run = json.loads((tmp_path / "deep" / "out_run.json").read_text())
    assert run["run"]["user_options"] == {"sessions": "arrival:30"}
    assert run["run"]["seed"] == 7
    assert len(run["input"]["sha256"]) == 64
    assert {"python", "batsched_py", "numpy"} <= run["versions"].keys()
    assert run["rules"]["walltime"] == "double"
    metrics = run["metrics"]
    assert metrics["denominators"]["mean_lateness"] == "all jobs"
    assert set(metrics["per_user"]) <= {job.user for job in _jobs(sample)}
    rows = list(csv.DictReader((tmp_path / "deep" / "out_jobs.csv").open()))
    mean = sum(float(row["lateness"]) for row in rows) / len(rows)
    assert metrics["overall"]["mean_lateness"] == pytest.approx(mean, abs=1e-5)


def _jobs(sample: Path) -> list[object]:
    from batsched_py import load_workload
    from batsched_py.workload.conversion_rules import Rules

    return list(load_workload(sample, Rules()).jobs)


def test_a_platform_file_is_the_same_as_its_number_of_nodes(sample: Path) -> None:
    platform = platforms_folder() / "ideal_64.xml"
    one, other = simulate(sample, platform=platform), simulate(sample, nodes=64)
    assert one.jobs_csv() == other.jobs_csv()


def test_a_converted_workload_gives_the_same_schedule(tmp_path: Path, sample: Path) -> None:
    """Rigid and with users: user and recorded end travel in the workload file."""
    path = tmp_path / "sample.json"
    assert command(tmp_path, "convert", sample, path).returncode == 0
    for users in ("rigid", "feedback"):
        ours, theirs = simulate(path, users=users), simulate(sample, users=users)
        assert ours.jobs_csv() == theirs.jobs_csv()


def test_policy_and_options_from_a_file(tmp_path: Path, sample: Path) -> None:
    (tmp_path / "greedy.py").write_text(
        "from batsched_py import Start\n"
        "class Greedy:\n"
        "    '''Start whatever fits.'''\n"
        "    def __init__(self, *, limit: int = 10):\n"
        "        self.limit = limit\n"
        "    def schedule(self, now, queue, machine):\n"
        "        for job in list(queue)[: self.limit]:\n"
        "            if job.size <= machine.free:\n"
        "                yield Start(job)\n"
    )
    done = command(
        tmp_path, "simulate", sample, "--scheduler", "greedy.py:Greedy", "-O", "limit=50"
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out_jobs.csv").exists()


NO_USERS = "1 0 0 10 1 -1 -1 1 20 -1 1 {} -1 -1 -1 -1 -1 -1\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["no-such.swf"], 2, "no-such.swf"),
        (["KTH-SP2-1996-2.1-cl"], 2, "did you mean 'KTH-SP2-1996-2.1-cln'"),
        (["SAMPLE", "--scheduler", "esay"], 2, "did you mean 'easy'"),
        (["SAMPLE", "--users", "feedbak"], 2, "did you mean 'feedback'"),
        (["SAMPLE", "--walltime", "doubel"], 2, "double"),
        (["SAMPLE", "--rules", "predict"], 2, "predictsim"),
        (["SAMPLE", "--nodes", "0"], 2, "at least 1"),
        (["SAMPLE", "--seed", "-1"], 2, "at least 0"),
        (["SAMPLE", "--shake", "-1"], 2, "at least 0"),
        (["SAMPLE", "--platform", "x.xml", "--nodes", "3"], 2, "give one"),
        (["SAMPLE", "--speed-factor", "0"], 2, "positive"),
        (["SAMPLE", "--speed-factor", "nan"], 2, "positive"),
        (["SAMPLE", "--sessions", "arrival:60"], 2, "choose users by --users"),
        (
            ["SAMPLE", "--users", "fluid", "--sessions", "max:20", "-U", "sessions=max:10"],
            2,
            "give one of them",
        ),
        (["SAMPLE", "--users", "feedback", "--sessions", "arival:60"], 2, "arrival"),
        (["SAMPLE", "--users", "feedback", "-U", "sessions=60"], 2, "arrival"),
        (["SAMPLE", "-O", "depth=3"], 2, "depth"),
        (["SAMPLE", "-O", "depth"], 2, "key=value"),
        (["SAMPLE", "--platform", "none.xml"], 1, "none.xml"),
        (["SAMPLE", "--no-such-option"], 2, "--no-such-option"),
    ],
)
def test_wrong_usage_is_one_line(
    tmp_path: Path, sample: Path, arguments: list[str], code: int, said: str
) -> None:
    filled = [str(sample) if argument == "SAMPLE" else argument for argument in arguments]
    done = command(tmp_path, "simulate", *filled)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("out*"))


def test_users_who_are_unknown(tmp_path: Path) -> None:
    """No user at all: exit code 2 and the option that helps."""
    log = tmp_path / "nobody.swf"
    log.write_text("".join(NO_USERS.format(-1).replace("1", str(i), 1) for i in range(1, 4)))
    done = command(tmp_path, "simulate", log, "--users", "feedback")
    assert done.returncode == 2, done.stdout
    assert "--unknown-user" in done.stderr
    helped = command(tmp_path, "simulate", log, "--users", "feedback", "--unknown-user", "each")
    assert helped.returncode == 0, helped.stderr


def test_options_of_plugins() -> None:
    assert parse_options(["a=1", "b=x", "c=true", "d=[1,2]", "e=a=b", "f="], "-O") == {
        "a": 1,
        "b": "x",
        "c": True,
        "d": [1, 2],
        "e": "a=b",
        "f": "",
    }
    for wrong in (["a"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(UsageError):
            parse_options(wrong, "-O")


def test_version_and_list() -> None:
    assert "batsched_py" in command(None, "--version").stdout
    listed = command(None, "list").stdout
    assert all(name in listed for name in ("easy", "fcfs", "feedback", "rigid"))


def test_shake_changes_the_order_and_is_repeatable(sample: Path) -> None:
    """Another order of simultaneous events; the same seed gives the same schedule."""
    assert simulate(sample, shake=1).jobs_csv() == simulate(sample, shake=1).jobs_csv()
    users = {"users": "feedback", "sessions": "arrival:0", "speed_factor": 0.5}
    shaken = {simulate(sample, shake=seed, **users).jobs_csv() for seed in range(3)}
    assert len(shaken) > 1


def test_a_fault_in_a_plugin_is_one_line_with_its_place(tmp_path: Path, sample: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "class Bad:\n def schedule(self, now, queue, machine):\n  yield 1 / 0\n"
    )
    done = command(tmp_path, "simulate", sample, "--scheduler", "bad.py:Bad")
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) <= 3  # the notes on the log, and this
    assert "ZeroDivisionError" in done.stderr
    assert "bad.py:3" in done.stderr


def test_exact_estimates_know_the_speed_of_the_platform(tmp_path: Path, sample: Path) -> None:
    """Twice as fast by the platform file or by the factor: policies are told the same."""
    text = (platforms_folder() / "ideal_64.xml").read_text().replace('"1Gf"', '"2Gf"')
    (tmp_path / "fast.xml").write_text(text)
    rules = make_rules(walltime="exact")
    one = simulate(sample, platform=tmp_path / "fast.xml", rules=rules)
    other = simulate(sample, speed_factor=2.0, rules=rules)
    assert one.jobs_csv() == other.jobs_csv()
    (job, *_) = one.output.outcome.jobs
    assert job.description.estimate == job.finish_time - job.start_time


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


def test_what_the_other_back_end_cannot_do_is_said_before(tmp_path: Path) -> None:
    line = ("simulate", "sample", "--each-event", "--check-against", "socket", "-e", "r")
    done = command(tmp_path, *line)
    assert done.returncode == 2
    assert "--backend embedded only" in done.stderr
    assert not list(tmp_path.iterdir())
