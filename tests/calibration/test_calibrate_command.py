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
    for sentence in stored["verdict"]:
        assert sentence in lines
    assert lines[-1] == "wrote out/site_calibration.json, out/site_calibration.html"
    (easy,) = [line for line in lines if line.startswith("easy ")]
    assert easy.split()[3:] == ["0.00", "0.00", "to", "0.00", "1.00", "1.00", *easy.split()[-2:]]


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


def test_the_page_has_the_verdict_and_the_figures(folder: Path, stored: Any) -> None:
    page = (folder / "out" / "site_calibration.html").read_text()
    assert stored["verdict"][0][:60] in page
    for name in ("waits", "waits_by_hour", "backlog", "utilisation"):
        assert f'"{name}":{{' in page
    assert "By requested time" in page


def test_baselines_are_chosen_and_the_warm_up_is_left_out(folder: Path) -> None:
    arguments = ("--baseline", "conservative", "--warm-up", "1 week", "-e", "chosen")
    done = command(folder, "calibrate", "easy.swf", *SITE, *arguments)
    assert done.returncode == 0, done.stderr
    stored = json.loads((folder / "chosen_calibration.json").read_text())
    assert list(stored["policies"]) == ["easy", "conservative"]
    assert stored["policies"]["easy"]["jobs"]["not_measured"] > 0
    assert "empty at the beginning" not in done.stderr
    done = command(folder, "calibrate", "easy.swf", *SITE, "--baseline", "none", "-e", "alone")
    assert done.returncode == 0, done.stderr
    assert "empty at the beginning" in done.stderr
    assert list(json.loads((folder / "alone_calibration.json").read_text())["policies"]) == ["easy"]


def test_a_policy_with_options_stands_beside_itself_without(folder: Path) -> None:
    given = ("--scheduler", "list", "-O", "order=widest", "--baseline", "list", "-e", "list")
    done = command(folder, "calibrate", "easy.swf", "--rules", RULES, *given)
    assert done.returncode == 0, done.stderr
    stored = json.loads((folder / "list_calibration.json").read_text())
    assert list(stored["policies"]) == ["list", "list without options"]


def test_one_week_and_one_user_say_what_is_not_known(tmp_path: Path) -> None:
    write_log(log_of([0.0, 60, 0, 600], weeks=1), tmp_path / "week.swf")
    done = command(tmp_path, "calibrate", "week.swf", *SITE, "-e", "out")
    assert done.returncode == 0, done.stderr
    assert "of fewer than 5 weeks there are no intervals" in done.stdout
    assert "usual, by size and hour" not in done.stdout
    page = (tmp_path / "out_calibration.html").read_text()
    assert '"backlog":{' in page
    assert '"utilisation":{' not in page  # there is no whole week


def test_one_job(tmp_path: Path) -> None:
    write_log(log_of([60.0], weeks=1), tmp_path / "job.swf")
    done = command(tmp_path, "calibrate", "job.swf", *SITE)
    assert done.returncode == 0, done.stderr
    assert "compared: 1 job of 1 week (of 1 job none is left out)" in done.stdout
    assert "nearer" not in done.stdout  # there is nothing to explain
    assert "costs most" not in done.stdout


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
        (("easy.swf", "-e", "x/"), 2, "--export x/: expected a prefix of files"),
        (("none.swf",), 2, "none.swf"),
        (("workload.json",), 2, "a Batsim workload has no recorded waits: expected an SWF log"),
        (("unknown.swf", *SITE), 1, "none of its 2 jobs says how long it waited"),
        (("easy.swf", "--scheduler", "eazy"), 2, "eazy"),
        (("easy.swf", *SITE, "--baseline", "fcsf"), 2, "fcsf"),
        (("easy.swf", *SITE, "--warm-up", "9 weeks"), 2, "leave no job to measure"),
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
