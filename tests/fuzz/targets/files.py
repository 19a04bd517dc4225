"""Files that users write: logs, workloads, machines, campaigns, users, accounting records."""

from __future__ import annotations

import gzip
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.accounting.import_log import import_log
from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.systems import oar, pbs, slurm
from batsched_py.accounting.systems.accounting_system import AccountingSystem
from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.errors import (
    BatschedError,
    CampaignFileError,
    InputError,
    InvariantError,
    LogError,
    PlatformError,
    UsageError,
    WorkloadError,
)
from batsched_py.options.budgets import Budgets
from batsched_py.processors.sets import ProcessorSet
from batsched_py.run.settings import Settings
from batsched_py.run.simulate import simulate
from batsched_py.simulator.external_events import read_events
from batsched_py.simulator.platform.hosts import MAX_HOSTS
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.simulator.platform.platform_writer import scale_xml
from batsched_py.testing import DrawnJob, workload
from batsched_py.workload import Workload
from batsched_py.workload.batsim.batsim_workload import read_workload, write_workload
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.held_resources import HeldResources
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.logs.swf import read_swf, write_swf
from batsched_py.workload.machine_file import read_machine
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.empirical_distributions import read_distribution, write_distribution
from batsched_users.behaviour.energy_signal import STATES, read_signal
from batsched_users.models.population_members import read_members
from batsched_users.models.weekly import read_parameters
from fuzz.contract import Target, each, refusing, same
from helpers.accounting_records import as_oar, as_pbs, as_slurm, jobs_of

ROOT = Path(__file__).parents[3]
BUDGETS = Budgets(messages=2000, decisions=2000, jobs=200, jobs_at_once=200)
"""Enough for what ends."""


def jobs() -> Workload:
    """Return six jobs of two users, on a machine of four processors."""
    return workload(
        [
            DrawnJob(0, 2, 10, 20, user="a", finish=10),
            DrawnJob(1, 4, 5, 5, user="b", finish=15),
            DrawnJob(1.5, 1, 2, None, user="a", finish=3.5),
            DrawnJob(20, 3, 7, 3, user="b", finish=27),
            DrawnJob(40, 9, 1, 1, user="a", finish=41),
            DrawnJob(60, 1, 0, 1, user="b", finish=60),
        ],
        4,
    )


def _simulate(load: Workload, **settings: Any) -> None:
    """Simulate jobs, or refuse them."""
    with refusing(BatschedError):
        try:
            result = simulate(load, budgets=BUDGETS, progress=False, **settings)
        except InvariantError as error:
            raise AssertionError(
                f"a fault of a file is reported as the policy's: {error}"
            ) from None
    assert "users" in settings or len(result.table.submit) == len(load.jobs), "jobs were lost"
    assert result.measured["overall"], "no metrics"
    assert result.jobs_csv(), "no table of jobs"


def _written(data: bytes, name: str) -> Path:
    path = Path(name)
    path.write_bytes(data)
    return path


def _read_from(*paths: str) -> list[bytes]:
    """Return the content of files of the project."""
    return [(ROOT / path).read_bytes() for path in paths]


# Logs and Batsim's workloads ----------------------------------------------------------------------

_LOG = b"""; Version: 2.2
; UnixStartTime: 820454400
; TimeZoneString: Europe/Berlin
; MaxProcs: 8
1 20 5 100 4 -1 -1 4 200 -1 1 3 1 -1 1 1 -1 -1

  2 10 0 7.5 1 6.5 100 1 60 -1 1 4 1 2 1 1 -1 -1
; a comment between
3 12 -1 -1 -1 -1 -1 8 30 -1 5 3 1 -1 2 1 1 2
4 500 0 0 2 -1 -1 2 -1 -1 5 -1 -1 -1 -1 -1 -1 -1
"""


def _check_log(data: bytes) -> None:
    """A log that is read is the same when it is written, and its jobs can be simulated."""
    path = _written(data, "log.swf")

    def read(skip: bool) -> None:
        with refusing(LogError, path):
            log = read_swf(path, skip_bad_lines=skip)
        write_swf("again.swf", log.header_lines, [list(row) for row in log.data])
        again = read_swf("again.swf")
        same(log.data.tolist(), again.data.tolist(), "jobs")
        same(log.header, again.header, "header")
        same(log.max_processors, again.max_processors, "processors")
        with refusing(BatschedError, path):
            load = convert_log(log, Rules())
        _simulate(load)

    each(read, False, True)


_WORKLOADS = (
    b"""{"description": "made up", "rules": {"size": "requested"}, "nb_res": 4,
"unix_start_time": 820454400, "time_zone": "+01:00", "jobs": [
{"id": "1", "subtime": -5, "res": 1, "profile": "d", "walltime": 12, "user": "a"},
{"id": "w0!2", "subtime": 1.5, "res": 2, "profile": "h", "finish_time": 20, "estimate": 3},
{"id": 3, "subtime": 1.5, "res": 2, "profile": "p", "walltime": -1, "colour": [1, {"x": null}]},
{"id": "4", "subtime": 30, "res": 4, "profile": "c", "user": 7},
{"id": "5", "subtime": 5, "res": 2, "profile": "r", "walltime": 5}],
"profiles": {"d": {"type": "delay", "delay": 10}, "unused": {"type": "delay", "delay": 1},
"h": {"type": "parallel_homogeneous", "cpu": 5e9, "com": 1e6, "ret": 1},
"p": {"type": "parallel", "cpu": [1e9, 2e9], "com": [0, 5e5, 0, 0]},
"c": {"type": "composed", "repeat": 3, "seq": ["d", "d"]},
"r": {"type": "recv", "regex": ".*", "on_success": "s", "on_failure": "s", "on_timeout": "s"},
"s": {"type": "send", "msg": {"a": 1}, "sleeptime": 1}}}""",
    b"""{"nb_res": 4, "jobs": [
{"id": "w0!1", "subtime": 0, "res": 1, "profile": "w0!d", "walltime": 12, "other": 3},
{"id": 2, "subtime": 1.5, "res": 2, "profile": "h", "extra_data": {"user": "a", "estimate": 3}},
{"id": "3", "subtime": 2, "res": 4, "profile": "c", "extra_data": "{\\"x\\": [1]}"}],
"profiles": {"d": {"type": "DelayProfile", "delay": 10, "extra_data": {"p": 1}},
"h": {"type": "ParallelTaskHomogeneousProfile", "cpu": 5e9, "com": 1e6, "ret": 1,
"generation_strategy": "DefinedAmountsSpreadUniformly"},
"c": {"type": "SequentialCompositionProfile", "repeat": 3, "seq": ["d", "w0!p"]},
"p": {"type": "ParallelTaskProfile", "cpu": [1e9, 2e9, 0, 0]}}}""",
)
_OF_WORKLOADS = """usage_trace trace parallel_homogeneous_pfs data_staging smpi w1!2 home
parallel_homogeneous_total original_submission_time Europe/Berlin TraceReplayProfile trace_type
SMPI filename ParallelTaskOnStorageHomogeneousProfile
ParallelTaskDataStagingBetweenStoragesProfile"""


def _check_workload(data: bytes) -> None:
    """A workload that is read is the same when it is written, and can be simulated."""
    path = _written(data, "load.json")
    with refusing(WorkloadError, path):
        load = read_workload(path, negative_subtimes=True)
        read_workload(path)
    write_workload(load, "again.json")
    again = read_workload("again.json", negative_subtimes=True)
    for name in ("nb_res", "jobs", "rules", "unix_start_time", "time_zone"):
        same(getattr(load, name), getattr(again, name), name)
    # Parts of composed profiles that no job uses are left out only the second time.
    same(load.profiles, load.profiles | again.profiles, "profiles")
    assert {job.profile for job in load.jobs} <= again.profiles.keys(), "profiles were lost"
    _simulate(load)


# Machines, and what happens to them ---------------------------------------------------------------

_MACHINE = b"""field = "queue"
processors = "cores"
nodes = [{name = "thin", count = 3, cores = 4}, {count = 1, cores = 2}]
partitions = [
 {name = "a", number = 1, nodes = "0-2", whole_nodes = true, max_walltime = "7 d", max_nodes = 2},
 {name = "b", nodes = "1-3", tier = 2, priority = 0.5, max_running_jobs_per_user = 1},
]
outages = [{begin = 5, end = 9.5, nodes = "0 3", planned = false, reason = "fire"}]
"""
_GPU_MACHINE = b"""resources = "held.csv"
nodes = [{names = "g[1-2]", cores = 4, gpus = 2, memory = "1 GiB"}, {count = 2, cores = 2}]
partitions = [{name = "g", nodes = "0-1"}, {name = "all", whole_nodes = true}]
limits = [{of = "partition:g", per = "user", gpus = 3, cpus = 4}, {jobs = 2, memory = 100}]
"""
_OF_MACHINES = """reject cut over_walltime default_walltime max_processors max_processors_per_user
unit gpu core qos:1 account:1 user:1"""


def _check_machine(data: bytes) -> None:
    """Partitions are parts of the machine, and every job runs on it or is refused."""
    path = _written(data, "machine.toml")
    with refusing(BatschedError), refusing(InputError, path):
        described = read_machine(path)
    for part in described.partitions:
        assert part.processors.size % part.unit == 0, "a part of a node"
        assert part.processors.bounds[-1] <= described.nb_processors, "beyond the machine"
    load = jobs()
    for job, part in zip(load.jobs, 3 * described.partitions, strict=False):
        job.size = part.whole_nodes(job.size)
        job.extra |= {"partition": part.name, "gpus": 1, "memory_mib": 60}
    if described.nb_processors <= 10_000:
        _simulate(load, machine=path)


_PLATFORM = b"""<platform version="4.1"><AS id="a" routing="Full"><prop id="site" value="here"/>
<host id="m" speed="100Mf"><prop id="role" value="master"/></host>
<host id="e" speed="1Gf,0.5Gf,1f" pstate="1">
<prop id="wattage_per_state" value="95:105:220,8:9:14,9:9:9"/>
<prop id="wattage_off" value="5"/><prop id="sleep_pstates" value="2:2:2"/></host>
<host id="s" speed="1Gf"><prop id="role" value="storage"/></host>
<link id="l" bandwidth="1GBps" latency="1ms" sharing_policy="FATPIPE"/><router id="r"/>
<route src="m" dst="e" symmetrical="NO"><link_ctn id="l"/></route>
<route src="e" dst="m"><link_ctn id="l"/></route></AS></platform>"""
_OF_PLATFORMS = """cabinet peer backbone host_link trace trace_connect bypassRoute config core None
Vivaldi Floyd coordinates 0-3 0-999999 0-3000000000 3-0 SHARED compute_node 1e308Gf 0f -1f nanf &a;
<![CDATA[ <!-- --> <!ENTITY <!ATTLIST"""


def _check_platform(data: bytes) -> None:
    """Of a machine that is read every host computes, one master does not, and jobs run on it."""
    path = _written(data, "machine.xml")
    with refusing(PlatformError, path):
        platform = read_platform(path)
    every = [*platform.hosts, *platform.storages]
    assert 0 < len(platform.hosts) <= len(every) <= MAX_HOSTS, "too few hosts or too many"
    assert len({host.name for host in every}) == len(every), "two hosts of one name"
    for host in every[:100]:
        assert all(s > 0 and isfinite(s) for s in host.speeds), f"a speed of {host.speeds}"
        assert 0 <= host.pstate < len(host.speeds), "a pstate that there is not"
    with refusing(PlatformError):
        Path("again.xml").write_text(scale_xml(data, path, 2.0))
        twice = read_platform("again.xml")
    same([h.name for h in platform.hosts], [h.name for h in twice.hosts], "hosts")
    if len(every) < 1000:
        _simulate(jobs(), platform=str(path))


_EVENTS = b"""{"type":"machine_unavailable","resources":"0 2-3","timestamp":5}
{"type":"machine_available","resources":"0 2","timestamp":10.5}

{"timestamp":17,"type":"machine_unavailable","resources":"1"}
"""


def _check_machine_events(data: bytes) -> None:
    """What happens to machines is in order of time, and to machines that there are."""
    path = _written(data, "events.txt")

    def read(forward_unknown: bool) -> None:
        with refusing(InputError, path):
            events = read_events([path], 8, forward_unknown=forward_unknown)
        every = ProcessorSet.interval(0, 8)
        assert not any(event.machines - every for event in events), "machines that there are not"
        times = [event.time for event in events]
        same(times, sorted(times), "times")

    each(read, False, True)


# Campaigns and users ------------------------------------------------------------------------------

_BASE = b'[run]\nlog = "sample"\nnodes = [64, 128]\nsites = "west:96,east:32@1.5"\nshake = 3\n'
_CAMPAIGNS = (
    b"""name = "study"
keep = "metrics"
metric = "mean_waiting_time"
replications = 2
[run]
log = ["sample"]
size = ["requested", "allocated"]
system = ["easy", "fast"]
users = "feedback"
user_options = { sessions = "arrival:60" }
warm_up = "1 day"
[system]
easy = { scheduler = "easy" }
fast = { scheduler = "fcfs", speed_factor = 2.0 }
[[include]]
system = "easy"
shake = [1, 2]
[[exclude]]
size = "allocated"
system = "fast"
[quick]
size = "requested"
""",
    b'extends = "base.toml"\n[run]\nscheduler = "fcfs"\n[run.scheduler_options]\ndepth = 1\n',
)
_OF_CAMPAIGNS = " ".join(
    [
        "title report measure hint file.py:function study.toml jobs max:0 1week",
        *Settings.__struct_fields__,
    ]
)


def _check_campaign(data: bytes) -> None:
    """The runs of a campaign file that is read can be stored and read again."""
    path = _written(data, "study.toml")
    Path("base.toml").write_bytes(_BASE)

    def read(quick: bool) -> None:
        with refusing(UsageError, path), refusing(CampaignFileError, ".toml"):
            campaign = read_campaign(path, quick=quick)
        assert campaign.runs, "a campaign without runs"
        runs = [msgspec.json.encode(run) for run in campaign.runs]
        again = [msgspec.json.decode(run, type=type(campaign.runs[0])) for run in runs]
        same(campaign.runs, again, "runs")

    each(read, False, True)


_POPULATIONS = (
    b"""[[member]]
model = "feedback"
share = 0.5
options.sessions = "max:20"

[[member]]
name = "machines"
model = "rigid"
rest = true
""",
    b'[[member]]\nname = "few"\nmodel = "rigid"\nusers = ["a", "b"]\n',
)
_OF_POPULATIONS = """seed arrival:0 last:5 site weekly fluid synthetic weeks nb_users tbuos
distribution population file resampled adjusted"""


def _check_population(data: bytes) -> None:
    """Users of a population that is read can be simulated."""
    path = _written(data, "people.toml")
    with refusing(InputError, path):
        members = read_members(path)
    assert members, "a population of nobody"
    _simulate(jobs(), users="population", user_options={"file": str(path)})


def _check_parameters(data: bytes) -> None:
    """Users of parameters that are read can be simulated."""
    path = _written(data, "weekly.json")
    with refusing(InputError, path):
        read_parameters(path)
    _simulate(jobs(), users="weekly", user_options={"parameters": str(path), "weeks": 0.1})


def _check_distribution(data: bytes) -> None:
    """A distribution that is read is the same when it is written."""
    path = _written(data, "sizes.json")
    with refusing(InputError, path):
        distribution = read_distribution(path)
    write_distribution("again.json", distribution)
    again = read_distribution("again.json")
    same(distribution.about, again.about, "what it is of")
    same(distribution.pairs, again.pairs, "pairs")


_SIGNALS = (
    b"time,state\n0,green\n3600,yellow\n7200.5,red\n",
    b"time,gCO2eq/kWh\n2024-01-15T00:00Z,310\n2024-01-15T02:00+01:00,290.5\n",
)
_OF_SIGNALS = """2024-02-29T23:59 0001-01-01T00:00Z 9999-12-31T23:59-12:00 1705276800 1e300
2024-01-15T00:00"""


def _check_signal(data: bytes) -> None:
    """A signal that is read says at each time how it is, and its times add up."""
    path = _written(data, "signal.csv")
    has_states = b"state" in data.partition(b"\n")[0]
    limits = {} if has_states else {"yellow_from": 200.0, "red_from": 300.0}

    def read(repeats: bool) -> None:
        with refusing(BatschedError, path):
            signal = read_signal(
                str(path), Calendar(zone="Europe/Paris"), repeats=repeats, **limits
            )
        spans = [span for state in STATES for span in signal.spans(state, 0, 86400)]
        assert abs(sum(end - begin for begin, end in spans) - 86400) < 1, "times that do not add up"
        for now in (-1e9, 0.0, 3600.0, 1e9):
            assert signal.state(now) in STATES, "a state that is none"
            assert signal.better_from(now) > now, "better before it is worse"

    each(read, False, True)


# Accounting records -------------------------------------------------------------------------------

_SALT = "a salt of the fuzzer"
_RECORDED = jobs_of([[7, 0, 5, 100, 4, -1, -1, 4, 600, -1, 1, 3, 1, 2, 1, 1, -1, -1]])
_SLURM, _PBS, _OAR = (write(_RECORDED, 1709287200) for write in (as_slurm, as_pbs, as_oar))
_HELD = (  # what jobs hold besides processors, and runs after the first
    "JobID|User|Partition|Submit|Start|End|NNodes|AllocCPUS|ReqCPUS|ReqMem|ReqTRES|AllocTRES|ReqGRES"
    "|State|Restarts|Reason|Reservation|Exclusive|NodeList\n"
    "7|a|p|1709287200|1709287200|1709287300|2|8|4|4Gc|cpu=4,gres/gpu=1,mem=4G|cpu=8,gres/gpu:x=1"
    "|gpu:2|PREEMPTED|0|BeginTime|r|YES|n[1-2]\n"
    "7|a|p|1709287300|1709287400|1709287500|1|4|4|4Gn|||gpu:x:1|COMPLETED|1|||NO|n1\n",
    "03/01/2024 12:10:00;R;7.s;user=a queue=q ctime=1709287200 start=1709287260 end=1709287300 "
    "exec_host=n1/0*4+n2/0*8 exec_vnode=(n1:ncpus=4:ngpus=1:mem=4gb)+(n2:ncpus=4+n2[1]:ncpus=4) "
    "Resource_List.select=1:ncpus=4:ngpus=1:mem=4gb+1:ncpus=8 Resource_List.place=excl\n"
    "03/01/2024 12:30:00;E;7.s;user=a queue=q ctime=1709287200 start=1709287360 end=1709287400 "
    "exec_host=n1/0*4 exec_vnode=(n1:ncpus=4:naccelerators=1) run_count=2\n",
    "job_id,state,submission_time,start_time,stop_time,nb_resources,nb_nodes,nb_gpus,hosts,types\n"
    "7,Error,1709287200,1709287260,1709287300,4,1,2,n1,besteffort\n"
    "8,Terminated,1709287200,1709287260,1709287300,1,1,1,n1,\n",
)
_OF_RECORDS = """| ; UNLIMITED Unknown n[1-3,7] [ ] NULL + * / = , 5_7 9_[1-3] 8+1 9.batch 98[4].s
4K 4Gn Partition_Limit CANCELLED COMPLETED Terminated Running PENDING ReqMem TotalCPU Eligible
Elapsed 1-23:00:00 00:00.5 2024-03-31T02:30:00 2024-10-27T02:30:00 1709287200 99999999999 02:00:00
exec_host=n1/0*8+n2/0-3,5 exec_vnode=(n1:ncpus=8:mem=4kb)+(n2:ncpus=5) besteffort inner=1 hosts
Resource_List.select=2:ncpus=8+1 Resource_List.nodes=2:ppn=2+node7 Resource_List.nodect=2
resources_used.cput=00:00:04 resources_used.mem=4000kb Resource_List.mem=4gb"""


def _check_records(system: type[AccountingSystem], data: bytes) -> None:
    """What is written is a log, and a machine; names that are secret stay so."""
    Path("records").write_bytes(data)

    def read(salt: str | None) -> None:
        tolerant = salt is not None
        options = ImportOptions(
            skip_bad_lines=tolerant,
            anonymise=tolerant,
            salt=salt,
            time_zone="Europe/Paris",
            job_names=True,
            runs="last" if tolerant else "keep",
        )
        with refusing(InputError, "records"):
            done = import_log(system, ["records"], Path("out.swf"), options)
        log = read_swf("out.swf")
        assert len(log) == done.nb_jobs > 0
        assert not log.notes, log.notes
        machine = read_machine("out_machine.toml")
        assert machine.nb_processors == log.max_processors
        HeldResources("out_resources.csv", log)
        assert _SALT not in Path("out_names.csv").read_text() + "".join(log.header_lines)

    each(read, None, _SALT)


TARGETS = (
    Target(
        "swf",
        lambda: [_LOG, gzip.compress(_LOG, mtime=0)],
        _check_log,
        "; Queue: Partition: +25:00",
    ),
    Target("workload", lambda: _WORKLOADS, _check_workload, _OF_WORKLOADS),
    Target("machine", lambda: [_MACHINE, _GPU_MACHINE], _check_machine, _OF_MACHINES),
    Target(
        "platform",
        lambda: [_PLATFORM, *_read_from("platforms/cluster_128.xml", "platforms/m512.xml")],
        _check_platform,
        _OF_PLATFORMS,
    ),
    Target("machine_events", lambda: [_EVENTS], _check_machine_events, "other"),
    Target("campaign_file", lambda: _CAMPAIGNS, _check_campaign, _OF_CAMPAIGNS),
    Target("population", lambda: _POPULATIONS, _check_population, _OF_POPULATIONS),
    Target(
        "weekly", lambda: _read_from("users/batsched_users/data/weekly.json"), _check_parameters
    ),
    Target(
        "distribution",
        lambda: _read_from("users/batsched_users/data/site_par/sizes.json"),
        _check_distribution,
        "quantiles remarks observations",
    ),
    Target("signal", lambda: _SIGNALS, _check_signal, _OF_SIGNALS),
    *(
        Target(
            system.name,
            partial(
                lambda text, held: [
                    *(text.encode(), text.replace("\n", "\r\n").encode(), held.encode())
                ],
                content,
                held,
            ),
            partial(_check_records, system),
            _OF_RECORDS,
        )
        for system, content, held in zip(
            (slurm.Slurm, pbs.Pbs, oar.Oar), (_SLURM, _PBS, _OAR), _HELD, strict=True
        )
    ),
)
