"""What a finished run is known by: its settings, the content of its files, and the code."""

from __future__ import annotations

import subprocess
import sys
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
    assert {file_of(module) for module in imported} - set(find_determining_code()) == set()


RUNS = """
import sys
from batsched_py import simulate
for settings in (
    {"users": "feedback", "scheduler": "dynp"},
    {"sites": "2x64", "scheduler": "grid", "scheduler_options": {"scenario": "multi_site"}},
    {"users": "site", "user_options": {"nb_users": 3, "weeks": 1}, "scheduler": "multifactor"},
    {"backend": "socket5"},
):
    simulate("sample", first=20, progress=False, **settings)
for name, module in sorted(sys.modules.items()):
    if name.startswith("batsched_") and module.__file__:
        print(module.__file__)
"""


@pytest.mark.process
def test_all_that_runs_load_determines_them() -> None:
    done = subprocess.run([sys.executable, "-c", RUNS], capture_output=True, text=True, check=True)
    loaded = {Path(line) for line in done.stdout.split()}
    assert ROOT / "batsched_py/schedulers/dynp/dynp_policy.py" in loaded
    assert loaded - set(find_determining_code()) == set()


@pytest.mark.parametrize(
    ("file", "determines"),
    [
        ("batsched_py/campaign/run_task.py", True),
        ("batsched_py/metrics/waiting.py", True),
        ("batsched_py/run/settings.py", True),  # maps settings to the simulation
        ("users/batsched_users/data/weekly.json", True),  # parameters are as good as code
        ("users/batsched_users/data/site/sizes.json", True),
        ("users/batsched_users/resampling/__init__.py", True),
        ("batsched_py/accounting/systems/slurm.py", False),
        ("batsched_py/campaign/preparation.py", False),
        ("batsched_py/explain/wording.py", False),
        ("batsched_py/report/document.py", False),
        ("users/batsched_users/commands/users.py", False),
    ],
)
def test_a_change_makes_finished_runs_stale(file: str, determines: bool) -> None:
    assert (ROOT / file).is_file()
    assert (ROOT / file in find_determining_code()) == determines


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
    "job_numbers": "1-9",
    "first": 1,
    "homes": "group",
    "split": 2,
    "skip_bad_lines": True,
    "seed": 1,
    "shake": 0,
    "each_event": True,
    "warm_up": "1 h",
    "cool_down": "60",
    "backend": "socket",
}


NEEDED = {
    "sessions": {"users": "feedback"},
    "user_options": {"users": "feedback"},
    "homes": {"sites": "2x2"},
    "max_walltime": {"machine": "m.toml"},
}
"""What a setting means nothing without."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("x.swf").write_text(swf_text())
    Path("m.toml").write_text("[[nodes]]\ncount = 4\n")
    Path("policy.py").write_text(POLICY)
    return tmp_path


def prepared(**settings: Any) -> Any:
    planned = PlannedRun({}, Settings(log="x.swf", **settings))
    (run,) = prepare(Campaign(name="x", path=Path("x.toml"), runs=[planned]), Path())
    return run


def test_all_settings_are_tried_below() -> None:
    # batsim is tried with its back end below; limits and a log do not change what a run gives
    outside = {"batsim", "batsim_log", "timeouts", "budgets"}
    assert set(CHANGED) == set(Settings.__struct_fields__) - {"log"} - outside


@pytest.mark.parametrize("setting", CHANGED)
def test_every_setting_reaches_the_command_and_the_name(setting: str) -> None:
    Path("p.xml").write_text("<platform/>")
    needed = NEEDED.get(setting, {})
    plain = prepared(**needed)
    changed = prepared(**needed, **{setting: CHANGED[setting]})
    assert changed.folder != plain.folder
    assert changed.command[:-2] != plain.command[:-2]


def test_another_batsim_is_another_run_and_another_limit_or_log_is_not(folder: Path) -> None:
    """A program is known by its content: a new version in the same place is not the old one."""
    program = folder / "batsim"
    folders = set()
    for text in ("#!/bin/sh\n", "#!/bin/sh\nexit 1\n"):
        program.write_text(text)
        program.chmod(0o755)
        identity._batsim.cache_clear()
        for limit in (None, "run=5"):
            run = prepared(
                backend="batsim",
                batsim=str(program),
                timeouts=limit,
                budgets=limit and "messages=5",
                batsim_log=limit is not None,
            )
            assert ("--timeouts" in run.command) is (limit is not None)
            assert ("--budgets" in run.command) is (limit is not None)
            assert ("--batsim-log" in run.command) is (limit is not None)
            folders.add(run.folder)
    assert len(folders) == 2


def test_names_change_with_the_content_of_files() -> None:
    names = [prepared(scheduler="policy.py:P").folder]
    for name, text in {"policy.py": f"{POLICY}\n", "x.swf": swf_text(processors=5)}.items():
        Path(name).write_text(text)
        names.append(prepared(scheduler="policy.py:P").folder)
    assert len(set(names)) == 3


def test_what_lies_beside_a_policy_and_is_not_imported_changes_no_name() -> None:
    """A note, another policy, a script that imports the policy."""
    names = {prepared(scheduler="policy.py:P").folder}
    for name, text in {
        "note.py": "x = 1",
        "other.py": POLICY,
        "script.py": "import policy",
    }.items():
        Path(name).write_text(text)
        names.add(prepared(scheduler="policy.py:P").folder)
    assert len(names) == 1


def test_names_change_with_what_a_policy_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module beside it and the package that this one imports: a cluster needs these files too."""
    monkeypatch.syspath_prepend(Path.cwd())
    Path("policy.py").write_text(f"import near_policy\n{POLICY}")
    Path("near_policy.py").write_text("from far_from_policy import sizes\n")
    Path("far_from_policy").mkdir()
    names, files = set(), {"policy.py": POLICY}
    for file in ("near_policy.py", "far_from_policy/__init__.py", "far_from_policy/sizes.py"):
        path = Path(file)
        for text in ("from far_from_policy import sizes\n" if path.parent == Path() else "", "#\n"):
            path.write_text((path.read_text() if path.exists() else "") + text)
        files[file] = path.read_text()
    run = prepared(scheduler="policy.py:P")
    names.add(run.folder)
    assert {Path(path).name for path in run.task.files} == {
        *("x.swf", "policy.py", "near_policy.py", "__init__.py", "sizes.py")
    }
    for file in list(files)[1:]:
        Path(file).write_text(f"{files[file]}# edited\n")
        names.add(prepared(scheduler="policy.py:P").folder)
    assert len(names) == 4


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


def test_names_change_with_the_platform_whose_clusters_are_the_sites() -> None:
    folders = set()
    for gflops in (1, 2):
        Path("grid.xml").write_text(make_homogeneous_xml(4, gflops))
        folders.add(prepared(sites="grid.xml").folder)
    assert len(folders) == 2


def test_names_change_with_the_files_that_a_population_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plug-in beside it and a folder of distributions are part of what is simulated."""
    (folder / "people" / "site").mkdir(parents=True)
    population = folder / "people" / "population.toml"
    population.write_text(
        '[[member]]\nmodel = "mine.py:Mine"\nrest = true\n'
        f'[[member]]\nmodel = "site"\noptions = {{ distributions = "{population.parent}/site" }}\n'
    )
    settings = {"users": "population", "user_options": {"file": str(population)}}
    names = []
    for file in ("mine.py", "site/sizes.json", "other.txt"):
        (population.parent / file).write_text("1")
        names.append(prepared(**settings).folder)
    assert len(set(names)) == 2
    assert names[1] == names[2]
    Path("mine.py").write_text("2")  # a plug-in of the same name is not the one beside it
    (population.parent / "mine.py").write_text("3")
    assert prepared(**settings).folder not in names


def test_names_change_with_a_model_that_others_are_around() -> None:
    Path("mine.py").write_text("class Mine: pass\n")
    options = {"model": "mine.py:Mine", "signal": "16:00-20:00", "red": "delay"}
    first = prepared(users="sufficient", user_options=options).folder
    Path("mine.py").write_text("class Mine: old = 3\n")
    assert prepared(users="sufficient", user_options=options).folder != first


@pytest.mark.parametrize("named", ["wrapped", "member", "member_wrapped"])
def test_names_change_with_a_registered_model_that_others_are_around(
    folder: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """It may be of another package, where its author works on it, or be installed in another
    version."""
    (folder / "people_of_mine.py").write_text("class Mine: pass\n")
    monkeypatch.syspath_prepend(folder)
    entry = EntryPoint("mine", "people_of_mine:Mine", identity.plugins.USERS)
    ours = identity.plugins.list_names
    monkeypatch.setattr(
        identity.plugins, "list_names", lambda group: {**ours(group), "mine": entry}
    )
    identity._registered.cache_clear()
    options = {"model": "mine", "signal": "16:00-20:00"}
    inside = 'options = { model = "mine", signal = "16:00-20:00" }\n'
    member = f'model = "sufficient"\n{inside}' if named == "member_wrapped" else 'model = "mine"\n'
    population = folder / "population.toml"
    population.write_text(f"[[member]]\nrest = true\n{member}")
    settings: dict[str, Any] = {"users": "sufficient", "user_options": options}
    if named != "wrapped":
        settings = {"users": "population", "user_options": {"file": str(population)}}
    first = prepared(**settings)
    assert "people_of_mine.py" in {Path(path).name for path in first.task.files}
    (folder / "people_of_mine.py").write_text("class Mine: old = 3\n")
    assert prepared(**settings).folder != first.folder
    identity._registered.cache_clear()


@pytest.mark.parametrize("text", ["x" * 5000, "a\0b", "each"])
def test_a_text_that_is_no_path_is_a_text(text: str) -> None:
    assert prepared(scheduler="policy.py:P", scheduler_options={"x": text}).folder


def test_a_text_that_looks_like_a_number_stays_a_text() -> None:
    options = {"a": "1", "b": 1, "c": "x"}
    command = prepared(scheduler="policy.py:P", scheduler_options=options).command
    given = [command[i + 1] for i, word in enumerate(command) if word == "-O"]
    assert parse_options(given, "-O") == options
