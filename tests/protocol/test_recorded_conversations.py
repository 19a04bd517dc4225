"""Every recorded scenario from the scheduler's side: shapes, and what Batsim accepted or not."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest

from batsched_py.errors import InputError, ProtocolError
from batsched_py.protocol import message_json as codec
from batsched_py.protocol.referee.referee import Referee
from batsched_py.protocol.scheduler_side import Batsim4Side, make_side
from batsched_py.workload.batsim.batsim_workload import read_workload
from helpers.shared_folder import SHARED

pytestmark = pytest.mark.usefixtures("shared")

FOLDERS = sorted(SHARED.glob("batsim_transcripts/*/")) if SHARED.is_dir() else []

TABLE = tomllib.loads(Path(__file__).with_name("refused_conversations.toml").read_text())
REASONS, NO_EXCHANGE = TABLE["reasons"], TABLE["no_exchange"]


def exchange(folder: Path) -> list[dict[str, str]]:
    path = folder / "exchange.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def with_exchange() -> list[Path]:
    return [folder for folder in FOLDERS if exchange(folder)]


def judge(folder: Path, referee: Referee) -> tuple[int, str] | None:
    """Let the referee hear the conversation; return the number of what it refuses, and why."""
    for number, record in enumerate(exchange(folder)):
        if record["from"] == "batsim":
            referee.check_message(codec.decode_events(record["raw"]))
            continue
        try:
            referee.check_reply(codec.decode_decisions(record["raw"]))
        except ProtocolError as error:
            return number, str(error)
    return None


@pytest.mark.parametrize("folder", with_exchange(), ids=lambda folder: folder.name)
def test_judged_as_batsim_did(folder: Path) -> None:
    """The referee accepts what Batsim accepted, and refuses the reply on which it aborted."""
    energy = "-E" in shlex.split((folder / "cmd.txt").read_text())
    refused = judge(folder, Referee(strict=False, energy=energy))
    aborted = any(code in (folder / "rc.txt").read_text() for code in ("rc=-6", "rc=-11"))
    if aborted:
        assert refused is not None
        number, reason = refused
        assert number == len(exchange(folder)) - 1
        assert REASONS[folder.name] in reason
    else:
        assert refused is None


@pytest.mark.parametrize("name", sorted(REASONS))
def test_strictly_nothing_is_accepted_on_which_batsim_aborts(name: str) -> None:
    """What is too much for Batsim is too much for what we send."""
    (folder,) = (folder for folder in FOLDERS if folder.name == name)
    assert judge(folder, Referee(energy=False)) is not None


@pytest.mark.parametrize("folder", with_exchange(), ids=lambda folder: folder.name)
def test_messages_come_back_equal(folder: Path) -> None:
    """Every message that is one decodes to structs and encodes to an equal message."""
    assert isinstance(make_side(exchange(folder)[0]["raw"].encode()), Batsim4Side)
    for record in exchange(folder):
        raw = record["raw"]
        if record["from"] == "batsim":
            again = codec.encode_events(codec.decode_events(raw))
        else:
            try:
                again = codec.encode_decisions(codec.decode_decisions(raw))
            except ProtocolError:
                assert folder.name in REASONS
                continue
        assert canonical(json.loads(again)) == canonical(json.loads(raw))


def canonical(message: dict[str, object]) -> dict[str, object]:
    """Write the sets of processors that schedulers gave in the one form that we write."""
    for event in message["events"]:  # type: ignore[attr-defined]
        if "alloc" in (event["data"] or {}):
            numbers = codec.from_text(event["data"]["alloc"])
            event["data"]["alloc"] = codec.to_text(numbers)
    return message


@pytest.mark.parametrize(
    "folder",
    [folder for folder in FOLDERS if not exchange(folder) and folder.name not in NO_EXCHANGE],
    ids=lambda folder: folder.name,
)
def test_without_an_exchange_the_workload_was_refused(folder: Path) -> None:
    """Where Batsim refused the workload before the first message, so does our reader."""
    (workload,) = folder.glob("*.json")
    with pytest.raises(InputError, match=workload.name):
        read_workload(workload)


def test_the_table_is_complete() -> None:
    """141 scenarios: a conversation, a workload that is refused, or a named reason for neither."""
    without = [folder.name for folder in FOLDERS if not exchange(folder)]
    assert len(FOLDERS) == 141
    assert {name for name in without if not name.startswith("25_wl")} == set(NO_EXCHANGE)
