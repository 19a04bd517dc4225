"""The embedded simulator in Batsim's place, against all recorded exchanges with Batsim."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from batsched_py.decision_process import DecisionProcess
from batsched_py.schedulers.easy import Easy
from helpers.recorded_batsim5 import FOLDERS as FOLDERS_OF_5
from helpers.recorded_batsim5 import return_code
from helpers.recorded_exchanges import (
    Recording,
    Recording5,
    assert_same_events,
    assert_same_files,
    assert_same_files_of_5,
    run,
)
from helpers.shared_folder import SHARED

pytestmark = pytest.mark.usefixtures("shared")

FOLDERS = sorted(SHARED.glob("batsim_transcripts/*/")) if SHARED.is_dir() else []

# What is not done, or deliberately done otherwise, and why; what is said then.
OUT_OF_SCOPE = {
    "16_storage_mapping_pfs": ("storage jobs", "type is 'parallel_homogeneous_pfs'"),
    "16b_storage_role_small": ("storage jobs", "type is 'parallel_homogeneous_pfs'"),
    "16c_mapping_and_storage_mapping": ("storage jobs", "type is 'parallel_homogeneous_pfs'"),
    "24_no_sched": ("no scheduler to be simulated with", "--no-sched: the embedded simulator"),
    "17_err_no_reply": ("a scheduler that is silent: Batsim waits for ever", None),
    "25_wl_res0": ("jobs without processors are refused when they are read", "res = 0: expected"),
}
# Of a job's fields, Batsim alters ids in nested objects, too; we leave them as they are.
SAME_FILES_ONLY = {"25_wl_other_id_keys"}
NO_EXCHANGE = "54_late_bind_ipc"
"""Nothing was recorded but the files, of a scheduler that started the only job at once."""
# Where Batsim ends with return code 0 and without SIMULATION_ENDS, we say that it is a deadlock.
DEADLOCKS = {"09e_dynamic_never_finished_deadlock", "17_err_noop_stall"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_in_batsims_place(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same messages and the same files, or stopped where Batsim stopped."""
    recording = Recording(folder)
    if folder.name == NO_EXCHANGE:
        shutil.copyfile(folder.parent / "20_two_workloads/ideal_4.xml", tmp_path / "ideal_4.xml")
        easy = DecisionProcess(Easy()).answer
        assert run(recording, tmp_path, monkeypatch, capsys, easy).exit_code == 0
        assert_same_files(recording, tmp_path)
        return
    if folder.name in OUT_OF_SCOPE:
        reason, refusal = OUT_OF_SCOPE[folder.name]
        if refusal is None:
            pytest.skip(f"out of scope: {reason}")
        done = run(recording, tmp_path, monkeypatch, capsys)
        assert done.exit_code in (1, 2)
        assert refusal in done.stderr
        return
    done = run(recording, tmp_path, monkeypatch, capsys)
    if not recording.messages:  # the workload or the events were refused
        assert (recording.aborted, done.exit_code, done.echo.seen) == (True, 1, [])
        return
    if folder.name not in SAME_FILES_ONLY:
        assert_same_events(recording, done.echo)
    assert done.echo.nb_replies == len(recording.replies)
    if recording.aborted:
        assert done.exit_code == 1, done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert "deadlock" not in done.stderr  # it went on, where Batsim stopped
        return
    assert done.exit_code == (1 if folder.name in DEADLOCKS else 0), done.stderr
    assert ("deadlock" in done.stderr) is (folder.name in DEADLOCKS)
    assert_same_files(recording, tmp_path)


def test_nearly_all_are_in_scope() -> None:
    """Every recorded scenario is one of the above, and few are out of scope."""
    assert len(FOLDERS) == 141
    assert {folder.name for folder in FOLDERS} >= OUT_OF_SCOPE.keys() | DEADLOCKS
    assert len(OUT_OF_SCOPE) <= 15


# Batsim 5.0.0-rc2 --------------------------------------------------------------------------------


# What is deliberately done otherwise, and why.
OTHER_FILES = {
    "dyn_comma_in_id": "Batsim 5 writes an id with a comma without quotes, which breaks its row",
    "dyn_unicode_extra": "the same of an id with quotes",
    "tiny_delay": "SimGrid rounds times to a nanosecond: a delay of 1e-12 s takes no time there",
}
OTHER_EVENTS = {
    "job_int_id_and_extra": "a user among the free fields is a text, and comes last",
    "probe_no_accumulation": "refused when it is asked for, not when it would first be answered",
}


@pytest.mark.parametrize("folder", FOLDERS_OF_5, ids=lambda folder: folder.name)
def test_in_the_place_of_batsim_5(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same messages and the same files, or stopped where Batsim stopped."""
    recording = Recording5(folder)
    done = run(recording, tmp_path, monkeypatch, capsys)
    rc = return_code(folder)
    if folder.name == "binary_fcfs":
        assert (done.exit_code, "ask for JSON" in done.stderr) == (1, True)
        return
    if rc == "hang":  # it goes on for ever, as there
        assert "all was said" in done.stderr
    elif rc != 0:
        assert done.exit_code in (1, 2), done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert ("deadlock" in done.stderr) is (rc == 1 and bool(recording.messages))
    else:
        assert done.exit_code == 0, done.stderr
    if recording.messages and folder.name not in OTHER_EVENTS:
        assert_same_events(recording, done.echo)
        assert done.echo.nb_replies == len(recording.replies)
    if (rc == 0 or (rc == 1 and recording.messages)) and folder.name not in OTHER_FILES:
        assert_same_files_of_5(recording, tmp_path)
