"""How much one has to read: the code that a module imports.

A limit is raised only for a new capability, with the reason beside it.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {"batsched_py": ROOT, "batsched_users": ROOT / "users"}
MOST_LINES = {
    "batsched_py.schedulers.easy": 2_500,  # orders say what they are; jobs held back; sleep
    "batsched_py.schedulers.agent.encoder": 2_600,  # easy, and arrays of what a policy sees
    "batsched_py.model.system": 5_450,  # the core of both drivers; users; sleepers; nodes
    "batsched_py.decision_process": 6_950,  # the same
    "batsched_py.run.simulate": 32_300,  # two drivers, the simulator, sockets, spans of logs, nodes
}
"""Lines of a module and of all modules that it imports when it runs, directly or not."""


@pytest.mark.parametrize("module", MOST_LINES)
def test_a_module_is_understood_with_few_others(module: str) -> None:
    lines = {name: len(lines_of(name)) for name in (module, *graph().find_upstream_modules(module))}
    longest = Counter(lines).most_common(10)
    assert sum(lines.values()) <= MOST_LINES[module], f"the longest of {len(lines)}: {longest}"


@cache
def graph() -> grimp.ImportGraph:
    """Return what imports what when it runs, inside functions too."""
    return grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True)


def lines_of(module: str) -> list[str]:
    path = PACKAGES[module.partition(".")[0]].joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text().splitlines()
