"""Running campaigns: continuing, failures, interruption, what a run's folder holds."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from batsched_py.campaign import run_identity as identity
from batsched_py.campaign.campaign_file import Campaign, PlannedRun
from batsched_py.campaign.preparation import prepare
from batsched_py.run.settings import Settings
from batsched_py.support.option_values import parse_options
from helpers.waiting import LIMIT, wait_until

pytestmark = [pytest.mark.process, pytest.mark.slow]

FILE = """
name = "test"
[run]
log = ["sample"]
scheduler = ["easy", "fcfs"]
first = 300
"""


def campaign(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "batsched_py", "campaign", "test.toml", "-e", "out"]
    command.append("--no-report")
    return subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, timeout=LIMIT
    )


def results(folder: Path) -> dict[str, float]:
    return {
        path.parent.name: path.stat().st_mtime for path in folder.glob("out/runs/*/out_run.json")
    }


def test_a_second_call_continues(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(FILE)
    first = campaign(tmp_path)
    assert first.returncode == 0, first.stderr
    done = results(tmp_path)
    assert len(done) == 2
    assert (tmp_path / "out" / "results.csv").is_file()
    (tmp_path / "test.toml").write_text(FILE.replace('"fcfs"]', '"fcfs"]\nshake = [1]'))
    again = campaign(tmp_path)
    assert "2 runs, 0 of them done before" in again.stderr
    third = campaign(tmp_path)
    assert "2 runs, 2 of them done before" in third.stderr
    assert {name: results(tmp_path)[name] for name in done} == done


def test_a_folder_holds_what_it_takes_to_repeat_the_run(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(FILE)
    campaign(tmp_path)
    for folder in (tmp_path / "out" / "runs").iterdir():
        before = (folder / "out_jobs.csv").read_bytes()
        settings = json.loads((folder / "settings.json").read_text())
        assert settings["settings"]["first"] == 300
        (folder / "out_jobs.csv").unlink()
        command = shlex.split((folder / "command.txt").read_text())
        subprocess.run(command, check=True, capture_output=True, cwd="/")
        assert (folder / "out_jobs.csv").read_bytes() == before


def test_a_failed_run_does_not_take_the_others_down(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(FILE.replace('"fcfs"]', '"bad.py:Bad", "fcfs"]'))
    bad = "class Bad:\n def schedule(self, now, queue, machine):\n  return iter(())\n"
    (tmp_path / "bad.py").write_text(bad)
    done = campaign(tmp_path)
    assert done.returncode == 1
    assert "deadlock" in done.stderr
    assert "1 of 3 runs failed" in done.stderr
    assert len(results(tmp_path)) == 2
    good = bad.replace("return iter(())", "\n  yield from Fcfs().schedule(now, queue, machine)")
    (tmp_path / "bad.py").write_text("from batsched_py.schedulers.fcfs import Fcfs\n" + good)
    repaired = campaign(tmp_path)
    assert repaired.returncode == 0, repaired.stderr
    assert "3 runs, 2 of them done before" in repaired.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_stops_cleanly_and_can_be_continued(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C or SIGTERM: one line, exit code 130, no process left; what was done stays done."""
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\n"
        "class Slow:\n"
        " def schedule(self, now, queue, machine):\n"
        "  pathlib.Path('begun').touch()\n"
        "  time.sleep(600)\n"
        "  return iter(())\n"
    )
    (tmp_path / "test.toml").write_text(FILE.replace('"fcfs"]', '"slow.py:Slow"]'))
    command = [sys.executable, "-m", "batsched_py", "campaign", "test.toml", "-e", "out"]
    process = subprocess.Popen(
        [*command, "--jobs", "1"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until((tmp_path / "begun").exists)
    os.killpg(process.pid, number)
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert len(results(tmp_path)) == 1
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True)
    assert left.stdout == ""


LOG = "; MaxProcs: 4\n1 0 0 10 1 -1 -1 1 20 -1 1 1 -1 -1 -1 -1 -1 -1\n"
POLICY = """class P:
 def __init__(self, **options): ...
 def schedule(self, now, queue, machine): ...
"""
CHANGED: dict[str, Any] = {
    "scheduler": "fcfs",
    "scheduler_options": {"extra_nodes": "instant"},
    "users": "feedback",
    "sessions": "arrival:5",
    "user_options": {"sessions": "arrival:6"},
    "platform": "p.xml",
    "nodes": 3,
    "node_factor": 2.0,
    "speed_factor": 2.0,
    "rules": "dynp",
    "size": "allocated",
    "walltime": "exact",
    "runtime": "recorded",
    "drop": "no-user",
    "unknown_user": "each",
    "profile": "delay",
    "first": 1,
    "skip_bad_lines": True,
    "seed": 1,
    "shake": 0,
    "each_event": True,
    "warm_up": "1 h",
    "cool_down": "60",
    "backend": "socket",
}
LIMITS = {"timeouts"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "x.swf"
    path.write_text(LOG)
    return path


def prepared(log: Path, folder: Path, **settings: Any) -> Any:
    planned = PlannedRun({}, Settings(log=str(log), **settings))
    (run,) = prepare(Campaign(name="x", path=folder / "x.toml", runs=[planned]), folder)
    return run


def test_all_settings_are_tried_below() -> None:
    # batsim is tried with its back end below, and a limit does not change what a run gives
    assert set(CHANGED) == set(Settings.__struct_fields__) - {"log", "batsim"} - LIMITS


@pytest.mark.parametrize("setting", CHANGED)
def test_every_setting_reaches_the_command_and_the_name(
    tmp_path: Path, log: Path, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.xml").write_text("<platform/>")
    needed = {"users": "feedback"} if setting in ("sessions", "user_options") else {}
    plain = prepared(log, tmp_path, **needed)
    changed = prepared(log, tmp_path, **needed, **{setting: CHANGED[setting]})
    assert changed.folder != plain.folder
    assert changed.command[:-2] != plain.command[:-2]


def test_another_batsim_is_another_run_and_another_limit_is_not(tmp_path: Path, log: Path) -> None:
    """A program is known by its content: a new version in the same place is not the old one."""
    program = tmp_path / "batsim"
    folders = set()
    for text in ("#!/bin/sh\n", "#!/bin/sh\nexit 1\n"):
        program.write_text(text)
        program.chmod(0o755)
        identity._batsim.cache_clear()
        for limit in (None, "run=5"):
            settings = {"backend": "batsim", "batsim": str(program), "timeouts": limit}
            run = prepared(log, tmp_path, **settings)
            assert ("--timeouts" in run.command) is (limit is not None)
            folders.add(run.folder)
    assert len(folders) == 2


def test_a_batsim_that_cannot_be_run_is_found_before_any_run(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(FILE)
    for arguments, said in (
        (["--backend", "batzim"], "did you mean 'batsim'"),
        (["--backend", "batsim", "--batsim", "/no/such/batsim"], "/no/such/batsim"),
        (["--backend", "socket", "--timeouts", "run=never"], "expected NAME=SECONDS"),
    ):
        done = campaign(tmp_path, *arguments)
        assert done.returncode == 2
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.glob("out/runs/*"))


def test_the_same_campaign_over_a_socket_gives_the_same_schedules(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(FILE)
    tables = []
    for backend in ("embedded", "socket"):
        done = campaign(tmp_path, "--backend", backend, "-e", str(tmp_path / backend))
        assert done.returncode == 0, done.stderr
        tables.append(
            sorted(path.read_text() for path in tmp_path.glob(f"{backend}/runs/*/out_jobs.csv"))
        )
    assert tables[0] == tables[1]
    assert len(tables[0]) == 2


def test_names_change_with_the_content_of_files(tmp_path: Path, log: Path) -> None:
    plugin = tmp_path / "policy.py"
    helper = tmp_path / "helper.py"
    names = []
    for path, text in ((plugin, POLICY), (plugin, POLICY + "\n"), (helper, "x = 1")):
        path.write_text(text)
        names.append(prepared(log, tmp_path, scheduler=f"{plugin}:P").folder)
    log.write_text(LOG.replace(" 20 ", " 30 "))
    names.append(prepared(log, tmp_path, scheduler=f"{plugin}:P").folder)
    assert len(set(names)) == 4


def test_names_change_with_the_files_that_a_population_names(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plug-in beside it and a folder of distributions are part of what is simulated."""
    population = tmp_path / "population.toml"
    population.write_text(
        '[[member]]\nmodel = "mine.py:Mine"\nrest = true\n'
        f'[[member]]\nmodel = "site"\noptions = {{ distributions = "{tmp_path}/site" }}\n'
    )
    (tmp_path / "site").mkdir()
    settings = {"users": "population", "user_options": {"file": str(population)}}
    names = []
    for file in ("mine.py", "site/sizes.json", "other.txt"):
        (tmp_path / file).write_text("1")
        names.append(prepared(log, tmp_path, **settings).folder)
    assert len(set(names)) == 2
    assert names[1] == names[2]
    monkeypatch.chdir(tmp_path / "site")  # a plug-in of the same name is not the one beside it
    Path("mine.py").write_text("2")
    (tmp_path / "mine.py").write_text("3")
    assert prepared(log, tmp_path, **settings).folder not in names


def test_names_change_with_the_data_that_ship(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters of user models determine what is simulated, as the code does."""
    read: list[str] = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(str(path)) or read_bytes(path))
    identity.code_digest.cache_clear()
    identity.code_digest()
    assert any(path.endswith("users/batsched_users/data/weekly.json") for path in read)
    assert any(path.endswith("users/batsched_users/data/site/sizes.json") for path in read)
    assert any(path.endswith("users/batsched_users/sessions/feedback_engine.py") for path in read)


@pytest.mark.parametrize("text", ["x" * 5000, "a\0b", "each"])
def test_a_text_that_is_no_path_is_a_text(tmp_path: Path, log: Path, text: str) -> None:
    (tmp_path / "p.py").write_text(POLICY)
    plugin = f"{tmp_path}/p.py:P"
    assert prepared(log, tmp_path, scheduler=plugin, scheduler_options={"x": text}).folder


def test_a_text_that_looks_like_a_number_stays_a_text(tmp_path: Path, log: Path) -> None:
    (tmp_path / "p.py").write_text(POLICY)
    options = {"a": "1", "b": 1, "c": "x"}
    plugin = f"{tmp_path}/p.py:P"
    command = prepared(log, tmp_path, scheduler=plugin, scheduler_options=options).command
    given = [command[i + 1] for i, word in enumerate(command) if word == "-O"]
    assert parse_options(given, "-O") == {"a": "1", "b": 1, "c": "x"}


def test_a_run_planned_twice_is_one_run(tmp_path: Path) -> None:
    """Two variants that say the same are one simulation and two rows of the results."""
    text = FILE.replace('scheduler = ["easy", "fcfs"]', 'replay = ["one", "other"]')
    (tmp_path / "test.toml").write_text(text + "[replay.one]\n[replay.other]\n")
    done = campaign(tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(results(tmp_path)) == 1
    rows = (tmp_path / "out" / "results.csv").read_text().splitlines()
    assert [row.split(",").count("other") for row in rows] == [0, 0, 1]


def test_a_folder_that_cannot_be_made_fails_that_run_only(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(FILE)
    assert campaign(tmp_path).returncode == 0
    folder = next(tmp_path.glob("out/runs/*fcfs*"))
    shutil.rmtree(folder)
    folder.write_text("in the way")
    done = campaign(tmp_path)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "1 of 2 runs failed" in done.stderr


@pytest.mark.parametrize("jobs", ["0", "-1"])
def test_number_of_jobs(tmp_path: Path, jobs: str) -> None:
    (tmp_path / "test.toml").write_text(FILE)
    done = campaign(tmp_path, "--jobs", jobs)
    assert done.returncode == 2
    assert "at least 1" in done.stderr


@pytest.mark.parametrize("name", ["out_run.json", "out_jobs.csv"])
def test_a_run_whose_files_were_damaged_runs_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "test.toml").write_text(FILE)
    campaign(tmp_path)
    next(tmp_path.glob(f"out/runs/*fcfs*/{name}")).write_text("")
    again = campaign(tmp_path)
    assert again.returncode == 0, again.stderr
    assert "2 runs, 1 of them done before" in again.stderr
