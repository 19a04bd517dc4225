"""Campaigns that sweep power and shutdown, as texts and as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py import run_campaign
from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.preparation import prepare
from batsched_py.errors import BatschedError
from helpers.logs import swf_text

POWER = "off_seconds=6.1,on_seconds=152"
SLEEP = "{ off_seconds = 6.1, on_seconds = 152 }"


def runs_of(folder: Path, text: str) -> list[tuple[Any, Any, dict[str, Any]]]:
    path = folder / "c.toml"
    path.write_text(text)
    return [
        (run.settings.power, run.settings.shutdown, run.labels) for run in read_campaign(path).runs
    ]


@pytest.mark.parametrize("power", [f'"{POWER}"', SLEEP])
def test_texts_and_tables_are_the_same_runs(tmp_path: Path, power: str) -> None:
    axis = '[{ idle_time = 60, keep = "10%" }, "idle_time=1 h"]'
    made = runs_of(tmp_path, f"[run]\nlog = 'sample'\npower = {power}\nshutdown = {axis}\n")
    texts = ["idle_time=60,keep=10%", "idle_time=1 h"]
    assert made == [
        (POWER, text, {"log": "sample", "power": POWER, "shutdown": text}) for text in texts
    ]


def test_a_table_of_a_file_and_of_a_variant(tmp_path: Path) -> None:
    """A variant may be called as a setting is."""
    made = runs_of(
        tmp_path,
        f"""
        [run]
        log = "sample"
        rule = ["never", "shutdown"]
        [run.power]
        off_seconds = 6.1
        on_seconds = 152
        [rule.never]
        [rule.shutdown]
        shutdown = {{ idle_time = 60 }}
        [[include]]
        rule = "never"
        power = {SLEEP.replace("152", "5")}
        """,
    )
    assert [(power, shutdown) for power, shutdown, _ in made] == [
        (POWER, None),
        (POWER, "idle_time=60"),
        (POWER.replace("152", "5"), None),
    ]


def test_the_small_size(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    axis = "shutdown = [{ idle_time = 60 }, { idle_time = 5 }]"
    path.write_text(f'[run]\nlog = "sample"\npower = "{POWER}"\n[quick]\n{axis}\n')
    runs = read_campaign(path, quick=True).runs
    assert [run.settings.shutdown for run in runs] == ["idle_time=60", "idle_time=5"]


def test_results_have_what_was_swept(tmp_path: Path) -> None:
    (tmp_path / "x.swf").write_text(swf_text())
    path = tmp_path / "c.toml"
    axis = '["idle_time=inf", "idle_time=60"]'
    path.write_text(f'[run]\nlog = "x.swf"\npower = {SLEEP}\nshutdown = {axis}\n')
    results = run_campaign(path, out=tmp_path / "out", progress=False)
    assert results.runs["shutdown"].tolist() == ["idle_time=inf", "idle_time=60"]
    assert set(results.runs["power"]) == {POWER}
    (tmp_path / "plain.toml").write_text('[run]\nlog = "x.swf"\n')
    plain = run_campaign(tmp_path / "plain.toml", out=tmp_path / "plain", progress=False)
    assert not {"power", "shutdown"} & set(plain.runs.columns)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("shutdown = { idle_tme = 5 }", "did you mean 'idle_time'"),
        ("shutdown = { idle_time = nan }", "idle_time = nan"),
        ("shutdown = { keep = true }", "keep = 'True'"),
        ('shutdown = "idle_time=-5"', "idle_time = -5"),
        ("shutdown = 5", "c.toml:4: shutdown = 5: Expected"),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f'[run]\nlog = "sample"\npower = "{POWER}"\n{line}\n')
    with pytest.raises(BatschedError, match=words):
        prepare(read_campaign(path), tmp_path)
