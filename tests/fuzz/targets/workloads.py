"""Batsim's workload files."""

from __future__ import annotations

from pathlib import Path

from batsched_py.errors import BatschedError, InvariantError, WorkloadError
from batsched_py.run.simulate import simulate
from batsched_py.workload import Workload
from batsched_py.workload.batsim.batsim_workload import read_workload, write_workload
from fuzz.contract import Target, refusal, same, words
from fuzz.targets.small_inputs import BUDGETS

WORKLOAD = Path("load.json")
_SMALL = b"""{"nb_res": 4, "jobs": [
{"id": "1", "subtime": 0, "res": 1, "profile": "d", "walltime": 12, "user": "a"},
{"id": "w0!2", "subtime": 1.5, "res": 2, "profile": "h", "finish_time": 20, "estimate": 3},
{"id": 3, "subtime": 1.5, "res": 2, "profile": "p", "walltime": -1, "colour": [1, {"x": null}]},
{"id": "4", "subtime": 30, "res": 4, "profile": "c", "user": 7}],
"profiles": {"d": {"type": "delay", "delay": 10}, "unused": {"type": "delay", "delay": 1},
"h": {"type": "parallel_homogeneous", "cpu": 5e9, "com": 1e6, "ret": 1},
"p": {"type": "parallel", "cpu": [1e9, 2e9], "com": [0, 5e5, 0, 0]},
"c": {"type": "composed", "repeat": 3, "seq": ["d", "t"]},
"t": {"type": "parallel_homogeneous_total", "cpu": 1e9, "com": 0}}}"""
_OF_A_LOG = b"""{"description": "made up", "rules": {"size": "requested"},
"unix_start_time": 820454400, "time_zone": "+01:00", "nb_res": 2, "jobs": [
{"id": "1", "subtime": -5, "res": 2, "profile": "r", "walltime": 5}], "profiles": {
"r": {"type": "recv", "regex": ".*", "on_success": "s", "on_failure": "s", "on_timeout": "s"},
"s": {"type": "send", "msg": {"a": 1}, "sleeptime": 1}}}"""
_OF_BATSIM5 = b"""{"nb_res": 4, "jobs": [
{"id": "w0!1", "subtime": 0, "res": 1, "profile": "w0!d", "walltime": 12, "other": 3},
{"id": 2, "subtime": 1.5, "res": 2, "profile": "h", "extra_data": {"user": "a", "estimate": 3}},
{"id": "3", "subtime": 2, "res": 4, "profile": "c", "extra_data": "{\\"x\\": [1]}"}],
"profiles": {"w0!d": {"type": "DelayProfile", "delay": 10, "extra_data": {"p": 1}},
"h": {"type": "ParallelTaskHomogeneousProfile", "cpu": 5e9, "com": 1e6, "ret": 1,
"generation_strategy": "DefinedAmountsSpreadUniformly"},
"c": {"type": "SequentialCompositionProfile", "repeat": 3, "seq": ["d", "w0!p"]},
"p": {"type": "ParallelTaskProfile", "cpu": [1e9, 2e9, 0, 0]}}}"""
_TOKENS = words(
    """
    usage_trace trace parallel_homogeneous_pfs data_staging smpi w1!2 home original_submission_time
    Europe/Berlin TraceReplayProfile trace_type SMPI filename
    ParallelTaskOnStorageHomogeneousProfile ParallelTaskDataStagingBetweenStoragesProfile
    """
)


def simulated(load: Workload, platform: str | None = None) -> str:
    """Simulate; return why it was not possible, empty if it was."""
    try:
        result = simulate(load, platform=platform, budgets=BUDGETS, progress=False)
    except InvariantError as error:
        raise AssertionError(f"a file's fault is told as one of the policy: {error}") from None
    except BatschedError as error:
        return refusal(error)
    assert len(result.table.submit) == len(load.jobs), "jobs were lost"
    assert result.measured["overall"], "no metrics"
    assert result.jobs_csv(), "no table of jobs"
    return ""


def check(data: bytes) -> str:
    """A workload that is read is the same when it is written, and can be simulated."""
    WORKLOAD.write_bytes(data)
    try:
        load = read_workload(WORKLOAD, negative_subtimes=True)
        read_workload(WORKLOAD)
    except WorkloadError as error:
        return refusal(error, str(WORKLOAD))
    _check_written(load)
    return simulated(load)


def _check_written(load: Workload) -> None:
    write_workload(load, "again.json")
    again = read_workload("again.json", negative_subtimes=True)
    same((load.nb_res, load.jobs), (again.nb_res, again.jobs), "jobs")
    # Parts of composed profiles that no job uses are left out only the second time.
    same(load.profiles, load.profiles | again.profiles, "profiles")
    assert {job.profile for job in load.jobs} <= again.profiles.keys(), "profiles were lost"
    same(load.rules, again.rules, "rules")
    clock = (load.unix_start_time, load.time_zone)
    same(clock, (again.unix_start_time, again.time_zone), "clock")


TARGETS = (Target("workload", lambda: [_SMALL, _OF_A_LOG, _OF_BATSIM5], check, _TOKENS),)
