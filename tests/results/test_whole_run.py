"""Every damage of every file of a run is seen, by everybody who reads results."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from batsched_py import Result, simulate
from batsched_py.errors import InputError, UsageError
from batsched_py.results.jobs_file import read_jobs
from batsched_py.results.whole_run import NamedFile, read_run, write_sealed
from helpers.calling import command
from helpers.sealed_runs import seal, unsealed

NAMES = ("out_jobs.csv", "out_schedule.csv", "out_exchange.jsonl", "out_run.json")


def simulated(folder: Path, scheduler: str) -> Path:
    folder.mkdir()
    exchange = folder / "out_exchange.jsonl"
    result = simulate("sample", first=40, scheduler=scheduler, users="feedback", record=exchange)
    result.write(folder / "out")
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of two runs."""
    folder = tmp_path_factory.mktemp("runs")
    return simulated(folder / "a", "easy"), simulated(folder / "b", "fcfs")


@pytest.fixture
def run(runs: tuple[Path, Path], tmp_path: Path) -> Path:
    """The folder of a run that a test may damage."""
    return Path(shutil.copytree(runs[0], tmp_path / "run"))


def flipped(path: Path, at: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def cut(path: Path, other: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def one_digit(path: Path, other: Path) -> None:
    """A digit becomes another one, somewhere in the middle: still a number."""
    content = path.read_bytes()
    half = len(content) // 2
    at = next(at for at in range(half, len(content)) if content[at : at + 1].isdigit())
    flipped(path, at)


def swapped(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


def removed(path: Path, other: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    ("damage", "name"),
    [
        *((damage, "out_jobs.csv") for damage in (cut, one_digit, swapped, removed)),
        *((damage, "out_run.json") for damage in (cut, one_digit, swapped)),
        *((damage, name) for damage in (one_digit, removed) for name in NAMES[1:3]),
    ],
)
def test_every_reader_refuses_and_names_a_file(
    runs: tuple[Path, Path], run: Path, name: str, damage: Callable[[Path, Path], None]
) -> None:
    damage(run / name, runs[1] / name)
    # What another run describes, the table is the first that does not fit.
    named = "out_jobs.csv" if (name, damage) == ("out_run.json", swapped) else name
    prefix = run / "out"
    for line in (
        ("metrics", prefix),
        ("report", prefix),
        ("compare", runs[0], prefix),
        ("explain", prefix, "--job", "3"),
    ):
        called = command(None, *line)
        assert called.returncode in (1, 2), line
        assert str(run / named) in called.stderr, line
        assert called.stdout == "", line
    with pytest.raises(InputError, match=named):
        Result.load(prefix)
    with pytest.raises((InputError, UsageError), match=named):
        read_jobs(run / "out_jobs.csv")


def test_what_is_whole_is_read(runs: tuple[Path, Path], run: Path) -> None:
    """Under another name too, of a folder that is no UTF-8, and whatever the time of its files."""
    folder = Path(os.fsdecode(os.fsencode(run.parent) + b"/o\xff"))
    run = run.rename(folder)
    before = command(None, "metrics", run / "out").stdout
    for path in run.iterdir():
        os.utime(path, (0, 0))
        path.rename(run / path.name.replace("out_", "other.name_"))
    for line in (
        ("metrics", run / "other.name"),
        ("report", run / "other.name"),
        ("compare", run / "other.name", runs[0]),
        ("explain", run / "other.name", "--job", "3"),
    ):
        called = command(None, *line)
        assert called.returncode == 0, called.stderr
    assert command(None, "metrics", run / "other.name").stdout == before
    assert b"o\\udcff" in (run / "other.name_report.html").read_bytes()


def test_without_its_description_a_table_is_read_alone(run: Path) -> None:
    """And it is said that nobody knows whether it is whole; of Batsim's own nothing is said."""
    whole = Result.load(run / "out")
    (run / "out_run.json").unlink()
    called = command(None, "metrics", run / "out")
    assert called.returncode == 0
    assert "may be incomplete" in called.stderr
    alone = Result.load(run / "out")
    assert any("may be incomplete" in note for note in alone.notes)
    assert alone.metrics["mean_waiting_time"] == pytest.approx(whole.metrics["mean_waiting_time"])
    lines = (run / "out_jobs.csv").read_text().splitlines()
    width = lines[0].split(",").index("user")
    batsims = "\n".join(",".join(line.split(",")[:width]) for line in lines)
    (run / "out_jobs.csv").write_text(f"{batsims}\n")
    assert "whole" not in command(None, "metrics", run / "out").stderr
    assert Result.load(run / "out").notes == []


def test_no_bit_of_the_description_can_change(run: Path) -> None:
    """Nor a byte be lost: all places of its end, and many of the rest."""
    path = run / "out_run.json"
    content = path.read_bytes()
    read_run(path, dict)
    for at in [*range(0, len(content), 97), *range(len(content) - 100, len(content))]:
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        for damaged in (bytes(changed), content[:at], content[:at] + content[at + 1 :]):
            path.write_bytes(damaged)
            with pytest.raises(InputError, match=r"out_run\.json"):
                read_run(path, dict)


def test_a_description_names_only_files_beside_it(run: Path) -> None:
    """Whoever makes one up cannot have other files read, nor one without end.

    One of an earlier version names no files, and that is said.
    """
    path, table = run / "out_run.json", run / "out_jobs.csv"
    old = json.dumps(unsealed(path)) + "\n"
    for name in ("../out_jobs.csv", "/dev/zero", "", "..", "a\0b", "_" * 300):
        write_sealed(path, b'{"run": {}}', {name: NamedFile.at(table)})
        with pytest.raises(InputError, match=r"out_run\.json"):
            read_run(path, dict)
    write_sealed(path, b'{"run": {}}', {table.name: NamedFile.at(table)})
    table.unlink()
    for make in (os.mkfifo, os.mkdir, lambda place: os.symlink("/dev/zero", place)):
        make(table)
        with pytest.raises(InputError, match=r"jobs\.csv is not a file"):
            read_run(path, dict)
        (Path.rmdir if make is os.mkdir else Path.unlink)(table)
    path.write_text(old)
    with pytest.raises(InputError, match="the earlier version"):
        read_run(path, dict)


def test_a_change_is_seen_in_the_same_moment_and_with_an_old_time(run: Path) -> None:
    """A file is not hashed twice in a process, unless it may have changed."""
    path, table = run / "out_run.json", run / "out_jobs.csv"
    for old in (False, True):
        read_run(path, dict)
        if old:
            os.utime(table, (1, 1))
            read_run(path, dict)
        flipped(table, 300)
        if old:
            os.utime(table, (1, 1))
        with pytest.raises(InputError, match=r"jobs\.csv is damaged"):
            read_run(path, dict)
        flipped(table, 300)


def test_a_recording_of_another_run_is_none_of_its_files(run: Path) -> None:
    """A run without a recording leaves that of an earlier one of its name where it is."""
    path = run / "out_run.json"
    (run / "out_exchange.jsonl").rename(run / "kept")
    seal(path, unsealed(path))
    (run / "kept").rename(run / "out_exchange.jsonl")
    assert command(None, "metrics", run / "out").returncode == 0
    called = command(None, "explain", run / "out", "--job", "3")
    assert "does not belong to" in called.stderr


def test_a_run_that_fails_at_its_end_leaves_the_one_that_is_there(run: Path) -> None:
    """Its messages are beside it; those of the run that was whole are as they were."""
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    line = ("simulate", "sample", "--first", 40, "--record", "-e", run / "out")
    called = command(None, *line, "--warm-up", "4000 days")
    assert "no job to measure" in called.stderr
    part = run / "out_exchange.jsonl.part"
    assert part.exists()
    assert {path.name: path.read_bytes() for path in run.iterdir() if path != part} == before
    with pytest.raises(UsageError, match="leave no job"):
        simulate("sample", first=40, warm_up=1e9, record=run / "out_exchange.jsonl")
    assert command(None, "metrics", run / "out").returncode == 0
    assert command(None, *line).returncode == 0
    assert not part.exists()
    assert command(None, "explain", run / "out", "--job", "3").returncode == 0


def test_a_recording_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    replace = os.replace
    monkeypatch.setattr(
        os, "fsync", lambda handle: calls.append(os.readlink(f"/proc/self/fd/{handle}"))
    )
    monkeypatch.setattr(
        os, "replace", lambda part, path: (calls.append(str(path)), replace(part, path))
    )
    simulated(tmp_path / "a", "easy")
    exchange = str(tmp_path / "a" / "out_exchange.jsonl")
    assert calls[:2] == [f"{exchange}.part", exchange]
    assert calls[-1] == str(tmp_path / "a")
