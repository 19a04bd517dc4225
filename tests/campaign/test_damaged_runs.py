"""Damage in the folder of a campaign: it runs again, or is refused with the file's name."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from batsched_py.campaign import finished_runs
from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.campaign.finished_runs import read_finished_run, read_state
from batsched_py.campaign.preparation import PreparedRun, prepare
from batsched_py.errors import InputError
from batsched_py.results.whole_run import read_sealed
from helpers.calling import command
from helpers.campaigns import count_runs
from helpers.sealed_runs import seal, unsealed

FILE = """
name = "small"
[run]
log = ["sample"]
first = 40
scheduler = ["easy", "fcfs"]
user_options = {}
users = ["rigid", "feedback"]
"""
NAMES = (
    *("out_jobs.csv", "out_schedule.csv", "out_run.json"),
    *("settings.json", "command.txt", "log.txt"),
)
COMMAND = ("campaign", "small.toml", "-e", "out", "--no-report", "--jobs", "2")
OF_THE_MOMENT = {"wall_time", "provenance"}


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def removed(path: Path) -> None:
    path.unlink()


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def of_another(path: Path) -> None:
    """The same file of a run of the other policy."""
    (other,) = path.parents[1].glob("fcfs_feedback_*")
    path.write_bytes((other / path.name).read_bytes())


def of_another_version(path: Path) -> None:
    """What was written before files were sealed."""
    content = unsealed(path) if path.name == "out_run.json" else {"name": "small"}
    path.write_text(json.dumps(content) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.toml").write_text(FILE)
    done = command(folder, *COMMAND)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a campaign that has ended, which a test may damage."""
    copy = Path(shutil.copytree(made, tmp_path / "copy"))
    monkeypatch.chdir(copy)
    return copy


def prepared() -> list[PreparedRun]:
    return prepare(read_campaign(Path("small.toml")), Path("out"))


@pytest.mark.parametrize(
    ("damage", "name"),
    [
        *((damage, "out_jobs.csv") for damage in (cut, flipped, removed, of_another)),
        *((damage, "out_run.json") for damage in (cut, flipped, removed, of_another)),
        *((damage, "out_schedule.csv") for damage in (flipped, removed)),
        *((removed, name) for name in NAMES[3:]),
        (of_another_version, "out_run.json"),  # files were not sealed once
    ],
)
def test_a_damaged_run_is_not_done_and_nobody_reads_it(
    made: Path, folder: Path, damage: Callable[[Path], None], name: str
) -> None:
    path = next(Path("out").glob(f"runs/easy_feedback_*/{name}"))
    damage(path)
    assert [run.folder for run in prepared() if not read_state(run.folder).done] == [path.parent]
    if name == "out_run.json" and damage is removed:  # as if it were still to be run
        assert f"{path}; " in command(None, "report", "out").stderr
        assert "1 runs are" in command(None, "compare", "out", made / "out").stdout
        return
    # What another run describes, settings or tables are the first that do not fit.
    named = path.parent if (name, damage) == ("out_run.json", of_another) else path
    for line in (("report", "out", "--follow"), ("compare", made / "out", "out")):
        called = command(None, *line)
        assert called.returncode == 1, line
        assert str(named) in called.stderr, line
        assert called.stdout == "", line


@pytest.mark.process
def test_damaged_runs_run_again_and_give_the_same_bytes(made: Path, folder: Path) -> None:
    """Each of them in another way."""
    for run, damage, name in zip(
        sorted(Path("out/runs").iterdir()), (cut, flipped, removed, flipped), NAMES, strict=False
    ):
        damage(run / name)
    assert command(None, *COMMAND, "--dry-run").stdout.count("damaged: ") == 3
    done = command(None, *COMMAND)
    assert done.returncode == 0, done.stderr
    assert count_runs(done) == (4, 0)
    assert done.stderr.count("note: damaged: ") == 3  # one has no out_run.json
    for path in made.glob("out/runs/*/*"):
        if path.name not in ("out_run.json", "command.txt"):  # which names the folder
            assert Path(path.relative_to(made)).read_bytes() == path.read_bytes()
    for path in made.glob("out/runs/*/out_run.json"):
        first, again = unsealed(path), unsealed(Path(path.relative_to(made)))
        for key in first.keys() - OF_THE_MOMENT:
            assert first[key] == again[key], key


def test_what_lies_in_the_folder_of_runs(folder: Path) -> None:
    """Folders that were exchanged are seen, errors may be any bytes, files are no folders."""
    first, second, third, _ = sorted(Path("out/runs").iterdir())
    (third / "out_run.json").unlink()
    (third / "error.txt").write_bytes(b"bad \xff byte\n")
    assert [message for _, message in open_results("out").failures] == ["bad � byte"]
    Path("out/runs/x_0123456789ab").touch()
    assert "note: 1 folder" not in command(None, *COMMAND, "--dry-run").stderr
    Path("out/runs/y_0123456789ab").mkdir()
    assert "note: 1 folder" in command(None, *COMMAND, "--dry-run").stderr
    first.rename("kept")
    second.rename(first)
    Path("kept").rename(second)
    assert [read_state(run.folder).done for run in prepared()].count(True) == 1
    assert "to another run" in command(None, "report", "out").stderr
    seal(first / "out_run.json", {"run": {}})
    with pytest.raises(InputError, match=r"out_run\.json"):
        read_finished_run(first)


@pytest.mark.parametrize("damage", [flipped, of_another_version])
def test_a_damaged_campaign_json_is_refused_and_written_anew(
    made: Path, folder: Path, damage: Callable[[Path], None]
) -> None:
    path = Path("out/campaign.json")
    damage(path)
    for line in (("report", "out"), ("compare", "out", made / "out")):
        called = command(None, *line)
        assert called.returncode == 1, line
        assert "campaign.json" in called.stderr
    done = command(None, *COMMAND)
    assert done.returncode == 0, done.stderr
    assert count_runs(done) == (4, 4)
    assert len(open_results("out").runs) == 4


def test_a_run_that_is_written_anew_is_never_half_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is killed: first it is not done any more, last it is done."""
    run = next(Path("out/runs").iterdir())
    kept = {path.name: path.read_bytes() for path in run.iterdir()}
    kept["out_run.json"] = b'{"a": 1}\n'
    seen = []

    def unlink(path: Path, missing_ok: bool = False) -> None:
        remove(path, missing_ok)
        if path.name in kept:
            seen.append((run / "out_run.json").exists())

    def write(path: Path, content: bytes, *, sync: bool) -> None:
        seen.append((run / "out_run.json").exists())
        whole(path, content, sync=sync)

    remove, whole = Path.unlink, finished_runs.write_whole
    monkeypatch.setattr(Path, "unlink", unlink)
    monkeypatch.setattr(finished_runs, "write_whole", write)
    finished_runs.write_run(run, kept, None)
    assert seen == [False] * 2 * len(kept)
    assert read_sealed(run / "out_run.json", dict)["a"] == 1
