"""The synthetic log: stable to the byte, consistent on its machine, and shaped as documented."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from batsched_py.errors import UsageError
from batsched_py.plugins.plugin_files import load_file
from batsched_py.support.installation import platforms_folder
from batsched_py.units import DAY
from batsched_py.workload.logs.sample_log import sample_log
from batsched_py.workload.logs.swf import SwfLog, read_swf
from helpers.calling import command

PROCESSORS = 64
GOLDEN = "2c53bfd4bc1fc1946a2eb9f8326d8219bfc54c95beba3fef288bb0bc9b3a478a"
"""Of the default log: a change must raise GENERATOR_VERSION."""


def read(tmp_path: Path, text: bytes) -> SwfLog:
    (tmp_path / "a.swf").write_bytes(text)
    return read_swf(tmp_path / "a.swf")


def test_what_ships_is_what_the_generator_makes(tmp_path: Path) -> None:
    generate = load_file(f"{platforms_folder() / 'sample_log.py'}:generate_sample_log")
    assert sample_log() == "".join(f"{line}\n" for line in generate()).encode()
    assert hashlib.sha256(sample_log()).hexdigest() == GOLDEN
    assert command(tmp_path, "sample-log", "a.swf").returncode == 0
    assert (tmp_path / "a.swf").read_bytes() == sample_log()


def test_seed_and_days_make_another_log(tmp_path: Path) -> None:
    assert sample_log(seed=2) != sample_log()
    assert read(tmp_path, sample_log(days=7)).column("submit_time").max() < 7 * DAY
    with pytest.raises(UsageError, match="0 days"):
        sample_log(days=0)


def test_recorded_schedule_fits_the_machine(tmp_path: Path) -> None:
    log = read(tmp_path, sample_log())
    wait, run, size = map(log.column, ("wait_time", "run_time", "allocated_processors"))
    start = log.column("submit_time") + wait
    changes = [*zip(start, run > 0, size, strict=True)]
    changes += zip(start + run, np.zeros(len(log)), np.where(run > 0, -size, 0), strict=True)
    busy = np.cumsum([size for _, begins, size in sorted(changes) if begins or size < 0])
    assert busy.min() >= 0  # at one instant, ends come before starts
    assert busy.max() <= PROCESSORS
    assert (wait >= 0).all()
    assert 0.4 < (wait > 0).mean() < 0.8  # queues form
