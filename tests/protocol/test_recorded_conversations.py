"""Every recorded scenario from the scheduler's side: shapes, and what Batsim accepted or not."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from batsched_py.errors import InputError, ProtocolError
from batsched_py.protocol import message_json as codec
from batsched_py.protocol.decision_checks import Referee
from batsched_py.protocol.handshake import codec_for
from batsched_py.workload.batsim_workload import read_workload
from helpers.shared_folder import SHARED

FOLDERS = sorted(SHARED.glob("batsim_transcripts/*/")) if SHARED.is_dir() else []

# What each refusal is about: a reason for the wrong cause would be no better than none.
REASONS = {
    "04b_call_me_later_past": "not later than the current time",
    "04c_call_me_later_equal_now": "not later than the current time",
    "05b_kill_already_completed": "has ended",
    "05e_kill_not_running": "does not run",
    "08b_set_job_metadata_after_completion": "has ended",
    "09b_dynamic_ack_no_profile_reuse": "released with its first job",
    "09f_dynamic_finish_continue_finish": "in an earlier message",
    "09g_dynamic_register_after_finished": "declared finished",
    "09h_dynamic_disabled": "--enable-dynamic-jobs",
    "09x_bad_notify": "expected registration_finished",
    "09x_composed": "composed",
    "09x_dup_job": "exists already",
    "09x_dup_profile": "registered before",
    "09x_id_mismatch": "calls itself",
    "09x_no_subtime": "subtime",
    "09x_unknown_profile": "does not exist",
    "09x_unknown_workload": "does not exist",
    "10b_setstate_without_energy": "--energy",
    "11e_execute_on_unavailable": "not available",
    "12_to_from_job_msg": "has dropped",
    "13_change_job_state": "REJECTED",
    "13b_change_job_state_running_completed": "COMPLETED_SUCCESSFULLY",
    "14c_mapping_bad_size": "mapping",
    "15b_no_sharing_overlap": "in use",
    "16c_mapping_and_storage_mapping": "members",
    "17_err_alloc_commas": "intervals separated by spaces",
    "17_err_alloc_empty": "intervals separated by spaces",
    "17_err_alloc_list": "intervals separated by spaces",
    "17_err_alloc_missing": "alloc",
    "17_err_alloc_negative": "intervals separated by spaces",
    "17_err_alloc_out_of_range": "does not exist",
    "17_err_alloc_reversed": "reversed",
    "17_err_alloc_trailing_space": "intervals separated by spaces",
    "17_err_alloc_wrong_size": "of size 2",
    "17_err_empty_string": "not one of the protocol",
    "17_err_exec_twice": "runs already",
    "17_err_extra_field_4": "members",
    "17_err_job_id_no_bang": "WORKLOAD!NAME",
    "17_err_no_data": "no member data",
    "17_err_no_events": "events is missing",
    "17_err_no_now": "now is missing",
    "17_err_no_timestamp": "timestamp is missing",
    "17_err_not_json": "not one of the protocol",
    "17_err_not_yet_submitted": "never submitted",
    "17_err_now_string": "expected a number",
    "17_err_query_unknown": "not supported",
    "17_err_reject_extra_field": "expected exactly",
    "17_err_reject_then_exec": "has ended",
    "17_err_timestamp_gt_now": "later than the reply's now",
    "17_err_unknown_job": "never submitted",
    "17_err_unknown_type": "no such decision",
    "17_err_unknown_workload": "never submitted",
    "25_wl_res0": "intervals separated by spaces",
    "50_reply_to_ends_call": "too late",
    "55_reregister_profile_after_gc": "registered before",
    "56_gc_profile_shared_by_running_job": "released with its first job",
}
# Scenarios without a message: Batsim refused an input, or had no scheduler, or was not recorded.
NO_EXCHANGE = {
    "11c_events_unknown_not_forwarded": "an event file that Batsim refuses; none is read here",
    "24_no_sched": "Batsim without a scheduler",
    "54_late_bind_ipc": "only the outputs were kept",
}


def exchange(folder: Path) -> list[dict[str, str]]:
    path = folder / "exchange.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def with_exchange() -> list[Path]:
    return [folder for folder in FOLDERS if exchange(folder)]


@pytest.fixture(autouse=True)
def _needs(shared: Path) -> None:
    """Skip without the recordings."""


def judge(folder: Path, referee: Referee) -> tuple[int, str] | None:
    """Let the referee hear the conversation; return the number of what it refuses, and why."""
    for number, record in enumerate(exchange(folder)):
        if record["from"] == "batsim":
            referee.heard(codec.decode_events(record["raw"]))
            continue
        try:
            referee.check(codec.decode_decisions(record["raw"]))
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
    assert codec_for(exchange(folder)[0]["raw"].encode()) is codec
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
