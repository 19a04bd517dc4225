"""What a simulation reads: logs, workloads, platforms, machine files, what happens to machines."""

from __future__ import annotations

import gzip
from math import isfinite
from pathlib import Path

from batsched_py.errors import (
    BatschedError,
    InputError,
    InvariantError,
    LogError,
    PlatformError,
    WorkloadError,
)
from batsched_py.processors.sets import ProcessorSet
from batsched_py.run.simulate import simulate
from batsched_py.simulator.batsim4.external_events import read_events
from batsched_py.simulator.platform.hosts import MAX_HOSTS
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.simulator.platform.platform_writer import scale_xml
from batsched_py.workload import Workload
from batsched_py.workload.batsim.batsim_workload import read_workload, write_workload
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.logs.swf import read_swf, write_swf
from batsched_py.workload.machine_file import read_machine
from fuzz.contract import Target, reasons, refusing, same, words
from fuzz.targets.small_inputs import BUDGETS, jobs

LOG, WORKLOAD, MACHINE = Path("log.swf"), Path("load.json"), Path("machine.toml")
PLATFORM, EVENTS = Path("machine.xml"), Path("events.txt")


def simulated(load: Workload, platform: str | None = None) -> str:
    """Simulate jobs, or refuse them."""
    with refusing(BatschedError):
        try:
            result = simulate(load, platform=platform, budgets=BUDGETS, progress=False)
        except InvariantError as error:
            raise AssertionError(f"a file's fault is told as one of the policy: {error}") from None
    assert len(result.table.submit) == len(load.jobs), "jobs were lost"
    assert result.measured["overall"], "no metrics"
    assert result.jobs_csv(), "no table of jobs"
    return ""


# SWF logs ----------------------------------------------------------------------------------------

_TIDY = b"""; Version: 2.2
; Computer: made up
; UnixStartTime: 820454400
; TimeZoneString: Europe/Berlin
; MaxProcs: 8
; MaxNodes: 8
; Note: written for tests
1 0 5 100 4 -1 -1 4 200 -1 1 3 1 -1 1 1 -1 -1
2 10 0 7 1 6.5 100 1 60 -1 1 4 1 2 1 1 -1 -1
3 12 1 30 -1 -1 -1 8 30 -1 0 3 1 -1 2 1 1 2
4 500 0 0 2 -1 -1 2 -1 -1 5 -1 -1 -1 -1 -1 -1 -1
"""
_UNTIDY = b"""1 20 0 10 1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1

  2 10 0 10.5 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1
; a comment between
3 15 -1 -1 -1 -1 -1 3 10 -1 5 2 1 1 1 1 -1 -1
"""
_OF_LOGS = ["; Queue: ", "; Partition: ", "+25:00", ";", ":", "-1", "\t", "1e3"]


def check_log(data: bytes) -> str:
    """A log that is read is the same when it is written, and its jobs can be simulated."""
    LOG.write_bytes(data)
    return reasons(_read_log, (False, True))


def _read_log(skip: bool) -> str:
    with refusing(LogError, LOG):
        log = read_swf(LOG, skip_bad_lines=skip)
    write_swf("again.swf", log.header_lines, [list(row) for row in log.data])
    again = read_swf("again.swf")
    same(log.data.tolist(), again.data.tolist(), "jobs")
    same(log.header, again.header, "header")
    same(log.max_processors, again.max_processors, "processors")
    with refusing(BatschedError, LOG):
        load = convert_log(log, Rules())
    return simulated(load)


# Batsim's workloads ------------------------------------------------------------------------------

_WORKLOADS = (
    b"""{"nb_res": 4, "jobs": [
{"id": "1", "subtime": 0, "res": 1, "profile": "d", "walltime": 12, "user": "a"},
{"id": "w0!2", "subtime": 1.5, "res": 2, "profile": "h", "finish_time": 20, "estimate": 3},
{"id": 3, "subtime": 1.5, "res": 2, "profile": "p", "walltime": -1, "colour": [1, {"x": null}]},
{"id": "4", "subtime": 30, "res": 4, "profile": "c", "user": 7}],
"profiles": {"d": {"type": "delay", "delay": 10}, "unused": {"type": "delay", "delay": 1},
"h": {"type": "parallel_homogeneous", "cpu": 5e9, "com": 1e6, "ret": 1},
"p": {"type": "parallel", "cpu": [1e9, 2e9], "com": [0, 5e5, 0, 0]},
"c": {"type": "composed", "repeat": 3, "seq": ["d", "t"]},
"t": {"type": "parallel_homogeneous_total", "cpu": 1e9, "com": 0}}}""",
    b"""{"description": "made up", "rules": {"size": "requested"},
"unix_start_time": 820454400, "time_zone": "+01:00", "nb_res": 2, "jobs": [
{"id": "1", "subtime": -5, "res": 2, "profile": "r", "walltime": 5}], "profiles": {
"r": {"type": "recv", "regex": ".*", "on_success": "s", "on_failure": "s", "on_timeout": "s"},
"s": {"type": "send", "msg": {"a": 1}, "sleeptime": 1}}}""",
    b"""{"nb_res": 4, "jobs": [
{"id": "w0!1", "subtime": 0, "res": 1, "profile": "w0!d", "walltime": 12, "other": 3},
{"id": 2, "subtime": 1.5, "res": 2, "profile": "h", "extra_data": {"user": "a", "estimate": 3}},
{"id": "3", "subtime": 2, "res": 4, "profile": "c", "extra_data": "{\\"x\\": [1]}"}],
"profiles": {"w0!d": {"type": "DelayProfile", "delay": 10, "extra_data": {"p": 1}},
"h": {"type": "ParallelTaskHomogeneousProfile", "cpu": 5e9, "com": 1e6, "ret": 1,
"generation_strategy": "DefinedAmountsSpreadUniformly"},
"c": {"type": "SequentialCompositionProfile", "repeat": 3, "seq": ["d", "w0!p"]},
"p": {"type": "ParallelTaskProfile", "cpu": [1e9, 2e9, 0, 0]}}}""",
)
_OF_WORKLOADS = words(
    """
    usage_trace trace parallel_homogeneous_pfs data_staging smpi w1!2 home
    original_submission_time Europe/Berlin TraceReplayProfile trace_type SMPI filename
    ParallelTaskOnStorageHomogeneousProfile ParallelTaskDataStagingBetweenStoragesProfile
    """
)


def check_workload(data: bytes) -> str:
    """A workload that is read is the same when it is written, and can be simulated."""
    WORKLOAD.write_bytes(data)
    with refusing(WorkloadError, WORKLOAD):
        load = read_workload(WORKLOAD, negative_subtimes=True)
        read_workload(WORKLOAD)
    write_workload(load, "again.json")
    again = read_workload("again.json", negative_subtimes=True)
    for name in ("nb_res", "jobs", "rules", "unix_start_time", "time_zone"):
        same(getattr(load, name), getattr(again, name), name)
    # Parts of composed profiles that no job uses are left out only the second time.
    same(load.profiles, load.profiles | again.profiles, "profiles")
    assert {job.profile for job in load.jobs} <= again.profiles.keys(), "profiles were lost"
    return simulated(load)


# Machine files -----------------------------------------------------------------------------------

_LARGE = 10_000
"""Processors of a machine on which nothing is simulated here."""
_MACHINES = (
    b"""field = "queue"
processors = "cores"
nodes = [{name = "thin", count = 3, cores = 4}, {count = 1, cores = 2}]
partitions = [
 {name = "a", number = 1, nodes = "0-2", whole_nodes = true, max_walltime = "7 d", max_nodes = 2},
 {name = "b", nodes = "1-3", tier = 2, priority = 0.5, max_running_jobs_per_user = 1},
]
outages = [{begin = 5, end = 9.5, nodes = "0 3", planned = false, reason = "fire"}]
""",
    b"""processors = "nodes"
nodes = [{count = 8, cores = 4}]
partitions = [{name = "all", over_walltime = "cut", default_walltime = 60, max_processors = 4}]
outages = [{begin = 2, end = 30}, {begin = 20, end = 40, nodes = "1"}]
""",
)


def check_machine(data: bytes) -> str:
    """Partitions are parts of the machine, and every job runs on it or is refused."""
    MACHINE.write_bytes(data)
    with refusing(BatschedError), refusing(InputError, MACHINE):
        described = read_machine(MACHINE)
    size = described.nb_processors
    for part in described.partitions:
        assert part.processors.size % part.unit == 0, "a part of a node"
        assert part.processors.bounds[-1] <= size, "beyond the machine"
    if size > _LARGE:
        return "a large machine"
    load = jobs()
    for job, part in zip(load.jobs, 3 * described.partitions, strict=False):
        job.size = part.whole_nodes(job.size)
        job.extra["partition"] = part.name
    with refusing(BatschedError):
        result = simulate(load, machine=MACHINE, budgets=BUDGETS, progress=False)
    assert len(result.jobs) == len(load.jobs), "a job is missing"
    return ""


# SimGrid's platforms, and what happens to machines -----------------------------------------------

_HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"
_MASTER = '<host id="master_host" speed="1Gf" coordinates="0 0 0"/>'
_PLATFORMS = (
    f"""{_HEAD}<platform version="4.1"><zone id="AS0" routing="Vivaldi">{_MASTER}
<host id="n0" speed="1Gf" coordinates="0 0 0"/><host id="n1" speed="1Gf" coordinates="1 2 0.5"/>
</zone></platform>""",
    f"""<platform version="4.1"><zone id="AS0" routing="Full">
<cluster id="c" prefix="n" suffix=".x" radical="0-2,7" speed="1Gf" bw="1.25GBps" lat="10us"
 bb_bw="10GBps" bb_lat="20us" sharing_policy="SPLITDUPLEX"><prop id="gpu" value="no"/></cluster>
<zone id="front" routing="Full">{_MASTER}</zone><link id="l" bandwidth="1GBps" latency="10us"/>
<zoneRoute src="c" dst="front" gw_src="nc_router.x" gw_dst="master_host"><link_ctn id="l"/>
</zoneRoute></zone></platform>""",
    """<platform version="4.1"><AS id="a" routing="Full"><prop id="site" value="here"/>
<host id="m" speed="100Mf"><prop id="role" value="master"/></host>
<host id="e" speed="1Gf,0.5Gf,1f" pstate="1">
<prop id="wattage_per_state" value="95:105:220,8:9:14,9:9:9"/>
<prop id="wattage_off" value="5"/><prop id="sleep_pstates" value="2:2:2"/></host>
<host id="s" speed="1Gf"><prop id="role" value="storage"/></host>
<link id="l" bandwidth="1GBps" latency="1ms" sharing_policy="FATPIPE"/><router id="r"/>
<route src="m" dst="e" symmetrical="NO"><link_ctn id="l"/></route>
<route src="e" dst="m"><link_ctn id="l"/></route></AS></platform>""",
)
_OF_PLATFORMS = [
    *words(
        """
        cabinet peer backbone host_link trace trace_connect bypassRoute config core None
        """
    ),
    *words(
        """
        Floyd 0-3 0-999999 0-3000000000 3-0 SHARED compute_node 1e308Gf 0f -1f nanf &a;
        """
    ),
    *("<![CDATA[", "<!--", "-->", '<!ENTITY a "b">', "<!ATTLIST host speed CDATA '1Gf'>"),
]
_EVENTS = (
    b'{"type":"machine_unavailable","resources":"0 2-3","timestamp":5}\n'
    b'{"type":"machine_available","resources":"0 2","timestamp":10.5}\n',
    b'\n{"type":"other","timestamp":0,"further":[1]}\n'
    b'{"timestamp":7,"type":"machine_unavailable","resources":"1"}\n',
)


def check_platform(data: bytes) -> str:
    """Of a machine that is read every host computes, one master does not, and jobs run on it."""
    PLATFORM.write_bytes(data)
    with refusing(PlatformError, PLATFORM):
        platform = read_platform(PLATFORM)
    every = [*platform.hosts, *platform.storages]
    assert 0 < len(platform.hosts) <= len(every) <= MAX_HOSTS, "too few hosts or too many"
    assert len({host.name for host in every}) == len(every), "two hosts of one name"
    for host in every[:100]:
        assert all(s > 0 and isfinite(s) for s in host.speeds), f"a speed of {host.speeds}"
        assert 0 <= host.pstate < len(host.speeds), "a pstate that there is not"
    with refusing(PlatformError):
        Path("again.xml").write_text(scale_xml(data, PLATFORM, 2.0))
        twice = read_platform("again.xml")
    same([h.name for h in platform.hosts], [h.name for h in twice.hosts], "hosts")
    return simulated(jobs(), str(PLATFORM)) if len(every) < 1000 else "many hosts"


def check_machine_events(data: bytes) -> str:
    """What happens to machines is in order of time, and to machines that there are."""
    EVENTS.write_bytes(data)
    return reasons(_read_machine_events, (False, True))


def _read_machine_events(forward_unknown: bool) -> str:
    with refusing(InputError, EVENTS):
        events = read_events([EVENTS], 8, forward_unknown=forward_unknown)
    every = ProcessorSet.interval(0, 8)
    assert not any(event.machines - every for event in events), "machines that there are not"
    times = [event.time for event in events]
    same(times, sorted(times), "times")
    return ""


TARGETS = (
    Target("swf", lambda: [_TIDY, _UNTIDY, gzip.compress(_TIDY, mtime=0)], check_log, _OF_LOGS),
    Target("workload", lambda: _WORKLOADS, check_workload, _OF_WORKLOADS),
    Target("machine", lambda: _MACHINES, check_machine, ["reject", "max_processors_per_user"]),
    Target(
        "platform",
        lambda: [text.encode() for text in _PLATFORMS],
        check_platform,
        _OF_PLATFORMS,
    ),
    Target("machine_events", lambda: _EVENTS, check_machine_events),
)
