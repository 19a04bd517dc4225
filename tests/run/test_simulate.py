"""One simulation as a user runs it: settings, options, files, errors, determinism."""

from __future__ import annotations

import csv
import hashlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from batsched_py import simulate
from batsched_py.commands.simulate import simulate as simulate_command
from batsched_py.errors import InvariantError, UsageError
from batsched_py.options.budgets import Budgets
from batsched_py.options.setting_fields import arguments, parse_options
from batsched_py.run.resolved_run import resolve
from batsched_py.run.settings import SETTINGS, SINGLE_RULES, Settings
from batsched_py.run.simulate import execute, verify
from batsched_py.run.stored_values import Run, Timeouts
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from helpers.calling import command
from helpers.logs import swf_line, swf_text
from helpers.partitions import entry, partition
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


# Settings ----------------------------------------------------------------------------------------


ROOT = Path(__file__).parents[2]
PROGRAM = {"scheduler_command", "scheduler_protocol", "scheduler_registers"}
SUGAR = {"log", "sessions", *SINGLE_RULES, *PROGRAM}
"""Settings that come to something else: see :meth:`Settings.run`."""


def test_every_setting_is_everywhere() -> None:
    """The fields, the keywords of simulate, the options, the stored run and the page of docs."""
    fields = list(Settings.__struct_fields__)
    keywords = [*inspect.signature(simulate).parameters]
    assert keywords == ["source", *fields[1:], "folder", "record", "progress"]
    app = typer.Typer()
    app.command()(simulate_command)
    options = {option.name for option in typer.main.get_command(app).params}
    assert set(SETTINGS) == set(fields) - {"log"} <= options
    assert set(Run.__struct_fields__) == set(fields) - SUGAR
    page = (ROOT / "docs" / "reference" / "options.md").read_text()
    rows = re.findall(r"^\|(`-.*?`)\|", page, re.MULTILINE)
    flags = [", ".join(f"`{flag}`" for flag in field.flags) for field in SETTINGS.values()]
    assert sorted(rows) == sorted(flags)
    with pytest.raises(UsageError, match="first argument"):
        simulate("sample", log="KTH-SP2-1996-2")


def test_what_is_given_and_what_it_comes_to_have_the_same_defaults() -> None:
    assert Settings().run() == Run()


class NoPolicy:
    """Has nothing."""


def users(name: str, **options: Any) -> dict[str, Any]:
    return {"users": name, "user_options": options}


SHORT = {"long_weeks": 3, "edge_weeks": 1}
MACHINE = {"machine": "m.toml"}
WRONG: list[tuple[dict[str, Any], str]] = [
    # another type
    ({"nodes": "64"}, "^nodes '64': expected"),
    ({"nodes": 64.5}, "^nodes 64.5: expected"),
    ({"seed": True}, "^seed True: expected"),
    ({"each_event": 1}, "^each_event 1: expected"),
    ({"user_options": "patience=3"}, "^user_options 'patience=3': expected"),
    ({"rules": 3}, "^rules 3: expected"),
    # refused before memory is taken
    ({"node_factor": 1e12}, "node_factor 1000000000000.0"),
    ({"speed_factor": 1e300}, r"speed_factor 1e\+300: expected"),
    ({"sites": "1000x999999999"}, "1000000 processors"),
    ({"sites": "4x16@1e-300"}, "a speed of 1e-300"),
    ({"seed": 10**5000}, "seed of 16610 bits: expected"),
    ({"warm_up": 1e300}, "no job"),
    (users("weekly", nb_users=10**9), "nb_users=.* from 1 to 100000"),
    (users("weekly", nb_users=10**5, weeks=9999), "more than 1e.07 weeks"),
    (users("synthetic", per_decade=1e300), "per_decade="),
    (users("resampled", load=1e5, n_long=1e5, rate=0, **SHORT), "load="),
    (users("tbuos", long_weeks=1e9), "long_weeks="),
    # budgets
    ({"budgets": "calls=5"}, "no .calls."),
    ({"budgets": "jobs=many"}, "jobs = .many."),
    ({"budgets": Budgets(jobs="5")}, "jobs = '5'"),  # type: ignore[arg-type]
    ({"budgets": "decisions=0.5"}, "decisions = 0.5"),
    ({"budgets": 5}, "budgets 5"),
    # back ends
    ({"backend": "batzim"}, "did you mean 'batsim'"),
    ({"backend": "batsim", "batsim": "/no/such/batsim"}, "there is no program"),
    ({"backend": "batsim", "batsim": "'"}, "No closing quotation"),
    ({"backend": "socket", "batsim": "batsim"}, "has no effect"),
    ({"backend": "batsim", "shake": 1}, "can be shuffled"),
    ({"backend": "socket", "timeouts": Timeouts(run=0)}, "run = 0"),
    # machines
    ({**MACHINE, "nodes": 4}, "machine and nodes both set"),
    ({**MACHINE, "sites": "4x8"}, "partitions or grid sites"),
    ({"machine": "nowhere.toml"}, "machine nowhere.toml"),
    ({**MACHINE, "node_factor": 0.01}, "leaves no node"),
    ({**MACHINE, "node_factor": -1.0}, "expected a positive number"),
    ({**MACHINE, "max_walltime": 0}, "max_walltime 0: expected a number, above 0"),
    ({**MACHINE, "max_walltime": "a day"}, "expected a time"),
    ({"max_walltime": 60}, "give machine"),
    ({**MACHINE, "scheduler": "grid"}, "places jobs on sites"),
    # policies
    ({"scheduler": NoPolicy}, "no method 'schedule'"),
    ({"scheduler": NoPolicy()}, "expected a name"),
    ({"scheduler": lambda: None}, "returned None"),
    ({"scheduler": lambda: NoPolicy}, "expected an instance"),
    ({"scheduler": lambda *, depth: NoPolicy()}, "needs the option 'depth'"),
]


@pytest.mark.parametrize(("given", "expected"), WRONG)
def test_what_makes_no_sense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text(entry("nodes", count=8, cores=4) + partition("batch", "0-5"))
    with pytest.raises(UsageError, match=expected):
        simulate("sample", **given)


def test_half_of_the_machine() -> None:
    half = simulate("sample", node_factor=0.5, first=20)
    assert half.settings["run"]["nodes"] == 32
    assert half.jobs_csv() == simulate("sample", nodes=32, first=20).jobs_csv()
    with pytest.raises(UsageError, match="without nodes"):
        simulate("sample", node_factor=0.5, nodes=3)


def test_sugar_comes_to_the_same() -> None:
    """Texts as in a file, values as in Python."""
    texts = Settings(
        users="feedback", sessions="arrival:60", walltime="exact", warm_up="1 h", timeouts="run=5"
    )
    values = Settings(
        users="feedback",
        user_options={"sessions": "arrival:60"},
        rules=make_rules(walltime="exact"),
        warm_up=3600,
        timeouts=Settings(timeouts="run=5").run().timeouts,
    )
    assert texts.run() == values.run()
    with pytest.raises(UsageError, match="give one"):
        msgspec.structs.replace(values, sessions="max:20").run()


def test_another_process_is_given_the_same() -> None:
    given = {"seed": 3, "shake": None, "each_event": True, "user_options": {"a": "1", "b": "x"}}
    assert arguments(SETTINGS, given) == ["--seed", "3", "--each-event", "-U", 'a="1"', "-U", "b=x"]
    assert arguments(SETTINGS, given, as_json=True)[-1] == 'b="x"'


@pytest.mark.parametrize(
    ("keywords", "options", "template"),
    [
        ({"nodes": -1}, ["--nodes", "-1"], "{} -1: expected"),
        ({"sessions": "max:20"}, ["--sessions", "max:20"], "choose users by {}"),
        ({"walltime": "doubel"}, ["--walltime", "doubel"], "{} 'doubel'"),
    ],
)
def test_errors_name_the_parameter_and_the_command_line_its_flag(
    keywords: dict[str, Any], options: list[str], template: str
) -> None:
    (name,) = keywords if "sessions" not in keywords else ["users"]
    with pytest.raises(UsageError) as caught:
        simulate("sample", **keywords)
    assert template.format(name) in str(caught.value)
    assert "--" not in str(caught.value)
    done = command(None, "simulate", "sample", *options)
    assert template.format(f"--{name.replace('_', '-')}") in done.stderr


def test_what_differs_with_messages_is_an_error() -> None:
    """Here since another policy takes the place of the direct simulation."""
    resolved = resolve(Settings(log="sample", first=200, users="feedback"))
    verify(resolved, execute(resolved))
    other = execute(resolved.with_policy("fcfs", {}))
    with pytest.raises(InvariantError, match=r"_jobs\.csv differs in line \d+"):
        verify(resolved, other)
