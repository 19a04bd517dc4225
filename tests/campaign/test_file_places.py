"""Paths in a campaign file are those of the files beside it, from wherever it is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.file_places import locate_files
from batsched_py.campaign.preparation import prepare
from batsched_py.errors import UsageError
from batsched_py.support.installation import platforms_folder
from helpers.calling import command
from helpers.campaigns import count_runs, in_this_process
from helpers.logs import swf_text

POLICY = """
from batsched_py.schedulers.fcfs import Fcfs
class Mine(Fcfs):
    def __init__(self, file='', order=''):
        super().__init__()
        assert file == '' or open(file).read() == 'hello'
        assert order in ('', 'a word')
"""
USERS = "from batsched_users.models.feedback import ThinkTimeFeedback as Mine\n"
FILE = """
[run]
log = "logs/mine.swf"
scheduler = "mine.py:Mine"
users = "people.py:Mine"
platform = "machine.xml"
scheduler_options = { file = "data/hello.txt", order = "a word" }
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A campaign file that names five files beside it; the working directory is elsewhere."""
    folder = tmp_path / "study"
    for name in ("logs", "data", "a word"):
        (folder / name).mkdir(parents=True)
    (folder / "logs" / "mine.swf").write_text(swf_text())
    (folder / "data" / "hello.txt").write_text("hello")
    (folder / "mine.py").write_text(POLICY)
    (folder / "people.py").write_text(USERS)
    (folder / "machine.xml").write_text((platforms_folder() / "ideal_64.xml").read_text())
    (folder / "mine.toml").write_text(FILE)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with in_this_process():
        yield folder


def test_a_campaign_is_the_same_from_any_folder(study: Path) -> None:
    out = study.parent / "out"
    here = command(None, "campaign", "../study/mine.toml", "-e", out, "--no-report")
    assert here.returncode == 0, here.stderr
    assert "note: ../study" not in here.stderr
    for folder in (study, study.parent):
        file = (study / "mine.toml").relative_to(folder)
        again = command(folder, "campaign", file, "-e", out, "--no-report")
        assert count_runs(again) == (1, 1)
    command_line = next(out.glob("runs/*/command.txt")).read_text()
    names = ("logs/mine.swf", "mine.py:Mine", "people.py:Mine", "machine.xml", "data/hello.txt")
    for name in names:
        assert f"{study / name}" in command_line.replace("/elsewhere/..", "")


def test_a_copied_study_has_the_same_runs(study: Path, tmp_path: Path) -> None:
    def run_hash() -> str:
        (run,) = prepare(read_campaign(study / "mine.toml"), tmp_path / "out")
        return run.folder.name

    before = run_hash()
    study = study.rename(tmp_path / "copied")
    assert run_hash() == before
    (study / "data" / "hello.txt").write_text("Hello")
    assert run_hash() != before


@pytest.mark.parametrize("name", ["mine.py", "machine.xml"])
def test_what_is_not_beside_the_file(study: Path, name: str) -> None:
    """It is taken from the working directory with a note, or is missed beside the file."""
    (study / name).rename(name)
    campaign = read_campaign(study / "mine.toml")
    prepare(campaign, study / "out")
    assert [note for note in campaign.notes if f"{name} is not in its folder" in note] != []
    Path(name).unlink()
    with pytest.raises(UsageError, match=rf"mine\.toml:\d: .*'{study / name}'"):
        prepare(read_campaign(study / "mine.toml"), study / "out")


def test_names_stay_and_what_the_command_line_gives_is_meant_from_here(study: Path) -> None:
    (study / "easy").write_text("")
    (study / "other.swf").write_text(swf_text())
    (study / "mine.toml").write_text("[run]\nscheduler = 'easy'\n")
    campaign = read_campaign(study / "mine.toml", ["other.swf"])
    (run,) = campaign.runs
    assert locate_files(run.settings, campaign) == run.settings
    assert (run.settings.log, campaign.notes) == ("other.swf", [])


def test_platforms_that_come_with_the_project_are_found_by_name(study: Path) -> None:
    """A file of this name beside the campaign file goes first."""
    (study / "mine.toml").write_text("[run]\nplatform = 'ideal_64.xml'\n")
    campaign = read_campaign(study / "mine.toml")
    (run,) = campaign.runs
    shipped = platforms_folder() / "ideal_64.xml"
    assert locate_files(run.settings, campaign).platform == str(shipped)
    own = study / "ideal_64.xml"
    own.write_bytes(shipped.read_bytes())
    assert locate_files(run.settings, campaign).platform == str(own)
    assert campaign.notes == []
