"""What the command line says of itself: in groups, nothing cut, without importing what it names."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from batsched_py import BatschedError, find_log, load_workload, make_rules
from batsched_py.cli import COMMANDS, GROUPS, PLACES, app
from batsched_py.plugins import plugins
from batsched_py.plugins.plugin_descriptions import find_description, find_object_description
from batsched_py.plugins.plugin_options import describe_options
from batsched_py.run.settings import SETTINGS
from batsched_py.support.installation import find_entry_points
from helpers.calling import command
from helpers.campaigns import in_this_process

LIBRARIES = {"altair", "asyncio", "jinja2", "numpy", "pandas", "rich", "zmq"}
WORK = {
    "batsched_py.campaign.run_campaign",
    "batsched_py.decision_process",
    "batsched_py.simulator.engine",
}
OURS = [EntryPoint(name, place, COMMANDS) for name, place in PLACES.items()]


def test_the_commands_stand_in_groups_and_are_not_cut() -> None:
    shown = command(None, "--help").stdout
    for heading, names in GROUPS.items():
        section = shown.partition(f"{heading}:\n")[2].partition("\n\n")[0]
        told = {line.split()[0] for line in section.splitlines() if not line.startswith(" " * 4)}
        assert told == set(names)
    named = sorted(sum(GROUPS.values(), ()))
    assert named == sorted({*PLACES, *find_entry_points(COMMANDS)})
    assert "..." not in shown.partition("Start here")[2]


TESTED = (
    *("simulate", "list", "report", "metrics", "compare", "calibrate"),
    *("explain", "info", "convert", "optimum", "campaign"),
)
EXAMPLES = [
    shlex.split(line)[1:]
    for name in TESTED
    for line in get_command(app).get_command(None, name).examples
]


def test_the_examples_of_the_help_run(tmp_path: Path) -> None:
    """In this order, in one folder; of campaigns only the runs are shown."""
    for arguments in EXAMPLES:
        if "--quick" not in arguments:
            with in_this_process():
                done = command(tmp_path, *arguments)
            assert done.returncode == 0, (arguments, done.stderr)


def test_a_command_with_a_typo_gets_a_suggestion() -> None:
    ended = command(None, "campaing")
    assert ended.returncode == 2
    assert "'campaign'" in ended.stderr


def test_every_setting_of_a_simulation_is_under_its_heading() -> None:
    shown = command(None, "simulate", "--help").stdout
    for field in SETTINGS.values():
        section = shown.partition(f"\n{field.setting.group}:\n")[2].partition("\n\n")[0]
        assert f"{field.flags[0]} " in section or f"{field.flags[0]}," in section, field.name


@pytest.mark.parametrize(
    "entry",
    [
        *OURS,
        *(
            entry
            for group in (COMMANDS, plugins.SCHEDULERS, plugins.USERS)
            for entry in find_entry_points(group).values()
        ),
    ],
    ids=lambda entry: entry.name,
)
def test_what_is_read_from_the_source_is_what_the_object_says(entry: EntryPoint) -> None:
    loaded = entry.load()
    if isinstance(loaded, typer.Typer) and not isinstance(loaded.info.help, str):
        loaded = loaded.registered_commands[0].callback  # it has one command, and is that
    assert find_description(entry) == find_object_description(loaded) != ""


def test_what_cannot_be_read_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere.py").write_text(
        'class Mine:\n    """Starts\n    nothing.\n\n    Ever."""\n'
    )
    (tmp_path / "here.py").write_text("from elsewhere import Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_description(EntryPoint("mine", "here:Mine", "group")) == "Starts nothing."
    with pytest.raises(ModuleNotFoundError):
        find_description(EntryPoint("mine", "nowhere.at_all:Mine", "group"))


def loaded_by(code: str, *arguments: str) -> set[str]:
    """Return the modules that a process has imported at its end."""
    program = f"import atexit, sys\natexit.register(lambda: print(*sys.modules))\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "work"),
    [
        ("list", LIBRARIES | WORK | {"batsched_py.run"}),
        ("info sample", LIBRARIES - {"numpy"} | WORK | {"importlib.metadata"}),
    ],
)
def test_small_commands_import_little(line: str, work: set[str]) -> None:
    loaded = loaded_by("from batsched_py.__main__ import main\nmain()", *line.split())
    assert "typer" in loaded
    assert not work & loaded


@pytest.mark.process
def test_modules_are_imported_when_they_are_needed() -> None:
    """So that neither the help of a command waits for its work, nor a mistake in its options."""
    modules = {entry.module for entry in [*OURS, *find_entry_points(COMMANDS).values()]}
    loaded = loaded_by(f"import {', '.join(sorted(modules))}")
    assert modules <= loaded
    assert not (LIBRARIES | WORK | {"importlib.metadata"}) & loaded
    assert "msgspec" not in loaded_by("import batsched_py")


@pytest.mark.process
def test_the_end_is_told_in_a_line_while_the_command_line_is_imported(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    done = subprocess.run(
        [sys.executable, "-m", "batsched_py", "list"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 130
    assert done.stderr == "batsched-py: error: interrupted\n"


def test_list_shows_the_options_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And numpy has one thread unless the user says more."""
    (tmp_path / "mine.py").write_text(
        "import os\nclass Mine:\n    def __init__(self, *, share=0.5, must: int = 1):\n"
        "        raise ValueError(os.environ['OPENBLAS_NUM_THREADS'] + ' threads')\n"
        "    def schedule(self, now, queue, machine): ...\n"
    )
    own = command(tmp_path, "list", "mine.py:Mine").stdout
    assert "  must\n      Allowed: a whole number. Default: 1.\n" in own
    assert "-O OPTION=VALUE" in own
    assert "-U OPTION=VALUE" in command(None, "list", "feedback").stdout
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    for nb_threads in ("1", "3"):
        ended = command(tmp_path, "simulate", "sample", "--scheduler", "mine.py:Mine")
        assert f"{nb_threads} threads" in ended.stderr
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")


PLUG_INS = [
    (group, name)
    for group in (plugins.SCHEDULERS, plugins.USERS)
    for name in plugins.list_names(group)
]
WORKLOAD = load_workload(find_log("sample"), make_rules("default"))
SHORT_LOG = {"edge_weeks": 1, "long_weeks": 3}
ALSO_NEEDED = {
    "feedback": {"resampled": True} | SHORT_LOG,
    "population": {"file": "members.toml"},
    "resampled": SHORT_LOG,
    "sufficient": {"signal": "16:00-20:00"},
    "tbuos": SHORT_LOG,
}
BOUNDS = re.compile(r"(?:at least|from) (-?[\d.e-]+)(?: to ([\d.e-]+))?$")


def fault_of(group: str, name: str, **options: Any) -> str:
    """Return why a plug-in cannot be made with options, ``""`` if it can."""
    plugin = plugins.load(group, name)
    options = ALSO_NEEDED.get(name, {}) | options
    try:
        if group == plugins.SCHEDULERS:
            plugins.make(plugin, name, (), options)
        else:
            plugins.make_users(plugin, name, WORKLOAD, options, 0)
    except BatschedError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("group", "name"), PLUG_INS, ids=lambda part: part)
def test_every_option_of_a_plug_in_is_described(
    group: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a sentence, with the values that it takes and no others."""
    monkeypatch.chdir(tmp_path)
    Path("members.toml").write_text('[[member]]\nmodel = "rigid"\nrest = true\n')
    for option in describe_options(plugins.load(group, name)):
        assert re.match(r"[A-Z].*\.$", option.meaning), option
        assert option.values, option
        values = option.values.removeprefix("one of ")
        if values != option.values:
            fault = fault_of(group, name, **{option.name: "no-such-value"})
            assert f"expected one of {values}" in fault, option
        elif bounds := BOUNDS.search(values):
            for bound, beyond in zip(bounds.groups(), (-1, 1), strict=True):
                if bound is not None:
                    fault = fault_of(group, name, **{option.name: float(bound) + beyond})
                    assert f"{option.name}=" in fault, option
