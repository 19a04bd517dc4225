"""Sites in results: the same in memory and in files, and nothing where there are none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from batsched_py import Result, simulate
from batsched_py.errors import InputError
from batsched_py.results.job_table import JobTable
from batsched_py.results.jobs_file import read_jobs
from batsched_py.workload import Workload, WorkloadJob
from helpers.sealed_runs import seal, unsealed

HOMES = ["west", "east", "west", "east"]
SIZES = [2, 2, 3, 9]
"""On processors 0 and 1 in the west, 2 and 3 (which is in the east), then 0, 1 and 4. The last job
is too wide."""


def result(**settings: str) -> Result:
    jobs = [
        WorkloadJob(id=str(at), submit_time=at, size=size, profile="p", user="u", extra=extra)
        for at, (size, extra) in enumerate(
            zip(SIZES, ({"home": home} for home in HOMES), strict=True)
        )
    ]
    profiles = {"p": {"type": "delay", "delay": 10}}
    workload = Workload(name="w", nb_res=5, jobs=jobs, profiles=profiles)
    return simulate(workload, scheduler="fcfs", **settings)


def columns(table: JobTable) -> tuple[object, ...]:
    return table.sites, table.home.tolist(), table.on_site.tolist()


def test_in_memory_in_files_and_behind_a_socket(tmp_path: Path) -> None:
    run = result(sites="west:3,east:2@1.0")
    order = np.argsort(run.table.submit)
    assert run.table.home[order].tolist() == [0, 1, 0, 1]
    assert run.table.on_site[order].tolist() == [[2, 0], [1, 1], [2, 1], [0, 0]]
    path, *_, stored = run.write(tmp_path / "out")
    assert json.loads(stored.read_text())["sites"] == [
        {"name": "west", "processors": "0-2", "speed": 1.0},
        {"name": "east", "processors": "3-4", "speed": 1.0},
    ]
    outside = result(sites="west:3,east:2@1.0", backend="socket")
    for other in (read_jobs(path), run.table_as_written(), outside.table):
        assert columns(other) == columns(run.table)
    assert outside.measured["per_site"] == run.measured["per_site"]
    assert run.measured["per_site"]["east"]["taken"] == 10
    assert run.measured["per_site"]["west"]["given"] == 10
    assert run.measured["overall"]["nb_multi_site_jobs"] == 2


def test_one_machine_has_no_word_of_sites(tmp_path: Path) -> None:
    run = result()
    path, *_, stored = run.write(tmp_path / "out")
    settings = json.loads(stored.read_text())
    assert any("4 jobs name a home" in note for note in settings.pop("notes"))
    assert "site" not in json.dumps(settings).replace('"sites": null', "")
    table = read_jobs(path)
    assert columns(table) == ((), [-1] * 4, [[]] * 4)
    for damaged in (3, [{"name": "west"}], [{"name": "w", "processors": "a"}]):
        seal(stored, unsealed(stored) | {"sites": damaged})
        with pytest.raises(InputError, match=r"json: sites: "):
            read_jobs(path)
