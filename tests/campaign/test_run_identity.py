"""What a finished run is known by: its settings, the content of its files, and the code."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import grimp
import pytest

from batsched_py.campaign import run_identity as identity
from batsched_py.campaign.campaign_file import Campaign, PlannedRun
from batsched_py.campaign.preparation import prepare
from batsched_py.campaign.run_identity import find_determining_code
from batsched_py.options.setting_fields import parse_options
from batsched_py.run.settings import Settings
from batsched_py.simulator.platform.platform_writer import make_homogeneous_xml
from helpers.logs import swf_text

ROOT = Path(__file__).parents[2]
FOLDERS = {"batsched_py": ROOT, "batsched_users": ROOT / "users"}
PLUGINS = ("batsched_py.schedulers.", "batsched_users.models.")


def file_of(module: str) -> Path:
    path = FOLDERS[module.partition(".")[0]].joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_all_that_a_simulation_imports_determines_it() -> None:
    graph = grimp.build_graph(
        *FOLDERS,
        exclude_type_checking_imports=True,
        cache_dir=None,
        include_external_packages=False,
    )
    plugins = [module for module in graph.modules if module.startswith(PLUGINS)]
    imported = {"batsched_py.run.simulate", *plugins}
    left = list(imported)
    while left:
        new = graph.find_modules_directly_imported_by(left.pop()) - imported
        imported |= new
        left += new
    assert "batsched_py.simulator.engine" in imported
    determining = set(find_determining_code())
    assert {file_of(module) for module in imported} - determining == set()
    for file in (
        "batsched_py/campaign/run_task.py",
        "batsched_py/metrics/waiting.py",
        "users/batsched_users/data/weekly.json",  # parameters are as good as code
        "users/batsched_users/data/site/sizes.json",
    ):
        assert ROOT / file in determining
    for file in (
        "batsched_py/accounting/systems/slurm.py",
        "batsched_py/campaign/preparation.py",
        "batsched_py/report/document.py",
        "users/batsched_users/commands/users.py",
    ):
        assert (ROOT / file).is_file()
        assert ROOT / file not in determining


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
    "machine": "m.toml",
    "max_walltime": "1 h",
    "nodes": 3,
    "node_factor": 2.0,
    "gpu_node_factor": 2.0,
    "whole_nodes": True,
    "max_gpus_per_user": 4,
    "sites": "2x2",
    "speed_factor": 2.0,
    "rules": "dynp",
    "size": "allocated",
    "walltime": "exact",
    "least_walltime": 5,
    "runtime": "recorded",
    "drop": "no-user",
    "unknown_user": "each",
    "profile": "delay",
    "keep": "group",
    "without_users": "1",
    "span_from": 0.5,
    "span_until": "1 week",
    "job_numbers": "1-9",
    "first": 1,
    "homes": "group",
    "split": 2,
    "withdrawn": "impute",
    "impute_seed": 1,
    "skip_bad_lines": True,
    "seed": 1,
    "shake": 0,
    "each_event": True,
    "end_delay": 0.5,
    "warm_up": "1 h",
    "cool_down": "60",
    "backend": "socket",
    "power": "idle_watts=95",
    "shutdown": "idle_time=60",
    "scheduler_command": "mine",
    "scheduler_protocol": 5,
    "scheduler_registers": True,
}


NEEDED = {
    "scheduler_protocol": {"scheduler_command": "mine"},
    "scheduler_registers": {"scheduler_command": "mine"},
    "sessions": {"users": "feedback"},
    "user_options": {"users": "feedback"},
    "homes": {"sites": "2x2"},
    "impute_seed": {"withdrawn": "impute"},
    "max_walltime": {"machine": "m.toml"},
    "gpu_node_factor": {"machine": "m.toml"},
    "whole_nodes": {"machine": "m.toml"},
    "max_gpus_per_user": {"machine": "m.toml"},
}
"""What a setting means nothing without."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("x.swf").write_text(swf_text())
    Path("m.toml").write_text("[[nodes]]\ncount = 4\ngpus = 1\n")
    Path("policy.py").write_text(POLICY)
    return tmp_path


def prepared(**settings: Any) -> Any:
    planned = PlannedRun({}, Settings(log="x.swf", **settings))
    (run,) = prepare(Campaign(name="x", path=Path("x.toml"), runs=[planned]), Path())
    return run


@pytest.mark.parametrize("setting", CHANGED)
def test_every_setting_reaches_the_command_and_the_name(setting: str) -> None:
    Path("p.xml").write_text("<platform/>")
    needed = NEEDED.get(setting, {})
    plain = prepared(**needed)
    changed = prepared(**needed, **{setting: CHANGED[setting]})
    assert changed.folder != plain.folder
    assert changed.command[:-2] != plain.command[:-2]
    # batsim is tried with its back end below; limits and a log do not change what a run gives
    outside = {"batsim", "batsim_log", "timeouts", "budgets"}
    assert set(CHANGED) == set(Settings.__struct_fields__) - {"log"} - outside


def test_another_batsim_is_another_run_and_another_limit_or_log_is_not(folder: Path) -> None:
    """A program is known by its content: a new version in the same place is not the old one."""
    program = folder / "batsim"
    folders = set()
    limits = {"timeouts": "run=5", "budgets": "messages=5", "batsim_log": True}
    for text in ("#!/bin/sh\n", "#!/bin/sh\nexit 1\n"):
        program.write_text(text)
        program.chmod(0o755)
        identity._batsim.cache_clear()
        for more in ({}, limits):
            run = prepared(backend="batsim", batsim=str(program), **more)
            for flag in ("--timeouts", "--budgets", "--batsim-log"):
                assert (flag in run.command) is bool(more)
            folders.add(run.folder)
    assert len(folders) == 2


OF_POLICY = {"scheduler": "policy.py:P"}
SITE = '[[member]]\nmodel = "site"\noptions = { distributions = "people/site" }\n'
OF_POPULATION = {"users": "population", "user_options": {"file": "people/population.toml"}}
AROUND = {"users": "sufficient", "user_options": {"model": "mine.py:Mine", "signal": "16:00-20:00"}}


@pytest.mark.parametrize(
    ("settings", "file", "changes"),
    [
        (OF_POLICY, "policy.py", True),
        (OF_POLICY, "x.swf", True),
        (OF_POLICY, "near_policy.py", True),  # imported by the policy
        (OF_POLICY, "far_from_policy/__init__.py", True),  # and these by what it imports
        (OF_POLICY, "far_from_policy/sizes.py", True),
        (OF_POLICY, "other.py", False),
        (OF_POLICY, "script.py", False),  # imports the policy
        ({"sites": "grid.xml"}, "grid.xml", True),
        ({"machine": "site.toml"}, "site.toml", True),
        ({"machine": "site.toml"}, "held.csv", True),
        (OF_POPULATION, "people/population.toml", True),
        (OF_POPULATION, "people/mine.py", True),  # a plug-in beside it
        (OF_POPULATION, "people/site/sizes.json", True),
        (OF_POPULATION, "people/other.txt", False),
        (AROUND, "mine.py", True),
    ],
)
def test_names_change_with_what_determines_a_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, file: str, changes: bool
) -> None:
    """And a cluster needs what a policy imports."""
    monkeypatch.syspath_prepend(folder)
    texts = {
        "policy.py": f"import near_policy\n{POLICY}",
        "near_policy.py": "from far_from_policy import sizes\n",
        "far_from_policy/__init__.py": "",
        "far_from_policy/sizes.py": "",
        "other.py": POLICY,
        "script.py": "import policy\n",
        "grid.xml": make_homogeneous_xml(4, 1),
        "site.toml": 'resources = "held.csv"\n[[nodes]]\ncount = 4\n',
        "held.csv": "job,nodes,gpus,memory_mib\n",
        "people/population.toml": f'[[member]]\nmodel = "mine.py:Mine"\nrest = true\n{SITE}',
        "people/mine.py": "class Mine: pass\n",
        "people/site/sizes.json": "1",
        "people/other.txt": "",
        "mine.py": "class Mine: pass\n",
    }
    for name, text in texts.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    before = prepared(**settings)
    if settings is OF_POLICY:
        imported = {"near_policy.py", "__init__.py", "sizes.py"}
        assert {Path(path).name for path in before.task.files} == {"x.swf", "policy.py", *imported}
    comment = "<!-- -->" if file == "grid.xml" else "#\n"
    Path(file).write_text(Path(file).read_text() + comment)
    assert (prepared(**settings).folder != before.folder) is changes


def test_a_registered_plug_in_that_can_be_edited_is_known_by_its_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its version stays as it is while its author works on it (``pip install -e``)."""
    package = folder / "policies_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("")
    (package / "other.py").write_text("")
    (package / "patient.py").write_text(f"from . import helper\n{POLICY}")
    monkeypatch.syspath_prepend(folder)
    entry = EntryPoint("patient", "policies_of_mine.patient:P", identity.plugins.SCHEDULERS)
    monkeypatch.setattr(identity.plugins, "list_names", lambda group: {"patient": entry})
    identity._registered.cache_clear()
    names = []
    for file in ("patient.py", "helper.py", "other.py"):
        names.append(prepared(scheduler="patient").folder)
        with (package / file).open("a") as text:
            text.write("# edited\n")
    names.append(prepared(scheduler="patient").folder)
    identity._registered.cache_clear()
    assert len(set(names)) == 3
    assert names[-2] == names[-1]


@pytest.mark.parametrize("text", ["x" * 5000, "a\0b", "each", "1"])
def test_a_text_that_is_no_path_and_no_number_stays_a_text(text: str) -> None:
    command = prepared(scheduler="policy.py:P", scheduler_options={"x": text}).command
    given = [command[i + 1] for i, word in enumerate(command) if word == "-O"]
    assert parse_options(given, "-O") == {"x": text}
