"""``batsched-py calibrate`` as a user types it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from helpers.calibrated import RULES, busy_log, log_of, recorded_by, write_log
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


def test_logs_of_a_week(tmp_path: Path) -> None:
    """Of one job there is nothing to explain; of a week no usual wait and no utilisation."""
    for name, waits in (("job", [60.0]), ("week", [0.0, 60, 0, 600])):
        write_log(log_of(waits, weeks=1), tmp_path / f"{name}.swf")
        done = command(tmp_path, "calibrate", f"{name}.swf", *SITE, "-e", name)
        assert done.returncode == 0, done.stderr
        assert ("nearer" in done.stdout) == (name == "week")
        assert "usual, by" not in done.stdout
    page = (tmp_path / "week_calibration.html").read_text()
    assert '"backlog":{' in page
    assert '"utilisation":{' not in page


def test_the_simulated_waits_are_those_of_simulate(folder: Path, stored: Any) -> None:
    done = command(folder, "simulate", "easy.swf", *SITE, "-e", "run")
    assert done.returncode == 0, done.stderr
    rows = csv.DictReader((folder / "run_jobs.csv").read_text().splitlines())
    waits = [float(row["waiting_time"]) for row in rows]
    mean = stored["policies"]["easy"]["agreement"]["mean_simulated"]["value"]
    assert mean == pytest.approx(sum(waits) / len(waits))
    run = json.loads((folder / "run_run.json").read_text())
    assert stored["input"] == run["input"]
    assert stored["rules"] == run["rules"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("easy.swf", "-e", "x/"), 2, "--export x/"),
        (("none.swf",), 2, "none.swf"),
        (("workload.json",), 2, "expected an SWF"),
        (("unknown.swf", *SITE), 1, "none of its"),
        (("easy.swf", "--scheduler", "eazy"), 2, "eazy"),
        (("easy.swf", *SITE, "--baseline", "fcsf"), 2, "fcsf"),
        (("easy.swf", *SITE, "--warm-up", "9 weeks"), 2, "no job"),
        (("easy.swf", "--users", "feedback"), 2, "--users"),
    ],
)
def test_mistakes_are_said_in_a_line(
    folder: Path, arguments: tuple[str, ...], code: int, text: str
) -> None:
    (folder / "workload.json").write_text("{}")
    write_log(log_of([-1.0, -1]), folder / "unknown.swf")
    done = command(folder, "calibrate", *arguments)
    assert done.returncode == code
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "out_calibration.json").exists()
