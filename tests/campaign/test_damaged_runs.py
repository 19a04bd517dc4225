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
from batsched_py.campaign.finished_runs import read_finished_run
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


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def bad_byte(path: Path) -> None:
    path.write_bytes(b"\xff" + path.read_bytes()[1:])


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def removed(path: Path) -> None:
    path.unlink()


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


DAMAGES = [emptied, flipped, bad_byte, cut, removed, of_another, of_another_version]


@pytest.mark.parametrize(
    ("damage", "name"),
    [
        *((damage, name) for damage in DAMAGES[:6] for name in NAMES[:3]),
        *((removed, name) for name in NAMES[3:]),
        (of_another_version, "out_run.json"),
    ],
)
def test_a_damaged_run_is_not_done_and_nobody_reads_it(
    made: Path, folder: Path, damage: Callable[[Path], None], name: str
) -> None:
    path = next(Path("out").glob(f"runs/easy_feedback_*/{name}"))
    damage(path)
    assert [run.folder for run in prepared() if not run.state().done] == [path.parent]
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
        sorted(Path("out/runs").iterdir()), (cut, bad_byte, removed, flipped), NAMES, strict=False
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


def test_folders_that_were_exchanged_are_seen(folder: Path) -> None:
    """Each is whole, and of another run than its name says."""
    first, second = sorted(Path("out/runs").iterdir())[:2]
    first.rename("kept")
    second.rename(first)
    Path("kept").rename(second)
    assert sum(run.state().done for run in prepared()) == 2
    called = command(None, "report", "out")
    assert called.returncode == 1
    assert "of another run" in called.stderr


@pytest.mark.parametrize("damage", [flipped, cut, of_another_version])
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


def test_a_description_without_what_a_campaign_needs_is_refused(folder: Path) -> None:
    run = next(Path("out/runs").iterdir())
    seal(run / "out_run.json", {"run": {}})
    with pytest.raises(InputError, match=r"out_run\.json"):
        read_finished_run(run)


def test_what_a_failed_run_said_may_be_any_bytes(folder: Path) -> None:
    run = next(Path("out/runs").iterdir())
    (run / "out_run.json").unlink()
    (run / "error.txt").write_bytes(b"bad \xff byte\n")
    assert [message for _, message in open_results("out").failures] == ["bad � byte"]
    assert [run.state().failure for run in prepared() if run.state().failure] == ["bad � byte"]


def test_only_folders_count_as_folders_of_runs(folder: Path) -> None:
    """A desktop puts files of its own beside them; of one folder it is spoken as of one."""
    Path("out/runs/.DS_Store").write_bytes(b"\0")
    Path("out/runs/x_0123456789ab").touch()
    assert "note" not in command(None, *COMMAND, "--dry-run").stderr
    Path("out/runs/y_0123456789ab").mkdir()
    said = command(None, *COMMAND, "--dry-run").stderr
    assert "note: 1 folder" in said
