"""``batsched-py compare`` as a user types it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from helpers.calling import call
from helpers.campaigns import in_this_process
from helpers.runs_by_hand import Row, settings, write_run

RUNS = (
    Row("1", 0, 0, run=100, size=2),
    Row("2", 5, 100, run=50, size=8, user="bob", profile="q"),
    Row("3", 10, 150, run=20, profile="r"),
)
LATER = (*RUNS[:2], RUNS[2]._replace(start=170))
CAMPAIGN = """
name = "{name}"
replications = {nb}
[run]
log = "sample"
policy = ["easy", "fcfs"]
users = "site"
user_options = {{ nb_users = 4, weeks = 1 }}
{further}
[policy.easy]
scheduler = "easy"
[policy.fcfs]
scheduler = "fcfs"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the runs a/out, b/out and c/out, the last equal to a."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name, rows in {"a": RUNS, "b": LATER, "c": RUNS}.items():
        write_run(Path(name) / "out", rows, settings("fcfs" if name == "b" else "easy"))
    return tmp_path


@pytest.mark.parametrize("name", ["a", "a/out", "a/out_jobs.csv"])
def test_a_run_is_named_by_folder_prefix_or_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert call(monkeypatch, "compare", name, "b") == 0
    output = capsys.readouterr().out
    assert "1 of 3 jobs differ" in output
    assert re.search(r"scheduler +easy +fcfs +yes", output)


def test_differences_fail_only_when_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "compare", "a", "b") == 0
    assert call(monkeypatch, "compare", "a", "b", "--fail-on-difference") == 1
    capsys.readouterr()
    assert call(monkeypatch, "compare", "a", "c", "--fail-on-difference") == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_json_and_csv_are_for_machines(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "compare", "a", "b", "--json") == 0
    comparison = json.loads(capsys.readouterr().out)
    assert comparison["identical"] is False
    (moved,) = comparison["tables"]["moved_jobs"]
    assert (moved["job"], moved["start_shift"]) == ("3", 20)
    assert call(monkeypatch, "compare", "a", "b", "--csv", "users") == 0
    assert capsys.readouterr().out.startswith("user,jobs,wait_a")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("a", "a/out"), 2, "same run"),
        (("a", "nothing"), 2, "nothing_jobs.csv"),
        (("a", "two"), 2, "two/x_jobs.csv, two/y_jobs.csv"),
        (("a", "a/out_run.json"), 2, "PREFIX_jobs.csv"),
        (("a", "b", "--json", "--csv", "users"), 2, "one of them"),
        (("a", "b", "--csv", "user"), 2, "'users'"),
        (("a", "b", "-o", "a/out_jobs.csv"), 1, "is not a folder"),
    ],
)
def test_mistakes_are_one_clear_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    write_run(Path("two/x"), RUNS)
    write_run(Path("two/y"), RUNS)
    assert call(monkeypatch, "compare", *arguments) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_two_campaigns_on_the_sample_log(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, nb, further in (("one", 2, ""), ("two", 1, "speed_factor = 2.0")):
        text = CAMPAIGN.format(name=name, nb=nb, further=further)
        Path(f"{name}.toml").write_text(text)
        with in_this_process():
            assert call(monkeypatch, "campaign", f"{name}.toml", "-e", f"out/{name}") == 0
    capsys.readouterr()
    shutil.copytree("out/one", "out/three")
    assert call(monkeypatch, "compare", "out/one", "out/three", "--fail-on-difference") == 0
    assert "all 4 runs" in capsys.readouterr().out

    compare = ("compare", "out/one", "out/two")
    assert call(monkeypatch, *compare, "-o", "found", "--fail-on-difference") == 1
    output = capsys.readouterr().out
    assert "2 of 2 pairs" in output
    assert re.search(r"speed_factor +1.0 +2.0 +yes", output)
    differences = pd.read_csv("found/report/differences.csv")
    waits = differences[differences["metric"] == "mean_busy_processors"].set_index("policy")
    assert set(waits.index) == {"easy", "fcfs"}
    assert set(waits["pairs"]) == {1}
    assert Path("found/report/ratios.png").stat().st_size

    assert call(monkeypatch, "compare", "out/one", "a") == 2
    assert "two campaigns" in capsys.readouterr().err
    for path in Path("out/two").glob("runs/*/out_run.json"):
        path.unlink()
    assert call(monkeypatch, *compare) == 1
    assert "no run" in capsys.readouterr().err
