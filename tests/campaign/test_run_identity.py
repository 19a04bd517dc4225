"""What makes a finished run stale: the code that determines a simulation, and no other."""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest

from batsched_py.campaign.run_identity import determining_code

ROOT = Path(__file__).parents[2]
FOLDERS = {"batsched_py": ROOT, "batsched_users": ROOT / "users"}
BOOKKEEPING = "batsched_py.campaign"
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
    imported = {"batsched_py.campaign.run_task", *plugins}
    left = list(imported)
    while left:
        for module in graph.find_modules_directly_imported_by(left.pop()):
            if module not in imported and not module.startswith(BOOKKEEPING):
                imported.add(module)
                left.append(module)
    assert "batsched_py.simulator.engine" in imported
    assert {file_of(module) for module in imported} - set(determining_code()) == set()


@pytest.mark.parametrize(
    ("file", "determines"),
    [
        ("batsched_py/run/settings.py", True),  # maps settings to the simulation
        ("batsched_py/schedulers/easy.py", True),
        ("users/batsched_users/models/feedback.py", True),
        ("batsched_py/commands/list.py", False),
        ("batsched_py/explain/wording.py", False),
        ("batsched_py/optimum/solver.py", False),
        ("batsched_py/report/document.py", False),
        ("users/batsched_users/commands/users.py", False),
    ],
)
def test_a_change_makes_finished_runs_stale(file: str, determines: bool) -> None:
    assert (ROOT / file).is_file()
    assert (ROOT / file in determining_code()) == determines
