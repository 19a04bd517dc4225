"""The sample log as records of each system comes back as it was.

Its second 0 is before its first submission, at which that of an import is; all else is the same but
for what a format cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from batsched_py.accounting.import_log import import_log
from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.systems import oar, pbs, slurm
from batsched_py.accounting.systems.accounting_system import AccountingSystem
from batsched_py.workload.logs.sample_log import sample_log
from batsched_py.workload.logs.swf import SwfLog, read_swf
from helpers.accounting_records import Job, as_oar, as_pbs, as_slurm, jobs_of


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> SwfLog:
    path = tmp_path_factory.mktemp("sample") / "sample.swf"
    path.write_bytes(sample_log())
    return read_swf(path)


def expected(sample: SwfLog) -> list[Job]:
    jobs = jobs_of(sample.data.tolist())
    first = jobs[0]["submit_time"]
    return [job | {"submit_time": job["submit_time"] - first} for job in jobs]


@pytest.mark.parametrize(
    ("system", "write", "lost"),
    [
        (slurm.Slurm, as_slurm, {}),
        # neither says that a job that ran was cancelled, and neither has partitions
        (pbs.Pbs, as_pbs, {"status": {5: 0}, "partition": {1: -1}}),
        (oar.Oar, as_oar, {"status": {5: 0}, "partition": {1: -1}}),
    ],
)
def test_the_sample_log_comes_back(
    tmp_path: Path,
    sample: SwfLog,
    system: type[AccountingSystem],
    write: Callable[[Iterable[Job], int], str],
    lost: dict[str, dict[int, int]],
) -> None:
    start = int(sample.header_field("UnixStartTime") or 0)
    records, out = tmp_path / "records", tmp_path / "out.swf"
    records.write_text(write(jobs_of(sample.data.tolist()), start))
    options = ImportOptions(time_zone="Europe/Paris", record_zone="UTC", job_names=True)
    imported = import_log(system, [str(records)], out, options)
    log = read_swf(out)
    assert imported.nb_jobs == len(sample)
    wanted = [
        {field: lost.get(field, {}).get(value, value) for field, value in job.items()}
        for job in expected(sample)
    ]
    assert jobs_of(log.data.tolist()) == wanted
    assert log.header_field("UnixStartTime") == str(start + int(sample.column("submit_time")[0]))
    assert log.header_field("TimeZoneString") == "Europe/Paris"
    assert log.max_processors <= sample.max_processors
    assert not log.notes
