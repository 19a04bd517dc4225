"""The embedded simulator driven by schedulers that are not ours: those of pybatsim 3.2.1."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from helpers.other_programs import CannotInstallError, play, pybatsim_in

pytestmark = pytest.mark.process


@pytest.fixture(scope="session")
def pybatsim(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command ``pybatsim``, installed once for a checkout, into pytest's cache."""
    if request.config.pluginmanager.has_plugin("cacheprovider"):
        folder = request.config.cache.mkdir("pybatsim")
    else:
        folder = tmp_path_factory.mktemp("pybatsim")
    try:
        return pybatsim_in(folder)
    except CannotInstallError as error:
        pytest.skip(f"pybatsim cannot be installed: {error}")


def test_pybatsim_schedules_as_with_batsim(shared: Path, pybatsim: Path, tmp_path: Path) -> None:
    """The same program with the same inputs: the files that Batsim 4.2.0 wrote."""
    folder = shared / "batsim_transcripts" / "31_pybatsim_easyBackfill_small"
    (platform,) = folder.glob("ideal_*.xml")
    played = play(pybatsim, "easyBackfill", tmp_path, platform, folder / "workload0.json")
    assert (played.simulator, played.scheduler) == (0, 0), played.logs
    for name in ("jobs.csv", "machine_states.csv"):
        ours, theirs = played.output(name), (folder / f"out_{name}").read_bytes()
        assert ours.splitlines() == theirs.splitlines()  # says which line, if one differs
        assert ours == theirs
    assert summary(played.output("schedule.csv")) == summary(
        (folder / "out_schedule.csv").read_bytes()
    )


def summary(content: bytes) -> list[tuple[str, str]]:
    """Return the columns of ``_schedule.csv`` in order, without those of the wall clock."""
    (row,) = rows(content)
    return [item for item in row.items() if item[0] not in ("scheduling_time", "simulation_time")]


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(content.decode().splitlines()))
