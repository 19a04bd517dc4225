"""The checks of a drawn world: one function for each."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, note

from batsched_py import Result, Workload
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InputError, UsageError
from batsched_py.model.decisions import Decision, Reject, Start
from batsched_py.model.policy import may_dilate
from batsched_py.plugins import plugins
from batsched_py.plugins.plugins import RIGID, SCHEDULERS, USERS
from batsched_py.schedulers.easy import Easy
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.testing import DrawnJob, workload
from batsched_py.workload.logs.swf import write_swf
from batsched_py.workload.logs.swf_frame import log_from_frame
from helpers.behind_proxy import simulate_behind_proxy
from helpers.waiting import LIMIT, wait_until
from together.invariants import (
    CLOSE,
    Row,
    check_alone,
    check_dependencies,
    check_ledger,
    check_run,
    check_times,
    read_rows,
)
from together.watching import Onlooking, watch
from together.worlds import ACTING, World

ENERGY_PLATFORM = Path(__file__).parents[2] / "platforms" / "energy_16.xml"
IDLE, FULL = 95.0, 220.0
"""Watts of its hosts while they do nothing, and while they compute."""
OF_THE_MOMENT = ["folder", "git_revision", "host", "started", "seconds", "wall_time"]
"""Columns of a campaign's table that differ from one time to the next."""


def simulate(world: World, **changes: Any) -> Result:
    """Simulate a world; one whose options do not go together is left out."""
    try:
        return world.simulate(progress=False, **changes)
    except (UsageError, InputError) as error:
        note(f"refused: {error}")
        assume(False)
        raise


def check_invariants(world: World) -> None:
    """All that is known of any run."""
    check_run(world, simulate(world))


def check_the_same_again(world: World) -> None:
    """A run does not depend on those before it."""
    assert simulate(world).jobs_csv() == simulate(world).jobs_csv()


def check_messages(world: World) -> None:
    """Messages between scheduler and simulator change nothing, not even their own number."""
    assume("each_event" not in world.settings and world.settings.get("shake") is None)
    direct = simulate(world)
    with tempfile.TemporaryDirectory() as folder:
        recorded = simulate(world, record=f"{folder}/messages.jsonl")
    assert direct.jobs_csv() == recorded.jobs_csv()
    assert direct.output.schedule_csv() == recorded.output.schedule_csv()
    assert direct.output.nb_messages == recorded.output.nb_messages
    assert direct.power_changes == recorded.power_changes
    for result in (direct, recorded):
        result.settings.pop("versions")
    assert direct.settings == recorded.settings


def check_no_time_to_sleep(world: World) -> None:
    """Processors that may sleep, but never do, change nothing."""
    assume(world.seconds is not None)
    sleepless = simulate(world, shutdown={"idle_time": inf, "keep": 1})
    usual = simulate(world.always_on())
    assert sleepless.jobs_csv() == usual.jobs_csv()
    assert sleepless.output.schedule_csv() == usual.output.schedule_csv()
    assert sleepless.output.nb_messages == usual.output.nb_messages
    assert not sleepless.power_changes


def check_first_promise(world: World) -> None:
    """EASY's first job begins by the time that it was first promised."""
    assume(world.plain)
    promised: dict[str, float] = {}

    class Promising(Easy):
        def schedule(self, now: float, queue: Any, machine: Any) -> Iterator[Decision]:
            yield from super().schedule(now, queue, machine)
            if self.head is not None:
                promised.setdefault(self.head.id.partition("!")[2], self.shadow_time)

    rows = read_rows(simulate(world, scheduler=Promising, scheduler_options={}))
    # without a limit, a job on slower processors outlives its estimate
    assume(world.settings["speed_factor"] == 1 or all(row.walltime < inf for row in rows))
    for row in rows:
        if row.processors and row.id in promised:
            assert row.start <= promised[row.id] + CLOSE, f"{row}, promised {promised[row.id]}"


def check_causality(world: World) -> None:
    """What is submitted and started until an instant does not depend on what comes after it."""
    assume(world.plain)
    usual = read_rows(simulate(world))
    assume(usual)
    middle = sorted(row.submit for row in usual)[len(usual) // 2]
    other = read_rows(simulate(world, scheduler=_with_other_future(world.policy, middle)))
    until = middle - CLOSE  # the table rounds times
    assert _submissions(usual, until) == _submissions(other, until)
    assert _starts(usual, until) == _starts(other, until)
    assert _withdrawals(usual, until) == _withdrawals(other, until)


def _with_other_future(policy: str, after: float) -> type[Any]:
    """Return the policy, which from ``after`` on runs one job at a time, the last one first."""
    kind = plugins.load(SCHEDULERS, policy)

    def schedule(self: Any, now: float, queue: Any, machine: Any) -> Iterator[Decision]:
        if now <= after:
            yield from kind.schedule(self, now, queue, machine)
            return
        for job in reversed(list(queue)):
            if job.size > machine.nb_processors:
                yield Reject(job)
            elif len(machine.free_processors) == machine.nb_processors:
                yield Start(job)

    return type(kind.__name__, (kind,), {"schedule": schedule})


def _submissions(rows: list[Row], until: float) -> list[tuple[Any, ...]]:
    return sorted((row.submit, row.id, row.user, row.size) for row in rows if row.submit < until)


def _starts(rows: list[Row], until: float) -> list[tuple[Any, ...]]:
    return sorted((row.start, row.id, sorted(row.processors)) for row in rows if row.start < until)


def _withdrawals(rows: list[Row], until: float) -> list[tuple[Any, ...]]:
    return sorted((row.withdrawn, row.id) for row in rows if row.withdrawn < until)


def check_policy(world: World) -> None:
    """A policy learns of each event, and sees only the jobs that may start."""
    simulate(world, scheduler=watch(plugins.load(SCHEDULERS, world.policy)))


def check_onlookers(world: World) -> None:
    """Users who learn of starts and look at the site, but do as before, change nothing."""
    assume(world.users != RIGID)
    kind = plugins.load(USERS, world.users)

    def make(load: Workload, seed: Any, **options: Any) -> Any:
        return Onlooking(plugins.make_users(kind, world.users, load, options, seed))

    assert simulate(world, users=make).jobs_csv() == simulate(world).jobs_csv()


def check_socket(world: World, backend: str) -> None:
    """The simulator in another process gives the bytes that the one in this process gives."""
    assume("each_event" not in world.settings and world.settings["speed_factor"] == 1)
    if world.seconds is not None:  # computed ends are off by 1e-7 s after 1e9 s
        assume(backend == "socket" or world.begins < 1e9)
    embedded, behind = simulate(world), simulate(world, backend=backend)
    here, there = (_without_joules(world, result) for result in (embedded, behind))
    # messages have six decimals
    assert [each[1:] for each in behind.power_changes] == [e[1:] for e in embedded.power_changes]
    times = [each[0] for each in embedded.power_changes]
    assert [each[0] for each in behind.power_changes] == pytest.approx(times, rel=0, abs=CLOSE)
    # Version 5 ends a killed job before the withdrawals behind the kill. Where energy is accounted
    # for, computations that end at one instant come in another order.
    if backend == "socket5" or world.seconds is not None:
        here, there = sorted(here), sorted(there)
    assert here == there


def _without_joules(world: World, result: Result) -> list[str]:
    """Return the table's lines; where processors are switched, only a socket knows their joules."""
    lines = result.jobs_csv().splitlines()
    if world.seconds is None:
        return lines
    at = lines[0].split(",").index("consumed_energy")
    return [
        ",".join(cell for number, cell in enumerate(row) if number != at)
        for row in csv.reader(lines)
    ]


def check_proxy(world: World, protocol: int) -> None:
    """A policy that knows of no users gives the same schedule, but for jobs that are withdrawn."""
    assume(world.plain and world.users != RIGID and "each_event" not in world.settings)
    assume(world.policy != "grid")  # which registers jobs itself
    world = world.always_on()  # it does not know that jobs may come
    inside = simulate(world)
    outside = simulate_behind_proxy(world.resolve(), protocol)
    rows = read_rows(outside)
    check_times(rows)
    check_alone([row for row in rows if row.processors], world.nodes)
    if world.users == ACTING:
        statistics = outside.settings["user_statistics"]
        check_ledger(rows, statistics, outside.settings["notes"])
        check_dependencies(rows, statistics["after"])
    withdrawn = outside.table.withdrawn.any() or inside.table.withdrawn.any()
    if not withdrawn and world.settings.get("shake") is None:
        assert outside.jobs_csv() == inside.jobs_csv()


def check_energy(world: World) -> None:
    """Hosts consume their idle power all the time, and the rest while a job computes on them."""
    platform = read_platform(ENERGY_PLATFORM)
    nb_hosts = len(platform.hosts)
    jobs = [
        DrawnJob(job.submit, min(job.size, nb_hosts), job.run_time, job.run_time + 10)
        for job in world.jobs()
    ]
    kind = plugins.load(SCHEDULERS, world.policy)
    try:
        policy = plugins.make(kind, world.policy, (), world.policy_options)
    except UsageError:
        assume(False)
    options = Options(energy=True, dynamic_jobs=may_dilate(policy, ()))
    simulator = Simulator(platform, [workload(jobs, nb_hosts)], options)
    outcome = simulator.run(DecisionProcess(policy).answer)
    busy = sum(len(job.alloc) * (job.finish_time - job.start_time) for job in outcome.jobs)
    assert outcome.power is not None
    joules = IDLE * nb_hosts * outcome.end + (FULL - IDLE) * busy
    # so little that a job of one second on one host shows after 10^9 s
    assert outcome.power.energy.total(outcome.end) == pytest.approx(joules, rel=1e-11)


def check_resumption(world: World) -> None:
    """A campaign that is killed after its first run, and called again, ends with the same table."""
    simulate(world)  # which leaves out what cannot be simulated
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        header = [f"; {name}: {value}" for name, value in world.log().attrs.items()]
        write_swf(folder / "log.swf", header, log_from_frame(world.log()).data)
        (folder / "test.toml").write_text(_campaign(world))
        _run_campaign(folder, "whole").communicate(timeout=LIMIT)
        first = _run_campaign(folder, "killed")
        wait_until(
            lambda: any(folder.glob("killed/runs/*/out_run.json")) or first.poll() is not None
        )
        first.send_signal(signal.SIGKILL)
        first.communicate(timeout=LIMIT)
        _run_campaign(folder, "killed").communicate(timeout=LIMIT)
        whole, killed = (
            pd.read_csv(folder / out / "results.csv").drop(columns=OF_THE_MOMENT)
            for out in ("whole", "killed")
        )
    assert len(whole) == 3
    pd.testing.assert_frame_equal(whole, killed)


def _run_campaign(folder: Path, out: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "batsched_py", "campaign", "test.toml", "-e", out]
    command += ["--jobs", "1", "--no-report"]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet)


def _campaign(world: World) -> str:
    lines = ["replications = 3", "[run]", 'log = "log.swf"']
    for name, value in world.all_settings().items():
        if name in ("power", "shutdown"):
            value = ",".join(f"{option}={of}" for option, of in value.items())
        if value is not None:
            lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(of)}" for name, of in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
