"""Every recorded scenario from the scheduler's side: shapes, and what Batsim accepted or not."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import InputError, ProtocolError
from batsched_py.processors.sets import from_text
from batsched_py.protocol import message_json as codec
from batsched_py.protocol.batsim5 import batprotocol_json as codec5
from batsched_py.protocol.batsim5.scheduler_side import Batsim5Side
from batsched_py.protocol.referee.referee import Referee
from batsched_py.protocol.scheduler_side import Batsim4Side, make_side
from batsched_py.workload.batsim.batsim_workload import read_workload
from helpers.recorded_batsim5 import BATSIM, Frame, frames, return_code
from helpers.recorded_batsim5 import FOLDERS as FOLDERS_OF_5
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


# Batsim 5 ----------------------------------------------------------------------------------------


# Batsim ended in an error that the messages do not show, or before there was one.
NOT_SHOWN = {
    "execute_on_sleeping": "which hosts sleep",
    "turn_on_already_on": "which hosts sleep",
    "no_events_member": "of this reply something else was recorded than was sent",
    "forward_begins_unreferenced_profile": "what is in the workload",
    "external_events_old_format": "the file of events",
    "id_contains_workload_name": "the workload",
    "walltime_minus_one_static": "the workload",
    "v4_workload": "the workload",
    "old_option_dynamic": "the command line",
    "energy_flag_both": "the command line",
}
# What is refused, though Batsim takes it, and why; all others are judged as Batsim did.
STRICTER = {
    "alloc_fewer": "was given 1 processors",
    "alloc_more": "was given 3 processors",
    "alloc_ptask_more": "was given 3 processors",
    "alloc_overlap": "in use",
    "alloc_overlap_ptask": "in use",
    "binary_fcfs": "ask for JSON",
}
# What is refused besides where we say it ourselves.
STRICTER_OF_OURS = {
    "calls_oneshot": "not later than the current time",
    "dyn_comma_in_id": "broken by a comma",
    "dyn_walltime_zero": "which ends it at once",
    "no_timestamp": "expected a time from",
    "reply_now_earlier": "expected the same time or a later one",
}


def judge_5(folder: Path, *, strict: bool) -> tuple[int, str] | None:
    """Let the referee hear the conversation; return the number of what it refuses, and why."""
    referee = Referee(strict=strict, batsim5=True)
    said = frames(folder)
    if not said:
        return None
    side = make_side(said[0].raw)
    assert isinstance(side, Batsim5Side)
    for number, frame in enumerate(said):
        try:
            if frame.sender == BATSIM:
                if (message := side.decode_message(frame.raw)) is not None:
                    referee.check_message(message)
            elif (reply := side.decode_reply(frame.raw)) is not None:
                referee.check_reply(reply)
        except ProtocolError as error:
            return number, str(error)
    return None


@pytest.mark.parametrize("folder", FOLDERS_OF_5, ids=lambda folder: folder.name)
def test_judged_as_batsim_did_or_more_strictly(folder: Path) -> None:
    """Accepted is what Batsim accepted, but for what is listed; refused what it aborted on."""
    refused, aborted = judge_5(folder, strict=False), return_code(folder) in (-6, -11)
    if folder.name in STRICTER:
        assert refused is not None
        assert STRICTER[folder.name] in refused[1]
    elif folder.name in NOT_SHOWN:
        assert refused is None
    elif aborted:
        assert refused is not None
        assert frames(folder)[refused[0]].sender != BATSIM
    else:
        assert refused is None


@pytest.mark.parametrize("folder", FOLDERS_OF_5, ids=lambda folder: folder.name)
def test_what_we_say_is_judged_no_less_strictly(folder: Path) -> None:
    """What is too much for Batsim is too much for us; what is refused besides is listed."""
    refused = judge_5(folder, strict=True)
    if folder.name in STRICTER_OF_OURS:
        assert refused is not None
        assert STRICTER_OF_OURS[folder.name] in refused[1]
    else:
        lax = judge_5(folder, strict=False)
        assert (refused is None) == (lax is None)


@pytest.mark.parametrize("folder", FOLDERS_OF_5, ids=lambda folder: folder.name)
def test_messages_of_5_come_back_equal(folder: Path) -> None:
    """Every message that is one decodes to structs and encodes to an equal message."""
    nb_equal = 0
    for frame in frames(folder):
        again = _again(frame)
        if again is not None:
            assert _full(again) == _full(frame.content)
            nb_equal += 1
    assert nb_equal or return_code(folder) != 0 or folder.name == "binary_fcfs"


def _again(frame: Frame) -> Any:
    """Return what becomes of the JSON of a frame, None for what is none, or is refused."""
    if frame.content is None:
        return None
    if frame.sender == BATSIM:
        raw = codec5.encode_events(codec5.decode_events(frame.raw))
        assert raw.endswith(b"\0")
        return json.loads(raw[:-1])
    try:
        return json.loads(codec5.encode_decisions(codec5.decode_decisions(frame.raw)))
    except ProtocolError:
        return None


def _full(value: Any, inside: str = "") -> Any:
    """Return content in one form: with what may be left out, sets and times in one way."""
    if isinstance(value, list):
        return [_full(item, inside) for item in value]
    if not isinstance(value, dict):
        return value
    full = {name: _full(item, name) for name, item in value.items()}
    if "event_type" in full:
        full.setdefault("timestamp", 0.0)
    if "computation_amount" in full:
        full.setdefault("communication_amount", 0)
    if "computation_vector" in full:
        full.setdefault("communication_matrix", [0] * len(full["computation_vector"]) ** 2)
    if inside == "executor_placement" and "mapping" not in full:
        full["strategy"] = full.get("strategy") or "SpreadOverHostsFirst"
    if inside in ("when", "temporal_trigger"):
        unit = 1000 if full.pop("time_unit", "Second") in ("Second", 0) else 1
        full |= {name: full[name] * unit for name in ("time", "period") if name in full}
        full.setdefault("offset", 0)
    return {name: _one_way(name, item) for name, item in full.items() if not _is_none(name, item)}


def _is_none(name: str, value: Any) -> bool:
    return name == "walltime" and value in (-1, None)


def _one_way(name: str, value: Any) -> Any:
    if name in ("host_allocation", "host_ids"):
        return sorted(from_text(value))
    if name == "profile_id":  # without its workload, it is of the job's
        return value.partition("!")[2] or value
    return value
