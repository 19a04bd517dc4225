"""Campaign files: axes, variants, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.errors import InputError, UsageError

GOOD = """
name = "study"
[run]
log = ["a", "b"]
speed_factor = [1.0, 2.0]
replay = ["rigid", "a60"]
scheduler = "fcfs"
[replay.rigid]
[replay.a60]
users = "feedback"
sessions = "arrival:60"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_every_list_is_an_axis(tmp_path: Path) -> None:
    spec = read_campaign(write(tmp_path, GOOD))
    assert spec.name == "study"
    assert len(spec.runs) == 8
    last = spec.runs[-1]
    assert last.labels == {"log": "b", "speed_factor": 2.0, "replay": "a60", "scheduler": "fcfs"}
    assert last.settings.users == "feedback"
    assert last.settings.scheduler == "fcfs"
    assert spec.runs[0].settings.users == "rigid"


def test_logs_from_the_command_line(tmp_path: Path) -> None:
    spec = read_campaign(write(tmp_path, GOOD), ["c"])
    assert {run.settings.log for run in spec.runs} == {"c"}
    assert len(spec.runs) == 4


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[run]", "[runs]", r"no table \[run\]"),
        ("scheduler =", "schedular =", "did you mean 'scheduler'"),
        ('"a60"]', '"a06"]', "'a06'.*there are: rigid, a60"),
        ("[1.0, 2.0]", '["fast"]', "speed_factor"),
        ("[1.0, 2.0]", "[]", "axis 'speed_factor' is empty"),
        ("[replay.rigid]", "[replai.rigid]", "'replai'"),
        ("users = ", "user = ", "user"),
        ("users = ", 'scheduler = "easy"\nusers = ', "'scheduler' is set by .*elsewhere"),
        ('name = "study"', "name = 3", "expected a text"),
        ('name = "study"', "name = ", "not a TOML file.*line 2"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InputError, match=said) as caught:
        read_campaign(path)
    assert "study.toml" in str(caught.value)


def test_studies_are_found_by_name() -> None:
    assert find_campaign("replay_feedback").name == "campaign.toml"
    assert find_campaign("replay_feedback/shake").name == "shake.toml"
    with pytest.raises(UsageError, match="replay_feedback"):
        find_campaign("no_such_study")


@pytest.mark.parametrize(
    ("study", "runs"),
    [
        ("replay_feedback", 18),
        ("replay_feedback/shake", 180),
        ("replay_feedback/allocated", 6),
        ("replay_feedback/first", 84),
    ],
)
def test_the_shipped_campaigns(study: str, runs: int) -> None:
    assert len(read_campaign(find_campaign(study)).runs) == runs
