"""``batsched-py calibrate`` as a user types it, and what it says of numbers that are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from batsched_py.calibration import PolicyCalibrations, calibrations
from batsched_py.calibration.verdict import describe_calibration
from batsched_py.options.durations import format_duration
from batsched_py.units import DAY, HOUR
from helpers.calibrated import RULES, busy_log, log_of, recorded_by, table_of
from helpers.calling import command

SITE = ("--scheduler", "easy", "--rules", RULES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log, ``easy.swf``, that EASY made, of some weeks."""
    folder = tmp_path_factory.mktemp("calibrate")
    recorded_by("easy", busy_log(nb=400, weeks=6), folder / "easy.swf")
    return folder


@pytest.fixture(scope="module")
def stored(folder: Path) -> Any:
    """What the command writes of this log under EASY, with FCFS beside it."""
    done = command(folder, "calibrate", "easy.swf", *SITE, "-e", "out/site")
    assert done.returncode == 0, done.stderr
    (folder / "printed.txt").write_text(done.stdout)
    return json.loads((folder / "out" / "site_calibration.json").read_text())


def test_it_prints_the_verdict_and_the_policies(folder: Path, stored: Any) -> None:
    lines = (folder / "printed.txt").read_text().splitlines()
    assert set(stored["verdict"]) <= set(lines)
    (easy,) = [line for line in lines if line.startswith("easy ")]
    assert easy.split()[3:] == ["0.00", "0.00", "to", "0.00", "1.00", "1.00", *easy.split()[-2:]]
    page = (folder / "out" / "site_calibration.html").read_text()
    assert stored["verdict"][0][:60] in page
    for name in ("waits", "waits_by_hour", "backlog", "utilisation"):
        assert f'"{name}":{{' in page


def test_what_is_stored_has_all_numbers_and_no_time_of_day(folder: Path, stored: Any) -> None:
    assert list(stored["policies"]) == ["easy", "fcfs"]  # EASY is no baseline of itself
    easy, fcfs = stored["policies"].values()
    assert easy["agreement"]["rank_correlation"]["value"] == pytest.approx(1)
    assert fcfs["agreement"]["bias"]["value"] > 0
    assert easy["jobs"]["compared"] == 400
    assert len(easy["backlog"]["work"]["recorded"]) == len(fcfs["backlog"]["work"]["simulated"])
    assert {each["other"] for each in stored["differences"]} == {"fcfs", "by size and hour"}
    assert stored["run"]["scheduler"] == "easy"
    before = (folder / "out" / "site_calibration.json").read_bytes()
    assert command(folder, "calibrate", "easy.swf", *SITE, "-e", "again").returncode == 0
    assert (folder / "again_calibration.json").read_bytes() == before


def test_baselines_are_chosen_and_the_warm_up_is_left_out(folder: Path) -> None:
    arguments = ("--baseline", "conservative", "--warm-up", "1 week", "-e", "chosen")
    done = command(folder, "calibrate", "easy.swf", *SITE, *arguments)
    assert done.returncode == 0, done.stderr
    stored = json.loads((folder / "chosen_calibration.json").read_text())
    assert list(stored["policies"]) == ["easy", "conservative"]
    assert stored["policies"]["easy"]["jobs"]["not_measured"] > 0
    assert "at the beginning" not in done.stderr
    done = command(folder, "calibrate", "easy.swf", *SITE, "--baseline", "none", "-e", "alone")
    assert done.returncode == 0, done.stderr
    assert "at the beginning" in done.stderr
    assert list(json.loads((folder / "alone_calibration.json").read_text())["policies"]) == ["easy"]


# The words of a calibration, from numbers that are known -----------------------------------------


NB = 700


def waits(seed: int, spread: float = 1.0) -> NDArray[np.float64]:
    """Return waits around an hour."""
    return np.round(HOUR * np.exp(spread * np.random.default_rng(seed).normal(size=NB)))


def found(
    recorded: NDArray[np.float64],
    policies: dict[str, NDArray[np.float64]],
    weeks: int = 10,
    queue: Sequence[int] | int = 1,
) -> PolicyCalibrations:
    """Return the calibrations of policies under which jobs waited so long."""
    log = log_of(recorded.tolist(), weeks, queue=queue)
    return calibrations(log, {name: table_of(log, of.tolist()) for name, of in policies.items()})


def test_a_policy_that_knows_nothing_of_the_site() -> None:
    """Queue 2 waits for five hours more in the simulation, whatever was recorded."""
    queue = np.where(np.arange(NB) % 2, 2, 1)
    simulated = waits(1) + np.where(queue == 2, 5 * HOUR, 0)
    order, beside, groups, change = describe_calibration(
        found(waits(0), {"site": simulated, "easy": waits(0)}, queue=queue.tolist())
    )
    assert "correlation 0.04, -0.05 to 0.13)" in order
    assert "recorded 1.59 h: +154, +122 to +188 %)" in order
    assert "easy (-3.20, -3.73 to -2.73)" in beside
    assert "queue 2 (6.61 h instead of 1.67 h)" in groups
    assert "2.71 h" in change


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (90, "90 s"), (600, "10 min"), (2.5 * HOUR, "2.5 h"), (4 * DAY, "4 d")],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
    assert format_duration(float("nan")) == "-"
