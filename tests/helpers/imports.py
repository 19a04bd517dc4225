"""Importing a text of accounting records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from batsched_py.accounting.import_log import import_log
from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.machine_draft import MachineDraft
from batsched_py.accounting.systems.accounting_system import AccountingSystem
from batsched_py.workload.logs.swf import SwfLog, read_swf
from helpers.accounting_records import Job, jobs_of


class Imported(NamedTuple):
    """What an import wrote."""

    jobs: list[Job]
    notes: list[str]
    log: SwfLog
    draft: MachineDraft
    names: str
    machine: str

    @property
    def only(self) -> Job:
        """The one job."""
        (job,) = self.jobs
        return job

    def noted(self, text: str) -> bool:
        """Tell whether a note has a text; all notes are in the header too."""
        found = any(text in note for note in self.notes)
        assert found == any(text in line for line in self.log.header_lines)
        return found


Run = Callable[..., Imported]


def importing(system: type[AccountingSystem]) -> Any:
    """Return a fixture that imports texts of a system."""

    @pytest.fixture
    def run(tmp_path: Path) -> Run:
        return partial(imported, system, tmp_path)

    return run


def imported(
    system: type[AccountingSystem], folder: Path, *texts: str | bytes, **options: Any
) -> Imported:
    """Import texts, each a file."""
    paths = []
    for number, text in enumerate(texts):
        path = folder / f"records{number}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        paths.append(str(path))
    out = folder / "out.swf"
    done = import_log(system, paths, out, ImportOptions(**options))
    log = read_swf(out)
    names = (folder / "out_names.csv").read_text()
    machine = (folder / "out_machine.toml").read_text()
    jobs = jobs_of(log.data.tolist())
    assert done.nb_jobs == len(jobs)
    return Imported(jobs, done.notes, log, done.draft, names, machine)
