"""The embedded simulator in Batsim's place, against all recorded exchanges with Batsim 4.2.0."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from batsched_py.decision_process import DecisionProcess
from batsched_py.schedulers.easy import Easy
from helpers.recorded_exchanges import Recording, assert_same_events, assert_same_files, run
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
