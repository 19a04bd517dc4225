"""The commands convert, info and logs, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batsched_py.workload.batsim_workload import read_workload
from helpers.calling import call

JOB = "0 10 2 -1 -1 2 60 -1 1 3 1 -1 1 -1 -1 -1"
LOG = f"; MaxProcs: 4\n1 0 {JOB}\n2 5 {JOB}\n3 9 0 0 2 -1 -1 2 60 -1 1 -1 1 -1 1 -1 -1 -1\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BATSCHED_LOGS", str(tmp_path / "logs"))
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    Path("logs/mine.swf").write_text(LOG)
    return tmp_path


def test_convert_writes_a_workload(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "convert", "mine", "out/w.json", "--unknown-user", "each") == 0
    workload = read_workload("out/w.json")
    assert [job.user for job in workload.jobs] == ["3", "3", "unknown-3"]
    assert workload.rules["unknown_user"] == "each"
    assert "rules" in "".join(capsys.readouterr())
    assert json.loads(Path("out/w.json").read_text())["nb_res"] == 4


@pytest.mark.parametrize(
    ("options", "jobs"),
    [
        ([], ["1", "2", "3"]),
        (["--rules", "dynp"], ["1", "2"]),
        (["--drop", "zero-runtime,no-user"], ["1", "2"]),
        (["--unknown-user", "drop", "--first", "1"], ["1"]),
    ],
    ids=["the default", "a preset", "conditions", "single rules"],
)
def test_convert_follows_the_rules(
    monkeypatch: pytest.MonkeyPatch, options: list[str], jobs: list[str]
) -> None:
    assert call(monkeypatch, "convert", "mine", "w.json", *options) == 0
    assert [job.id for job in read_workload("w.json").jobs] == jobs


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(["convert", "nowhere", "w.json"], 2, "nowhere", id="a log that is nowhere"),
        pytest.param(["convert", "mine", "w.json", "--size", "x"], 2, "allocated", id="a rule"),
        pytest.param(["convert", "mine", "w.json", "--rules", "dymp"], 2, "dynp", id="a preset"),
        pytest.param(["convert", "mine"], 2, "OUTPUT", id="no output"),
        pytest.param(["convert", "bad.swf", "w.json"], 1, "bad.swf:2", id="a bad line"),
        pytest.param(["info", "bad.swf"], 1, "bad.swf:2", id="a bad line in info"),
        pytest.param(["info", "nowhere"], 2, "nowhere", id="a log that is nowhere in info"),
        pytest.param(["logs", "path", "nowhere"], 2, "nowhere", id="the path of no log"),
        pytest.param(["logs", "fetch", "nowhere"], 2, "nowhere", id="a log that the archive lacks"),
    ],
)
def test_what_goes_wrong_ends_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    Path("bad.swf").write_text(f"{LOG.splitlines()[0]}\n1 x\n")
    assert call(monkeypatch, *arguments) == code
    assert said in capsys.readouterr().err
    assert not Path("w.json").exists()


def test_bad_lines_are_skipped_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.swf").write_text(f"{LOG}4 x\n")
    assert call(monkeypatch, "convert", "bad.swf", "w.json", "--skip-bad-lines") == 0
    assert call(monkeypatch, "info", "bad.swf", "--skip-bad-lines") == 0


def test_info_on_a_log_and_on_its_workload(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(monkeypatch, "info", "mine")
    assert "mine.swf" in capsys.readouterr().out
    call(monkeypatch, "convert", "mine", "w.json")
    capsys.readouterr()
    assert call(monkeypatch, "info", "w.json") == 0
    assert "3" in capsys.readouterr().out


def test_info_on_a_log_of_one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("one.swf").write_text(f"1 0 {JOB}\n")
    assert call(monkeypatch, "info", "one.swf") == 0


def test_logs_are_listed_and_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "logs" / "KTH-SP2-1996-2.1-cln.swf").write_text(LOG)
    assert call(monkeypatch, "logs", "list") == 0
    listed = capsys.readouterr().out
    assert "sample" in listed
    assert str(folder / "logs" / "KTH-SP2-1996-2.1-cln.swf") in listed.replace("\n", "")
    assert call(monkeypatch, "logs", "path", "mine") == 0
    assert capsys.readouterr().out.strip() == str(folder / "logs" / "mine.swf")
    assert call(monkeypatch, "logs", "fetch", "KTH-SP2-1996-2.1-cln") == 0
    (folder / "more").mkdir()
    (folder / "more" / "other.swf").write_text(LOG)
    assert call(monkeypatch, "logs", "path", "other", "--log-dir", "more") == 0
