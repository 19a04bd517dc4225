"""Random worlds for the embedded simulator, and a scheduler that does anything valid in them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.workload import Workload, WorkloadJob

Profiles = dict[str, dict[str, Any]]

# Platforms ---------------------------------------------------------------------------------------

SLEEP = 2
"""The pstate in which hosts sleep: 0 and 1 compute, 3 and 4 are passed."""
SWITCHING = {0: (0.0, 2.0, 0.5), 1: (0.0, 0.25, 4.0)}
"""Seconds to switch a host off (second) and on (third), for even and odd hosts."""
WATTS = [(100.0, 120.0, 200.0), (60.0, 60.0, 90.0), (9.0, 9.0, 9.0), (150, 150, 160), (5, 7, 170)]
"""Idle, least and full power in each pstate."""
_NETWORKS = ("one place", "vivaldi", "cluster")


@dataclass(frozen=True)
class Machine:
    """What a platform file is made of."""

    nb_hosts: int
    network: str
    equal: bool
    energy: bool
    asleep: bool
    """The first host sleeps in the beginning."""

    def speeds(self, host: int) -> tuple[float, ...]:
        """Return the flop/s of a host in each pstate."""
        fast = 1e9 if self.equal or host % 2 == 0 else 0.5e9
        if not self.energy:
            return (fast,)
        _, off, on = SWITCHING[0 if self.equal else host % 2]
        return fast, 0.25e9, 1.0, 1 / off, 1 / on

    def platform(self) -> Platform:
        """Return it as read from its file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "platform.xml")
            path.write_text(f'<platform version="4.1">{self._zone()}</platform>')
            return read_platform(path)

    def _zone(self) -> str:
        master = '<host id="master_host" speed="1Gf" coordinates="0 0 0"/>'
        if self.network == "cluster":
            rest = f'<zone id="m" routing="Full">{master}</zone>'
            return f'<zone id="all" routing="Full">{rest}{self._cluster()}</zone>'
        hosts = "".join(map(self._host, range(self.nb_hosts)))
        return f'<zone id="all" routing="Vivaldi">{master}{hosts}</zone>'

    def _host(self, host: int) -> str:
        return f'<host id="n{host}" {self._pace(host)} {self._place(host)}>{self._power()}</host>'

    def _place(self, host: int) -> str:
        here = "0 0 0" if self.network == "one place" else f"{host} {host % 2} 0.5"
        return f'coordinates="{here}"'

    def _cluster(self) -> str:
        return (
            f'<cluster id="a" prefix="n" suffix="" radical="0-{self.nb_hosts - 1}" bw="100MBps" '
            f'lat="50us" bb_bw="150MBps" bb_lat="20us" '
            f"{self._pace(0)}>{self._power()}</cluster>"
        )

    def _pace(self, host: int) -> str:
        speeds = ",".join(f"{speed!r}f" for speed in self.speeds(host))
        asleep = self.asleep and self.energy and host == 0 and self.network != "cluster"
        return f'speed="{speeds}" pstate="{SLEEP if asleep else 0}"'

    def _power(self) -> str:
        if not self.energy:
            return ""
        watts = ",".join(":".join(map(str, values)) for values in WATTS)
        return (
            f'<prop id="wattage_per_state" value="{watts}"/>'
            f'<prop id="sleep_pstates" value="{SLEEP}:3:4"/>'
        )


@st.composite
def machines(draw: st.DrawFn, *, energy: bool) -> Machine:
    network = draw(st.sampled_from(_NETWORKS))
    return Machine(
        nb_hosts=draw(st.integers(1, 5)),
        network=network,
        equal=network == "cluster" or draw(st.booleans()),
        energy=energy,
        asleep=draw(st.booleans()),
    )


# Workloads ---------------------------------------------------------------------------------------

_FLOPS = st.sampled_from([0.0, 5e8, 1e9, 2e9, 2e9, 3.7e9])
_BYTES = st.sampled_from([0.0, 1e6, 1e7, 1e8, 1.7e8])
_SECONDS = st.sampled_from([0.5, 1.0, 1.0, 2.0, 3.1])
_TIMES = st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 2.5, 4.0, 7.3])
_WALLTIMES = st.sampled_from([None, None, 0.7, 1.0, 2.0, 4.0, 9.0])


@st.composite
def leaves(draw: st.DrawFn, size: int) -> dict[str, Any]:
    """A profile of a job of ``size`` executors that is not composed and needs no message."""
    kind = draw(st.sampled_from(["delay", "homogeneous", "total", "parallel", "parallel", "send"]))
    profile: dict[str, Any]
    if kind == "delay":
        profile = {"type": "delay", "delay": draw(_SECONDS)}
    elif kind == "send":
        profile = {"type": "send", "msg": {"a": size}}
        if draw(st.booleans()):
            profile["sleeptime"] = draw(_SECONDS)
    elif kind == "parallel":
        cpu = draw(st.lists(_FLOPS, min_size=size, max_size=size))
        com = draw(st.lists(_BYTES, min_size=size * size, max_size=size * size))
        profile = {"type": "parallel", "cpu": cpu, "com": com}
    else:
        kind = "parallel_homogeneous" + ("_total" if kind == "total" else "")
        profile = {"type": kind, "cpu": draw(_FLOPS), "com": draw(_BYTES)}
    if draw(st.integers(0, 5)) == 5:
        profile["ret"] = 3
    return profile


@st.composite
def profiles(draw: st.DrawFn, size: int) -> Profiles:
    """Profiles for jobs of one size."""
    drawn: Profiles = {f"s{size}l{at}": draw(leaves(size)) for at in range(draw(st.integers(1, 3)))}
    names = sorted(drawn)
    parts = draw(st.lists(st.sampled_from(sorted(drawn)), min_size=1, max_size=3))
    again = draw(st.integers(1, 3))
    drawn[f"s{size}c"] = {"type": "composed", "seq": parts, "repeat": again}
    if draw(st.booleans()):
        drawn[f"s{size}cc"] = {"type": "composed", "seq": [f"s{size}c", names[0]]}
    return drawn


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    load = Workload(name="random", nb_res=4, jobs=[], profiles={})
    for size in draw(st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True)):
        load.profiles |= draw(profiles(size))
    usable = sorted(load.profiles)
    for number in range(draw(st.integers(1, 7))):
        name = draw(st.sampled_from(usable))
        load.jobs.append(
            WorkloadJob(
                id=f"j{number}",
                submit_time=draw(_TIMES),
                size=int(name[1]),
                profile=name,
                walltime=draw(_WALLTIMES),
            )
        )
    return load


# Worlds ------------------------------------------------------------------------------------------

HABITS = ["ask", "hesitate", "kill", "map", "register", "reject", "slow", "switch"]


@dataclass
class World:
    """A simulation and the scheduler in it."""

    machine: Machine
    options: Options
    loads: list[Workload]
    habits: frozenset[str]
    registered: list[tuple[str, int, dict[str, Any]]]
    """What the scheduler registers: workload, size and profile of jobs."""
    seed: int
    platform: Platform = field(init=False)

    def __post_init__(self) -> None:
        self.platform = self.machine.platform()

    def simulator(self) -> Simulator:
        return Simulator(self.platform, self.loads, self.options)


@st.composite
def worlds(draw: st.DrawFn, *, energy: bool | None = None) -> World:
    """Anything that the simulator does."""
    energy = draw(st.booleans()) if energy is None else energy
    habits = draw(st.frozensets(st.sampled_from(HABITS)))
    dynamic = "register" in habits
    reuse = dynamic and draw(st.booleans())
    options = Options(
        dynamic_jobs=dynamic,
        acknowledge_dynamic_jobs=dynamic and draw(st.booleans()),
        profile_reuse=reuse,
        forward_profiles=draw(st.booleans()),
        compute_sharing=draw(st.booleans()),
        energy=energy,
        trace_machines=draw(st.booleans()),
        shake=draw(st.one_of(st.none(), st.integers(0, 9))),
        each_event=draw(st.sampled_from([False, False, False, True])),
    )
    machine = draw(machines(energy=energy))
    registered = []
    for _ in range(draw(st.integers(1, 5)) if dynamic else 0):
        size = draw(st.integers(1, 3))
        job = (draw(st.sampled_from(["dyn", "w0"])), size, draw(leaves(size)))
        registered += [job] * draw(st.integers(1, 2))
    return World(
        machine,
        options,
        draw(st.lists(workloads(), min_size=not dynamic, max_size=2)),
        habits,
        registered,
        draw(st.integers(0, 99)),
    )


# The scheduler -----------------------------------------------------------------------------------


class Scheduler:
    """Decides at random what Batsim allows, by its ``habits``; starts all it can without any."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = Random(world.seed)
        self.all = ProcessorSet.interval(0, world.machine.nb_hosts)
        self.waiting: dict[str, m.JobDescription] = {}
        self.running: dict[str, ProcessorSet] = {}
        self.rejected: set[str] = set()
        self.killed: set[str] = set()
        self.told: list[str] = []
        self.completed: list[m.JobCompleted] = []
        self.asleep = self.switching = NO_PROCESSORS
        self.patience = 25
        """Calls that it still asks for."""
        self.to_register = list(world.registered) if world.options.dynamic_jobs else []
        self.registering = world.options.dynamic_jobs
        self.registered: list[str] = []
        self.profiles: dict[tuple[str, str], str] = {}
        """The names of registered profiles, by workload and content."""
        self.switches: list[tuple[float, ProcessorSet, str]] = []
        """When each request is carried out, its machines and its pstate."""
        self.decisions: list[m.Event] = []
        self.now = self.until = 0.0
        self.ended = False

    def __call__(self, message: m.Message) -> m.Message:
        for event in message.events:
            self._hear(event)
        if self.ended:
            return m.Message(message.now, [])
        self.decisions = []
        self.now = self.until = message.now
        if self._feels("slow") and self.random.random() < 0.3:
            self.until += self.random.choice([1.0, 2.0, 0.5, 0.1])
        for act in (self._register, self._switch, self._start, self._kill, self._ask, self._wait):
            act()
            if self.random.random() < 0.3:
                self.now = self.until
        return m.Message(self.until, self.decisions)

    def _feels(self, habit: str) -> bool:
        return habit in self.world.habits

    def _say(self, kind: Callable[..., m.Event], **fields: Any) -> None:
        self.decisions.append(kind(timestamp=self.now, **fields))

    # What it hears -------------------------------------------------------------------------------

    def _hear(self, event: m.Event) -> None:
        if isinstance(event, m.SimulationBegins):
            self.asleep = ProcessorSet.of(
                host["id"] for host in event.compute_resources if host["state"] == "sleeping"
            )
        elif isinstance(event, m.JobSubmitted):
            self.told.append(event.job_id)
            if event.job_id not in self.registered:
                self.waiting[event.job_id] = event.job
        elif isinstance(event, m.JobCompleted):
            self.completed.append(event)
            del self.running[event.job_id]
        elif isinstance(event, m.ResourceStateChanged):
            self._switched(event)
        elif isinstance(event, m.SimulationEnds):
            self.ended = True

    def _switched(self, event: m.ResourceStateChanged) -> None:
        self.switching -= event.resources
        self.asleep -= event.resources
        if int(event.state) == SLEEP:
            self.asleep |= event.resources

    # What it does --------------------------------------------------------------------------------

    def _register(self) -> None:
        if not self.registering:
            return
        if not self.world.options.profile_reuse:
            self.profiles.clear()  # an end may have released them
        while self.to_register and self.random.random() < 0.7:
            self._register_one(*self.to_register.pop())
        if not self.to_register:
            self._say(m.Notify, type="registration_finished")
            self.registering = False
        elif self.random.random() < 0.2:
            self._say(m.Notify, type="registration_finished")
            self._say(m.Notify, type="continue_registration")

    def _register_one(self, workload: str, size: int, profile: dict[str, Any]) -> None:
        number = len(self.to_register)
        job_id, content = f"{workload}!d{number}", (workload, repr(profile))
        name = self.profiles.get(content)
        if name is None:
            name = self.profiles[content] = f"p{number}"
            self._say(m.RegisterProfile, workload_name=workload, profile_name=name, profile=profile)
        walltime = self.random.choice([None, 2.0])
        told = m.JobDescription(job_id, self.now, size, name, walltime)
        self._say(m.RegisterJob, job_id=job_id, job=told)
        self.registered.append(job_id)
        self.waiting[job_id] = told

    def _switch(self) -> None:
        if not self.world.options.energy:
            return
        awake = self.all - self.asleep - self.switching
        if self._feels("switch") and self.random.random() < 0.4:
            busy = NO_PROCESSORS
            for alloc in self.running.values():
                busy |= alloc
            pstate = self.random.choice([0, 1, SLEEP])
            fit = awake - busy if pstate == SLEEP else self.all - self.switching
            self._set_state(fit & self._some_machines(), pstate)
        elif self.asleep - self.switching and self.waiting:
            self._set_state(self.asleep - self.switching, 0)

    def _some_machines(self) -> ProcessorSet:
        chosen = self.random.randrange(1, 1 << len(self.all))
        return ProcessorSet.of(host for host in self.all if chosen >> host & 1)

    def _set_state(self, some: ProcessorSet, pstate: int) -> None:
        if some:
            self._say(m.SetResourceState, resources=some, state=str(pstate))
            self.switching |= some
            lasts = max(self._time_to_switch(host, pstate) for host in some)
            self.switches.append((self.now + lasts, some, str(pstate)))

    def _time_to_switch(self, host: int, pstate: int) -> float:
        if pstate == SLEEP:
            return 1 / self.world.machine.speeds(host)[SLEEP + 1]
        return 1 / self.world.machine.speeds(host)[SLEEP + 2] if host in self.asleep else 0.0

    def _start(self) -> None:
        free = self.all - self.asleep - self.switching
        if not self.world.options.compute_sharing:
            for alloc in self.running.values():
                free -= alloc
        for job_id, job in list(self.waiting.items()):
            if self._feels("hesitate") and self.patience and self.random.random() < 0.5:
                continue
            too_wide = job.size > len(self.all) and not self._feels("map")
            if too_wide or (self._feels("reject") and self.random.random() < 0.2):
                self._reject(job_id)
            else:
                free -= self._execute(job_id, job, free)

    def _reject(self, job_id: str) -> None:
        self._say(m.RejectJob, job_id=job_id)
        self.rejected.add(job_id)
        del self.waiting[job_id]

    def _execute(self, job_id: str, job: m.JobDescription, free: ProcessorSet) -> ProcessorSet:
        """Start a job if it fits; return the machines that others cannot have now."""
        size, mapping = job.size, None
        if self._feels("map") and free and (self.random.random() < 0.5 or size > len(free)):
            size = self.random.randint(1, len(free))
            mapping = {str(at): str(self.random.randrange(size)) for at in range(job.size)}
        if size > len(free):
            return NO_PROCESSORS
        some = self.random.sample(list(free), size)
        alloc = ProcessorSet.of(some)
        self._say(m.ExecuteJob, job_id=job_id, alloc=alloc, mapping=mapping)
        self.running[job_id] = alloc
        del self.waiting[job_id]
        return NO_PROCESSORS if self.world.options.compute_sharing else alloc

    def _kill(self) -> None:
        if self._feels("kill") and self.running and self.random.random() < 0.3:
            count = self.random.randint(1, len(self.running))
            some = self.random.sample(sorted(self.running), count)
            self._say(m.KillJob, job_ids=some)
            self.killed.update(some)

    def _ask(self) -> None:
        if self._feels("ask") and self.world.options.energy and self.patience:
            self.patience -= 1  # the answer comes at once, and would be asked about again
            self._say(m.Query, requests={"consumed_energy": {}})

    def _wait(self) -> None:
        """Ask to be called as long as it has something to do, and not for ever."""
        if (self.waiting or self.registering) and self.patience:
            self.patience -= 1
            self._say(m.CallMeLater, time=self.until + self.random.choice([1.0, 0.5, 1.7]))
