"""One schema of settings: keywords, options, keys and other processes' arguments are made of it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import typer

from batsched_py import simulate
from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.commands.simulate import simulate as simulate_command
from batsched_py.errors import UsageError, parameter
from batsched_py.options.setting_fields import arguments
from batsched_py.run.settings import SETTINGS, SINGLE_RULES, Settings
from batsched_py.run.stored_values import Run
from batsched_py.workload.conversion_rules import make_rules
from helpers.calling import command

ROOT = Path(__file__).parents[2]
SUGAR = {"log", "sessions", *SINGLE_RULES}
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
    page = (ROOT / "docs" / "settings.md").read_text().partition("## Exit codes")[0]
    groups: dict[str | None, list[str]] = {}
    for name, field in SETTINGS.items():
        groups.setdefault(field.setting.group, []).append(name)
    listed = re.findall(r"^(?:## (.+)|\| `(\w+)` \|.*)$", page, re.MULTILINE)
    in_groups = [(group, name) for group, names in groups.items() for name in ("", *names)]
    expected = [("", name) if name else (group, "") for group, name in in_groups]
    assert listed == [("", "log"), *expected]


def test_what_is_given_and_what_it_comes_to_have_the_same_defaults() -> None:
    assert Settings().run() == Run()


@pytest.mark.parametrize(
    "line", ["each_event = [false, true]", "node_factor = [0.5, 2.0]", 'warm_up = ["1 h", "2 h"]']
)
def test_a_campaign_varies_every_setting(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.toml").write_text(f"[run]\n{line}\n")
    runs = read_campaign(tmp_path / "x.toml").runs
    name = line.split()[0]
    assert len({str(getattr(run.settings, name)) for run in runs}) == 2


def test_the_log_is_the_first_argument() -> None:
    with pytest.raises(UsageError, match="first argument"):
        simulate("sample", log="KTH-SP2-1996-2")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"nodes": "64"}, "nodes '64': expected a whole number"),
        ({"nodes": 64.5}, "nodes 64.5: expected a whole number"),
        ({"seed": "x"}, "seed 'x': expected a whole number"),
        ({"seed": True}, "seed True: expected a whole number"),
        ({"speed_factor": "2"}, "speed_factor '2': expected a number"),
        ({"node_factor": "2"}, "node_factor '2': expected a number"),
        ({"sites": 4}, "sites 4: expected a text"),
        ({"each_event": 1}, "each_event 1: expected true or false"),
        ({"user_options": "patience=3"}, "user_options 'patience=3': expected names and values"),
        ({"rules": 3}, "rules 3: expected"),
        ({"timeouts": 3}, "timeouts 3: expected"),
    ],
)
def test_another_type_is_refused(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(expected)}"):
        simulate("sample", first=5, **given)


def test_numbers_of_numpy_are_stored_as_pythons() -> None:
    numbers = simulate("sample", first=np.int64(5), nodes=64.0, speed_factor=np.float32(2))
    assert numbers.run_json()
    assert str(numbers.settings["run"]["nodes"]) == "64"


def test_a_mistyped_keyword() -> None:
    with pytest.raises(TypeError, match=r"'schedular'.*did you mean 'scheduler'"):
        simulate("sample", schedular="easy")  # type: ignore[call-arg]


def test_half_of_the_machine() -> None:
    half = simulate("sample", node_factor=0.5, first=20)
    assert half.settings["run"]["nodes"] == 32
    assert half.jobs_csv() == simulate("sample", nodes=32, first=20).jobs_csv()
    with pytest.raises(UsageError, match="neither nodes nor platform"):
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
    with pytest.raises(UsageError, match="give one of them"):
        msgspec.structs.replace(values, sessions="max:20").run()


def test_another_process_is_given_the_same() -> None:
    given = {"seed": 3, "shake": None, "each_event": True, "user_options": {"a": "1", "b": "x"}}
    assert arguments(SETTINGS, given) == ["--seed", "3", "--each-event", "-U", 'a="1"', "-U", "b=x"]
    assert arguments(SETTINGS, given, as_json=True)[-1] == 'b="x"'


@pytest.mark.parametrize(
    ("keywords", "options", "template"),
    [
        ({"nodes": -1}, ["--nodes", "-1"], "{} -1: expected at least 1"),
        ({"speed_factor": 0.0}, ["--speed-factor", "0"], "{} 0.0: expected a positive number"),
        ({"node_factor": inf}, ["--node-factor", "inf"], "{} inf: expected a positive number"),
        ({"sessions": "max:20"}, ["--sessions", "max:20"], "choose users by {}"),
        ({"walltime": "doubel"}, ["--walltime", "doubel"], "{} 'doubel' (did you mean 'double'?)"),
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


def test_a_parameter_of_another_name_is_shown_as_the_option_that_it_is() -> None:
    """Batsim's options have Batsim's names."""
    done = command(None, "simulator", "-p", "x.xml", "--enable-profile-reuse")
    assert "--enable-profile-reuse means nothing without --enable-dynamic-jobs" in done.stderr


def test_an_error_tells_its_parameters() -> None:
    error = UsageError(f"{parameter('nodes')} and {parameter('platform')}: give one")
    assert error.parameters == ["nodes", "platform"]
    assert str(error) == f"{error}" == "nodes and platform: give one"


FLAG = re.compile(r"(?<![\w`'\"-])(?:--[a-z][\w-]+|-[a-zA-Z](?!\w)(?!$))")
QUOTED = re.compile(r"`(?:batsched-py|docker) [^`]*`")
OTHERS = {"--always", "--dirty", "--abbrev", "--energy", "--enable-redis", "--enable-dynamic-jobs"}
OTHERS |= {"-p", "-s", "-w", "-O", "-m", "--parsable2", "--noheader", "--delimiter", "--format"}
OTHERS |= {"--json", "--allow-time-sharing", "--enable-compute-sharing"}
"""Options that Batsim has to be started with, git's, the shell's in a script, and sacct's."""
SCHEMAS = {"batsched_py/run/settings.py", "batsched_py/simulator/options.py"}
SCHEMAS |= {"batsched_py/campaign/campaign_options.py", "batsched_py/accounting/import_options.py"}
SCHEMAS |= {
    "batsched_py/campaign/workers/cluster.py",  # an option of dask
    "batsched_py/campaign/collection.py",  # a whole command
    "batsched_py/report/campaign_report.py",  # so is this
}


def flags_in(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    is_of_commands = str(path.relative_to(ROOT)) in SCHEMAS or "backends" in path.parts
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if id(node) in docstrings or (is_of_commands and " " not in node.value.strip()):
            continue
        for flag in set(FLAG.findall(QUOTED.sub("", node.value))) - OTHERS:
            yield f"{path}:{node.lineno}: {flag}"


def test_the_library_speaks_of_no_flag() -> None:
    """Commands that are quoted or run as a whole do, and what is Batsim's."""
    places = [ROOT / folder for folder in ("batsched_py", "users/batsched_users")]
    library = [
        path
        for place in places
        for path in place.rglob("*.py")
        if "commands" not in path.parts and path.name != "cli.py"
    ]
    assert [flag for path in library for flag in flags_in(path)] == []
