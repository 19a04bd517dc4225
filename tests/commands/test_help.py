"""What the command line says of itself: in groups, nothing cut, without importing what it names."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
import typer

from batsched_py.cli import COMMANDS, GROUPS
from batsched_py.run.settings import SETTINGS
from batsched_py.support import plugins
from batsched_py.support.plugin_descriptions import description, description_of_object
from helpers.calling import command

HEAVY = {"numpy", "pandas", "rich", "altair", "jinja2", "batsched_py.simulator"}


def test_the_commands_stand_in_groups_and_are_not_cut() -> None:
    shown = command(None, "--help").stdout
    for heading, names in GROUPS.items():
        section = shown.partition(f"{heading}:\n")[2].partition("\n\n")[0]
        told = {line.split()[0] for line in section.splitlines() if not line.startswith(" " * 4)}
        assert told == set(names)
    assert sorted(sum(GROUPS.values(), ())) == sorted(e.name for e in entry_points(group=COMMANDS))
    assert "..." not in shown.partition("Start here")[2]


@pytest.mark.parametrize("group", ["users", "logs"])
def test_subcommands_are_not_cut(group: str) -> None:
    assert "..." not in command(None, group, "--help").stdout.partition("Commands:")[2].replace(
        "LOG...", ""
    ).replace("INPUT...", "")


def test_every_setting_of_a_simulation_is_under_its_heading() -> None:
    shown = command(None, "simulate", "--help").stdout
    for field in SETTINGS.values():
        section = shown.partition(f"\n{field.setting.group}:\n")[2].partition("\n\n")[0]
        assert f"{field.flags[0]} " in section or f"{field.flags[0]}," in section, field.name


@pytest.mark.parametrize(
    "entry",
    [e for g in (COMMANDS, plugins.SCHEDULERS, plugins.USERS) for e in entry_points(group=g)],
    ids=lambda entry: entry.name,
)
def test_what_is_read_from_the_source_is_what_the_object_says(entry: EntryPoint) -> None:
    loaded = entry.load()
    if isinstance(loaded, typer.Typer) and not isinstance(loaded.info.help, str):
        loaded = loaded.registered_commands[0].callback  # it has one command, and is that
    assert description(entry) == description_of_object(loaded) != ""


def test_what_cannot_be_read_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere.py").write_text(
        'class Mine:\n    """Starts\n    nothing.\n\n    Ever."""\n'
    )
    (tmp_path / "here.py").write_text("from elsewhere import Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert description(EntryPoint("mine", "here:Mine", "group")) == "Starts nothing."
    with pytest.raises(ModuleNotFoundError):
        description(EntryPoint("mine", "nowhere.at_all:Mine", "group"))


@pytest.mark.process
@pytest.mark.parametrize("line", ["--help", "list", "simulate --help"])
def test_help_imports_late(line: str) -> None:
    code = f"""
import atexit, sys
from batsched_py.cli import main
atexit.register(lambda: print("loaded", *{HEAVY} & sys.modules.keys()))
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *line.split()], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "loaded"


def test_list_shows_the_options_of_one(tmp_path: Path) -> None:
    shown = command(None, "list", "easy").stdout
    assert "backfill_order  null     str | None" in shown
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def __init__(self, *, share=0.5, must: int): ...\n"
        "    def schedule(self, now, queue, machine): ...\n"
    )
    own = command(tmp_path, "list", "mine.py:Mine").stdout
    assert "must    must be given  int" in own
    assert "-O OPTION=VALUE" in own
    assert "-U OPTION=VALUE" in command(None, "list", "feedback").stdout
    assert "recorded time" in command(None, "list", "rigid").stdout
    assert "did you mean 'easy'" in command(None, "list", "esay").stderr
