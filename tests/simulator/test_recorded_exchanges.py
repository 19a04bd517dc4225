"""The embedded simulator against recorded exchanges with Batsim 4.2.0."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from conftest import SHARED
from recorded import (
    Recording,
    assert_same_events,
    assert_same_row,
    assert_same_schedule,
    our_rows,
    rows,
    run,
)

from batsched_py.errors import ProtocolError, SimulationError
from batsched_py.simulator.outputs import schedule_csv

FOLDERS = sorted(SHARED.glob("batsim_transcripts/*/")) if SHARED.is_dir() else []

# What is not in the scope of a simulator of computations, and why.
LATER = {
    "02_profile_types_fcfs": "communication",
    "05_kill_jobs": "composed profiles",
    "06_walltimes": "composed profiles",
    "09x_composed": "composed profiles",
    "10_energy_pstates_query": "energy",
    "10b_setstate_without_energy": "energy",
    "11_events": "external events",
    "11b_events_generic": "external events",
    "11c_events_unknown_not_forwarded": "external events",
    "11e_execute_on_unavailable": "external events",
    "12_to_from_job_msg": "messages to jobs",
    "12b_to_from_job_msg": "messages to jobs",
    "13_change_job_state": "CHANGE_JOB_STATE",
    "13b_change_job_state_running_completed": "CHANGE_JOB_STATE",
    "14_mapping_2_exec_per_host": "mappings",
    "14b_mapping_ints": "mappings",
    "14c_mapping_bad_size": "mappings",
    "15_compute_sharing": "compute sharing",
    "16_storage_mapping_pfs": "storage",
    "16b_storage_role_small": "storage",
    "16c_mapping_and_storage_mapping": "storage",
    "17_err_no_reply": "a scheduler that is silent",
    "24_no_sched": "--no-sched",
    "54_late_bind_ipc": "no exchange was recorded",
}


# Where Batsim ends with return code 0 and without SIMULATION_ENDS, we say that it is a deadlock.
DEADLOCKS = {"09e_dynamic_never_finished_deadlock", "17_err_noop_stall"}


def in_scope(aborted: bool) -> list[Path]:
    return [
        folder
        for folder in FOLDERS
        if folder.name not in LATER
        and not folder.name.startswith("25_wl")
        and Recording(folder).aborted is aborted
    ]


@pytest.fixture(autouse=True)
def _needs(shared: Path) -> None:
    """Skip without the recordings."""


@pytest.mark.parametrize("folder", in_scope(aborted=False), ids=lambda folder: folder.name)
def test_same_events_and_same_files(folder: Path) -> None:
    """Every event, in its instant, with its content; and the same jobs file."""
    recording = Recording(folder)
    if folder.name in DEADLOCKS:
        with pytest.raises(SimulationError, match="deadlock"):
            run(recording)
        return
    echo, outcome = run(recording)
    assert_same_events(recording, echo)
    theirs = rows((folder / "out_jobs.csv").read_text())
    ours = our_rows(outcome)
    assert [row["job_id"] for row in ours] == [row["job_id"] for row in theirs]
    exact = recording.exact and folder.name != "21_precision"  # 1e9 s and steps of 1e-7 s
    for our, their in zip(ours, theirs, strict=True):
        if folder.name == "21_precision":
            our["stretch"] = their["stretch"]
        assert_same_row(our, their, exact)
    if exact:
        assert_same_schedule(schedule_csv(outcome), (folder / "out_schedule.csv").read_text())


@pytest.mark.parametrize("folder", in_scope(aborted=True), ids=lambda folder: folder.name)
def test_refuses_what_makes_batsim_abort(folder: Path) -> None:
    """Where Batsim aborts on a reply, the simulator says what is wrong with it."""
    with pytest.raises(ProtocolError) as caught:
        run(Recording(folder))
    unsupported = folder.name == "17_err_query_unknown"
    assert ("not supported" in str(caught.value)) is unsupported
