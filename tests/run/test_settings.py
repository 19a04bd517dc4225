"""One schema of settings: keywords, options, keys and other processes' arguments are made of it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from batsched_py import simulate
from batsched_py.commands.simulate import simulate as simulate_command
from batsched_py.errors import UsageError
from batsched_py.options.budgets import Budgets
from batsched_py.options.setting_fields import arguments
from batsched_py.run.settings import SETTINGS, SINGLE_RULES, Settings
from batsched_py.run.stored_values import Run, Timeouts
from batsched_py.workload.conversion_rules import make_rules
from helpers.calling import command
from helpers.partitions import entry, partition

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
    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(fields)
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
    ({"backend": "socket", "batsim": "batsim"}, "means nothing"),
    ({"backend": "batsim", "shake": 1}, "nothing else to shake"),
    ({"backend": "socket", "timeouts": Timeouts(run=0)}, "run = 0"),
    # machines
    ({**MACHINE, "nodes": 4}, "machine and nodes both say"),
    ({**MACHINE, "sites": "4x8"}, "partitions or sites"),
    ({"machine": "nowhere.toml"}, "machine nowhere.toml"),
    ({**MACHINE, "node_factor": 0.01}, "leaves no node"),
    ({**MACHINE, "node_factor": -1.0}, "expected a positive number"),
    ({**MACHINE, "max_walltime": 0}, "expected over 0 s"),
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
    with pytest.raises(UsageError, match="neither nodes"):
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
