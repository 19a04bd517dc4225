"""The study behind docs/real.md, with the embedded simulator in Batsim's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py.plugins.plugins import RIGID, SCHEDULERS, USERS, list_names
from batsched_studies.real_batsim.cases import CASES
from batsched_studies.real_batsim.comparison import compare_sides
from batsched_studies.real_batsim.two_simulators import make_run
from helpers.sealed_runs import seal, unsealed

PLUGINS = {case.plugin for case in CASES} - {""}


def test_every_policy_and_every_user_model_has_a_line() -> None:
    assert {*list_names(SCHEDULERS), *list_names(USERS)} - {RIGID} == PLUGINS


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        ("out_schedule.csv", "v4.2.0,0.000000,", "v4.2.0,1.000000,", "schedule"),
        ("exchange.jsonl", '\\"return_code\\":0', '\\"return_code\\":1', "events"),
    ],
)
def test_what_differs_beside_the_jobs_is_named(
    tmp_path: Path, file: str, old: str, new: str, named: str
) -> None:
    """The same twenty jobs were simulated for both sides, and one side is changed by hand."""
    ours, theirs = (make_run(first=20)("embedded", tmp_path / side) for side in "ab")
    path = theirs.prefix.with_name(file)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    described = Path(f"{theirs.prefix}_run.json")
    seal(described, unsealed(described))
    comparison = compare_sides(ours, theirs)
    assert (comparison.equal, comparison.others_beside) == (20, [named])
    assert not comparison.all_equal
