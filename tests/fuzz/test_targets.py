"""Each target on its seeds, on what once showed a fault, and on a few damaged inputs."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.contract import Target, in_time
from fuzz.damaging import damaged
from fuzz.searching import Search, found
from fuzz.targets import TARGETS

NO_FILES = {"events", "decisions", "events_5", "decisions_5", "serve", "simulator"}
SEALED = {"campaign_json", "run_json"}


@pytest.fixture(autouse=True)
def _workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_it_keeps_its_promises_where_faults_were(name: str) -> None:
    for data in found(name):
        TARGETS[name].check(data)


@pytest.mark.parametrize("name", TARGETS)
@given(drawn=st.data())
@settings(suppress_health_check=list(HealthCheck))
def test_it_keeps_its_promises(name: str, drawn: st.DataObject) -> None:
    data = drawn.draw(damaged(TARGETS[name]))
    with in_time():
        TARGETS[name].check(data)


@pytest.mark.parametrize("name", TARGETS)
def test_its_examples_are_right(name: str) -> None:
    """Else what is made of them would reach little."""
    target = TARGETS[name]
    assert not all(map(target.check, target.examples()))


@pytest.mark.parametrize("name", sorted(TARGETS.keys() - NO_FILES - SEALED))
def test_a_byte_order_mark_is_no_damage(name: str) -> None:
    """Editors on Windows begin a file with one."""
    target = TARGETS[name]
    for example in target.examples():
        if not example.startswith(b"\x1f\x8b"):
            assert target.check(BOM_UTF8 + example) == target.check(example)


def _faulty(data: bytes) -> None:
    if b"7" in data:
        raise KeyError(data)


def _slow(data: bytes) -> None:
    while True:
        pass


def test_a_fault_is_found_and_made_small() -> None:
    """By the same inputs for the same seed."""
    target = Target("made_up", lambda: [b'{"a": [1, 2], "b": "some text"}'], _faulty, "7 c")
    outcomes = [Search(target).run(1, 60.0) for _ in range(2)]
    assert "KeyError" in outcomes[0].fault
    assert len(outcomes[0].data) < 60  # the example with one change
    assert outcomes[0].data == outcomes[1].data


def test_what_takes_too_long_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.searching.in_time", lambda: in_time(0.05))
    outcome = Search(Target("made_up", lambda: [b"8"], _slow)).run(1, 60.0)
    assert "TooSlow" in outcome.fault
    assert outcome.data == b"8"
