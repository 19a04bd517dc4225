"""The study behind real-batsim.md, with the embedded simulator in Batsim's place."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from batsched_py.plugins.plugins import RIGID, SCHEDULERS, USERS, list_names
from batsched_py.support.installation import PROGRAM
from batsched_studies.filled_page import read_data
from batsched_studies.real_batsim import page
from batsched_studies.real_batsim.cases import CASES, Case
from batsched_studies.real_batsim.comparison import compare_sides
from batsched_studies.real_batsim.two_simulators import OutputFiles, make_run
from helpers.sealed_runs import seal, unsealed

BY_NAME = {case.name: case for case in CASES}
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


BATSIM = """#!/bin/sh
case $1 in
--version) echo v4.2.0 ;;
--simgrid-version) echo 3.32.0 ;;
*) exec {program} simulator "$@" ;;
esac
"""


@pytest.mark.process
def test_the_whole_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a program ``batsim`` that is the embedded simulator."""
    program = tmp_path / "batsim"
    program.write_text(BATSIM.format(program=" ".join(PROGRAM)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    lines: list[str] = []
    cases = [BY_NAME["weekly"], BY_NAME["dynamic jobs"]]
    text, tables = page.make_page(lines.append, cases)
    assert "783 of 783 jobs" in " ".join(text.split())
    assert "SimGrid 3.32" in text
    assert "{{" not in text
    assert lines == [f"{n} of 2: {case.name}: all equal" for n, case in enumerate(cases, start=1)]
    _, *rows = tables["real-batsim"]
    assert [row[:5] for row in rows] == [
        (case.group, case.name, case.about, jobs, jobs)
        for case, jobs in zip(cases, (383, 400), strict=True)
    ]
    for case, jobs in zip(cases, (383, 400), strict=True):
        assert f"| {case.group} | 1 | 1 | {jobs} | {jobs} |" in text
        assert [*map(str, rows[cases.index(case)])] in read_data("real-batsim")


def test_the_data_has_each_case() -> None:
    named = [(row[0], row[1]) for row in read_data("real-batsim")]
    assert named == [(case.group, case.name) for case in CASES]


def test_shaken_orders_are_in_the_row_of_another_schedule(tmp_path: Path) -> None:
    """Here in the place of Batsim: another order too, in which other jobs come."""

    def run(side: str, folder: Path) -> OutputFiles:
        shake = {"embedded": None, "batsim": 7}[side]
        return make_run(users="weekly", user_options=users, shake=shake)("embedded", folder)

    users = {"nb_users": 40, "weeks": 1}
    seeds = [make_run(users="weekly", user_options=users, shake=seed) for seed in range(2)]
    case = Case("users", "shaken", "", run, shaken=seeds)
    comparison = page.compare_case(case, tmp_path)
    assert not comparison.same_schedule
    low, high = sorted(comparison.shaken_waits)
    row = dict(zip(page.HEADER, page.make_row(case, comparison), strict=True))
    assert row["mean_wait_h_shaken"] == f"{low / 3600:.1f} to {high / 3600:.1f}"


def test_without_batsim_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["real_batsim"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("batsched_studies.real_batsim", run_name="__main__")
    assert ended.value.code == 2
    assert "'batsim'" in capsys.readouterr().err
