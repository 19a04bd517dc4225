"""Campaigns that sweep power and shutdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_py import run_campaign
from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.preparation import prepare
from batsched_py.errors import BatschedError
from helpers.logs import swf_text

POWER = "off_seconds=6.1,on_seconds=152"


def test_results_have_what_was_swept(tmp_path: Path) -> None:
    (tmp_path / "x.swf").write_text(swf_text())
    path = tmp_path / "c.toml"
    axis = '["idle_time=inf", "idle_time=1 h"]'
    path.write_text(f'[run]\nlog = "x.swf"\npower = "{POWER}"\nshutdown = {axis}\n')
    results = run_campaign(path, out=tmp_path / "out", progress=False)
    assert results.runs["shutdown"].tolist() == ["idle_time=inf", "idle_time=1 h"]
    assert set(results.runs["power"]) == {POWER}
    (tmp_path / "plain.toml").write_text('[run]\nlog = "x.swf"\n')
    plain = run_campaign(tmp_path / "plain.toml", out=tmp_path / "plain", progress=False)
    assert not {"power", "shutdown"} & set(plain.runs.columns)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('shutdown = "idle_tme=5"', "did you mean 'idle_time'"),
        ('shutdown = "idle_time=-5"', "idle_time = -5"),
        ("shutdown = 5", "c.toml:4: shutdown = 5: Expected"),
        ("shutdown = { idle_time = 5 }", "c.toml:4: shutdown = {'idle_time': 5}: expected a text"),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f'[run]\nlog = "sample"\npower = "{POWER}"\n{line}\n')
    with pytest.raises(BatschedError, match=words):
        prepare(read_campaign(path), tmp_path)
