"""The commands convert, info and logs, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batsched_py.workload.batsim.batsim_workload import read_workload
from helpers.calling import Called, command
from helpers.logs import swf_line, swf_text

LOG = swf_text(swf_line(1, 0, size=2), swf_line(2, 5, size=2), swf_line(3, 9, 0, 2, user=-1))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BATSCHED_LOGS", str(tmp_path / "logs"))
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    Path("logs/mine.swf").write_text(LOG)
    return tmp_path


def called(line: str) -> Called:
    return command(None, *line.split())


def test_convert_writes_a_workload() -> None:
    done = called("convert mine out/w.json --unknown-user each")
    workload = read_workload("out/w.json")
    assert [job.user for job in workload.jobs] == ["3", "3", "unknown-3"]
    assert workload.rules["unknown_user"] == "each"
    assert "rules" in done.stdout + done.stderr
    assert json.loads(Path("out/w.json").read_text())["nb_res"] == 4
    assert "3" in called("info out/w.json").stdout


@pytest.mark.parametrize(
    ("options", "jobs"),
    [
        ("", ["1", "2", "3"]),
        ("--rules dynp", ["1", "2"]),
        ("--drop zero-runtime,no-user", ["1", "2"]),
        ("--job-numbers 2-9", ["2", "3"]),
        ("--from 5 --until 00:09", ["2"]),
        ("--sites 2,1 --homes round-robin --split local", ["1", "2.1", "2.2", "3"]),
    ],
)
def test_convert_follows_the_rules(options: str, jobs: list[str]) -> None:
    assert called(f"convert mine w.json {options}").returncode == 0
    assert [job.id for job in read_workload("w.json").jobs] == jobs


@pytest.mark.parametrize("line", ["convert bad.swf w.json", "info bad.swf"])
def test_bad_lines_are_left_out_if_that_is_asked_for(line: str) -> None:
    Path("bad.swf").write_text(LOG.replace("\n", "\n1 x\n", 1))
    assert called(line).returncode == 1
    assert called(f"{line} --skip-bad-lines").returncode == 0


def test_logs_are_listed_and_found(folder: Path) -> None:
    kth = folder / "logs" / "KTH-SP2-1996-2.1-cln.swf"
    kth.write_text(LOG)
    listed = called("logs list").stdout
    assert "sample" in listed
    assert str(kth) in listed.replace("\n", "")
    assert called("logs path mine").stdout.strip() == str(folder / "logs" / "mine.swf")
    assert called(f"logs fetch {kth.stem}").returncode == 0
    (folder / "more").mkdir()
    (folder / "more" / "other.swf").write_text(LOG)
    found = called("logs path other --log-dir more")
    assert found.returncode == 0
