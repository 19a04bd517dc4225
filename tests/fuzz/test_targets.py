"""Each target on its seeds, on what once showed a fault, and on a few hundred mutations."""

from __future__ import annotations

import os
import time
from itertools import islice
from pathlib import Path

import pytest

from fuzz import __main__ as command
from fuzz.contract import Target, in_time
from fuzz.forms import JSON
from fuzz.fuzzer import Fault, Fuzzer, found, store
from fuzz.targets import TARGETS

MUTATIONS = 250


@pytest.fixture(autouse=True)
def _workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_keeps_its_promises(name: str) -> None:
    faults: list[Fault] = []
    fuzzer = Fuzzer(TARGETS[name], 0, faults.append, guided=False)
    nb_known = len(TARGETS[name].seeds()) + len(found(name))
    for data in islice(fuzzer.inputs(), nb_known + MUTATIONS):
        fuzzer.feed(data)
    told = [f"{fault.data[:300]!r}: {fault.error}" for fault in faults]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("name", TARGETS)
def test_its_seeds_are_right(name: str) -> None:
    """Else mutations of them would reach little."""
    target = TARGETS[name]
    accepted = [reason for reason in map(target.check, target.seeds()) if not reason.strip(" /")]
    ended = [reason for reason in map(target.check, target.seeds()) if "ended" in reason]
    assert accepted or ended
    for seed in target.seeds():
        if not seed.startswith(b"\x1f\x8b"):
            target.form.write(target.form.read(seed.decode()))


def _faulty(data: bytes) -> str:
    if b"7" in data:
        raise KeyError(data)
    if b"8" in data:
        while True:
            pass
    return ""


def test_a_fault_is_found_told_once_and_made_small() -> None:
    """By the same inputs for the same seed."""
    seeds = [b'{"a": [1, 2], "b": "some text"}']
    target = Target("made_up", lambda: seeds, _faulty, JSON, ["7", "c"])
    of_runs: list[list[Fault]] = []
    for _ in range(2):
        faults: list[Fault] = []
        fuzzer = Fuzzer(target, 1, faults.append)
        for data in islice(fuzzer.inputs(), 200):
            if b"8" not in data:
                fuzzer.feed(data)
        of_runs.append(faults)
    assert [(fault.cause, fault.data) for fault in of_runs[0]] == [("KeyError", b"7")]
    assert of_runs[0] == of_runs[1]


def test_what_takes_too_long_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.fuzzer.in_time", lambda: in_time(0.05))
    faults: list[Fault] = []
    Fuzzer(Target("made_up", list, _faulty, JSON, []), 1, faults.append).feed(b"8")
    assert [fault.cause for fault in faults] == ["TooSlow"]


def _deadly(data: bytes) -> str:
    if data == b"die":
        os._exit(7)
    if data == b"hang":
        time.sleep(100)
    if data == b"grow":
        bytearray(1 << 30)
    return ""


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize(
    ("data", "cause"), [(b"die", "code 7"), (b"hang", "code -9"), (b"grow", "MemoryError")]
)
def test_a_process_that_dies_hangs_or_grows_is_a_fault(
    data: bytes, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other targets go on."""
    monkeypatch.setattr(command, "_HUNG", 5.0 if data == b"hang" else 60.0)
    monkeypatch.setattr("fuzz.fuzzer.FOUND", tmp_path / "found")
    store("deadly", data)  # as if it had been found before
    deadly = Target("deadly", lambda: [b"0"], _deadly, JSON, ["x"])
    harmless = Target("harmless", lambda: [b"0"], lambda _: "", JSON, ["x"])
    told: list[str] = []
    assert command.run([deadly, harmless], 0.4, 1, 1, tmp_path, told.append) == 1
    assert cause in told[0]
    assert "0 faults" in told[1]
    assert found("deadly") == [data]
