"""What must hold in every run, checked on the table of jobs alone.

Nothing here uses what the simulator or the policies are made of: a table is parsed anew, and what
a job, a machine file or EASY mean is written once more, as simply as possible.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import inf, nan
from typing import Any, NamedTuple

import pytest

from batsched_py import Result
from together.worlds import ACTING, Job, Machine, World

PACKING = (
    "easy",
    "easy_fast",
    "easy_fixed",
    "conservative_streit",
    "creasy",
    "fair_share",
    "fcfs",
    "multifactor",
    "ups",
)
"""Policies that place jobs by the memory of nodes."""

CLOSE = 1e-4
"""Seconds: tables have six decimals, of which times after 10^9 s keep fewer."""


FOLLOWS = {
    "awake": ("switching_off", ""),
    "switching_off": ("asleep", ""),
    "asleep": ("switching_on", ""),
    "switching_on": ("awake", ""),
}
"""The states that a processor may enter from another, and the end."""


class Row(NamedTuple):
    """A job in the table of a run; times in seconds."""

    id: str
    user: str
    submit: float
    start: float
    end: float
    size: int
    walltime: float
    """inf if it has none."""
    processors: frozenset[int]
    state: str
    withdrawn: float
    """When its user withdrew it, inf if never."""
    waking: float
    """Seconds before the start in which its processors were woken."""

    @property
    def bound(self) -> float:
        """When it got its processors."""
        return self.start - self.waking

    @property
    def left(self) -> float:
        """When it left the queue."""
        return min(self.bound, self.withdrawn)


def read_rows(result: Result) -> list[Row]:
    """Return the jobs of a run; those that never started have no processors and start never."""
    rows = []
    for cells in csv.DictReader(result.jobs_csv().splitlines()):
        processors: set[int] = set()
        for part in cells["allocated_resources"].split():
            first, _, last = part.partition("-")
            processors |= set(range(int(first), int(last or first) + 1))
        requested = float(cells["requested_time"])
        withdrawn = cells["final_state"] == "WITHDRAWN"
        ran = not withdrawn and cells["final_state"] != "REJECTED"
        if not ran:
            assert cells["starting_time"] == cells["finish_time"] == ""
        start = float(cells["starting_time"]) if ran else inf
        # Batsim writes 10 microseconds for a zero-length job
        lasted = float(cells["execution_time"]) if ran else 0.0
        end = start if lasted < CLOSE else float(cells["finish_time"])
        rows.append(
            Row(
                cells["job_id"],
                cells["user"],
                float(cells["submission_time"]),
                start,
                end,
                int(cells["requested_number_of_resources"]),
                inf if requested < 0 else requested,
                frozenset(processors),
                cells["final_state"],
                float(cells["withdrawal_time"]) if withdrawn else inf,
                float(cells.get("waking") or 0),
            )
        )
    return rows


def check_run(world: World, result: Result) -> None:
    """Hold a run against everything that is known about it."""
    rows = read_rows(result)
    ran = [row for row in rows if row.processors]
    check_times(rows)
    check_alone(ran, world.nodes)
    check_memory(world, ran)
    if world.seconds is not None:
        check_power(world, result, ran)
    after: dict[str, list[str]] = {}
    if world.users == ACTING:
        statistics = result.settings["user_statistics"]
        after = {name: befores for name, befores in statistics["after"].items() if befores}
        check_ledger(rows, statistics, result.settings["notes"])
        check_dependencies(rows, after)
    queued = hold(rows, after)
    if world.users == "rigid" and world.settings.get("split") is None:
        check_jobs_of_the_log(world, rows)
    if world.machine is not None:
        check_partitions(world, world.machine, ran)
    if world.sites is None:
        assert all(len(row.processors) >= row.size for row in ran)
    if world.plain:
        assert all(len(row.processors) == row.size for row in ran)
        # where processors sleep, nobody knows which withdrawn jobs were bound
        known = world.seconds is None or all(row.withdrawn == inf for row in rows)
        if not {"limits", "reservations"} & set(world.policy_options):
            fit = {row.id: row.size <= world.nodes for row in queued}
            assert all(fit[row.id] == (row.state != "REJECTED") for row in queued)
            if known:
                check_never_idle(world, queued)
        # with each_event a job that is submitted as another ends finds it still running
        if known and not {"shake", "each_event"} & set(world.settings):
            check_queue(world, queued)
    check_counts(result, rows, ran)


def check_counts(result: Result, rows: Sequence[Row], ran: Sequence[Row]) -> None:
    """The metrics of a run have its numbers of jobs, and their mean wait."""
    waits = [row.start - row.submit for row in ran]
    if waits:
        mean = sum(waits) / len(waits)
        assert result.metrics["mean_waiting_time"] == pytest.approx(mean, abs=CLOSE)
    assert result.metrics["nb_ran"] == len(ran)
    nb_withdrawn = sum(row.withdrawn < inf for row in rows)
    assert result.metrics["nb_rejected"] == len(rows) - len(ran) - nb_withdrawn
    assert result.metrics.get("nb_withdrawn", 0) == nb_withdrawn


def check_times(rows: Sequence[Row]) -> None:
    """Each job is there once; it is rejected, or runs after its submission and to its walltime."""
    assert max(Counter(row.id for row in rows).values(), default=1) == 1
    for row in rows:
        if row.processors:
            assert row.submit <= row.start <= row.end
            assert row.end - row.start <= row.walltime + CLOSE
        elif row.state == "WITHDRAWN":
            assert row.submit <= row.withdrawn < inf
        else:
            assert row.state == "REJECTED"


def check_ledger(rows: Sequence[Row], statistics: dict[str, Any], notes: Sequence[str]) -> None:
    """The table has what the users learned: each job that they submitted ended, once, in a way."""
    jobs = statistics["jobs"]
    assert sorted(jobs) == sorted(row.id for row in rows)
    for row in rows:
        state, submit, start, end = jobs[row.id]
        assert row.state == state
        assert row.submit == pytest.approx(submit, abs=CLOSE)
        assert row.start == (inf if start is None else pytest.approx(start, abs=CLOSE))
        if state != "REJECTED":
            assert min(row.end, row.withdrawn) == pytest.approx(end, abs=CLOSE)
    too_late = [int(note.split()[0]) for note in notes if "came too late" in note]
    assert too_late == [nb for nb in [statistics["too_late"]] if nb]


def check_dependencies(rows: Sequence[Row], after: dict[str, list[str]]) -> None:
    """No job starts before all jobs that it depends on have ended well; else it is withdrawn."""
    by_id = {row.id: row for row in rows}
    for name, befores in after.items():
        row = by_id[name]
        for before in map(by_id.__getitem__, befores):
            if before.state == "COMPLETED_SUCCESSFULLY":
                assert row.start >= before.end - CLOSE
            else:
                assert row.state == "WITHDRAWN"
                failed = min(before.end, before.withdrawn)
                assert failed == inf or row.withdrawn <= max(failed, row.submit) + CLOSE


def hold(rows: Sequence[Row], after: dict[str, list[str]]) -> list[Row]:
    """Return the jobs that came into the queue, submitted when the policy could see them."""
    by_id, queued = {row.id: row for row in rows}, []
    for row in rows:
        befores = [by_id[before] for before in after.get(row.id, ())]
        release = max([row.submit, *(before.end for before in befores)])
        well = all(before.state == "COMPLETED_SUCCESSFULLY" for before in befores)
        if well and (not befores or row.processors or release < row.withdrawn):
            queued.append(row._replace(submit=release))
    return queued


def check_alone(ran: Sequence[Row], nb_processors: int) -> None:
    """No processor runs two jobs at a time, and jobs have processors of the machine only."""
    busy = defaultdict(list)
    for row in ran:
        for processor in row.processors:
            busy[processor].append((row.bound, row.end, row.id))
    assert all(0 <= processor < nb_processors for processor in busy)
    slack = CLOSE if any(row.waking for row in ran) else 0.0
    for processor, intervals in busy.items():
        for (_, end, before), (start, _, after) in pairwise(sorted(intervals)):
            assert end <= start + slack, f"processor {processor}: {before} and {after}"


def check_power(world: World, result: Result, ran: Sequence[Row]) -> None:
    """No job waits longer for its processors than a switch off and on; none runs on sleepers.

    Joules are sums of times and watts.
    """
    assert world.seconds is not None
    states: dict[int, list[tuple[float, str]]] = {at: [] for at in range(world.nodes)}
    for time, processors, state in result.power_changes:
        for processor in processors:
            states[processor].append((time, state))
    for row in ran:
        assert row.waking <= sum(world.seconds) + CLOSE
        assert row.bound >= row.submit - CLOSE
    last = max((row.end for row in ran), default=0.0)
    power, joules = world.settings["power"], 0.0
    watts = {"awake": power["idle_watts"], "asleep": power["asleep_watts"]}
    watts["switching_off"] = power["off_joules"] / power["off_seconds"]
    watts["switching_on"] = power["on_joules"] / power["on_seconds"]
    for processor, changes in states.items():
        mine = [row for row in ran if processor in row.processors]
        joules += sum(row.end - row.start for row in mine) * power["computing_watts"]
        joules -= sum(row.end - row.start for row in mine) * power["idle_watts"]
        before, since = "awake", 0.0
        for time, state in [*changes, (inf, "")]:
            assert state in FOLLOWS[before], f"processor {processor} at {time}: {before}, {state}"
            if before in ("switching_off", "switching_on") and time < inf:
                lasts = world.seconds[before == "switching_on"]
                assert time - since == pytest.approx(lasts, abs=CLOSE)
            if before != "awake":
                for row in mine:
                    assert row.end <= since + CLOSE or row.start >= time - CLOSE
            joules += max(0.0, min(time, last) - since) * watts[before]
            before, since = state, time
    if not ran:  # then there is no last end
        joules = nan
    assert result.metrics["energy"] == pytest.approx(joules, rel=1e-9, abs=1.0, nan_ok=True)


def check_jobs_of_the_log(world: World, rows: Sequence[Row]) -> None:
    """They come when they were recorded, and last as long, on such a machine, or until killed."""
    jobs = {str(job.number): job for job in world.jobs()}
    assert sorted(jobs) == sorted(row.id for row in rows)
    for row in rows:
        job = jobs[row.id]
        assert (row.submit, row.user) == (job.submit, str(job.user))
        if row.processors and world.sites is None:
            slower = world.settings["profile"] == "parallel_homogeneous"
            limit = walltime_of(world, job)
            run_time = recorded_run_time(world, job)
            run_time /= world.settings["speed_factor"] if slower else 1
            assert row.walltime == pytest.approx(limit)
            assert row.end - row.start == pytest.approx(min(run_time, limit), abs=CLOSE)
            if abs(run_time - limit) > CLOSE:
                assert ("WALLTIME" in row.state) == (run_time > limit)
            if world.machine is None:
                assert row.size == job.size


def recorded_run_time(world: World, job: Job) -> float:
    """Return the run time by the rule for it."""
    if world.settings["runtime"] == "recorded":
        return job.run_time
    if job.requested > 0:
        return min(job.run_time, job.requested)
    # who asks for no time asks for that of the partition
    limits = dict(world.machine.partitions[job.partition - 1].limits) if world.machine else {}
    return min(job.run_time, limits.get("max_walltime", job.run_time))


def walltime_of(world: World, job: Job) -> float:
    """Return the limit of a job by the rule for it; the default gives each job at least 1 s."""
    if world.walltime == "exact":
        return inf
    least = 1 if world.walltime == "double" else 0
    asked = [job.requested] if job.requested >= 0 else []
    twice = [2 * job.run_time, least] if world.walltime == "double" else []
    limit: float = max([*asked, *twice], default=inf)
    if world.machine is not None:
        limits = dict(world.machine.partitions[job.partition - 1].limits)
        most = limits.get("max_walltime", inf)
        limit = most if limit == inf else max(min(limit, most), job.requested)
    return limit


def check_partitions(world: World, machine: Machine, ran: Sequence[Row]) -> None:
    """Jobs keep to outages, and those of the log to the nodes and limits of their partition."""
    for row in ran:
        for begin, end, node, planned in machine.outages:
            if row.processors & machine.processors(node, node):
                assert not begin + CLOSE < row.start < end
                if planned and row.start <= begin + CLOSE:  # the table rounds
                    assert min(row.end, row.start + row.walltime) <= begin + CLOSE
    if world.users not in ("rigid", "feedback"):
        return
    partition_of = {str(job.number): job.partition for job in world.jobs()}
    for number, part in enumerate(machine.partitions, 1):
        of_part = [row for row in ran if partition_of.get(row.id) == number]
        limits = dict(part.limits)
        for row in of_part:
            assert row.processors <= machine.processors(*part.nodes)
            assert world.walltime == "exact" or row.walltime <= limits.get("max_walltime", inf)
            if part.whole_nodes:
                of_nodes = Counter(processor // machine.cores for processor in row.processors)
                assert set(of_nodes.values()) == {machine.cores}
        most = {
            name: limits.get(f"max_{name}_per_user", inf) for name in ("running_jobs", "processors")
        }
        check_use(of_part, "user", *most.values())
    for of, per, resource, limit in machine.limits:
        kind, _, name = of.partition(":")
        bound = [
            row
            for row in ran
            if not kind or name == (row.user if kind == "user" else f"p{partition_of[row.id]}")
        ]
        check_use(bound, per, **{resource: limit})


def check_memory(world: World, ran: Sequence[Row]) -> None:
    """No node has less memory than the jobs that it runs at a time; each node holds as much."""
    machine, replay = world.machine, world.users in ("rigid", "feedback")
    if machine is None or not machine.memory or not replay or world.policy not in PACKING:
        return
    changes = []
    for row in ran:
        if row.end > row.start:
            nodes = {processor // machine.cores for processor in row.processors}
            share = -(-machine.memory_of(int(row.id)) // len(nodes))
            changes += [(row.start, 1, share, nodes), (row.end, -1, share, nodes)]
    held: Counter[int] = Counter()
    for _, sign, share, nodes in sorted(changes, key=lambda change: change[:2]):
        for node in nodes:
            held[node] += sign * share
            assert held[node] <= machine.memory


def check_use(ran: Sequence[Row], per: str, jobs: float = inf, cpus: float = inf) -> None:
    """These never run more jobs at a time, or use more processors: of each user, or all."""
    changes = [(row.start, 1, row) for row in ran if row.end > row.start]
    changes += [(row.end, -1, row) for row in ran if row.end > row.start]
    nb_jobs: Counter[str] = Counter()
    nb_processors: Counter[str] = Counter()
    for _, sign, row in sorted(changes, key=lambda change: change[:2]):
        whose = row.user if per == "user" else ""
        nb_jobs[whose] += sign
        nb_processors[whose] += sign * len(row.processors)
        assert nb_jobs[whose] <= jobs
        assert nb_processors[whose] <= cpus


def check_never_idle(world: World, rows: Sequence[Row]) -> None:
    """A machine is not empty while a job waits; under ``filler`` nothing waits that would fit."""
    changes: dict[float, list[Row]] = defaultdict(list)
    for row in rows:
        if row.left < inf:
            for time in {row.submit, row.left, row.end} - {inf}:
                changes[time].append(row)
    waiting: dict[str, int] = {}
    running: dict[str, int] = {}
    for now, later in pairwise(sorted(changes)):
        for row in changes[now]:
            waiting.pop(row.id, None)
            running.pop(row.id, None)
            if row.submit <= now < row.left:
                waiting[row.id] = row.size
            elif row.bound <= now < row.end:
                running[row.id] = row.size
        # a user's reaction comes with the next event, up to a microsecond late
        if waiting and later - now > CLOSE:
            assert running, f"idle from {now} to {later}"
            if world.policy == "filler":
                assert min(waiting.values()) > world.nodes - sum(running.values()), f"at {now}"


def check_queue(world: World, rows: Sequence[Row]) -> None:
    """FCFS starts jobs in order; EASY never delays the head beyond what it was promised."""
    if world.policy not in ("fcfs", "easy") or "order" in world.policy_options:
        return
    # Batsim sends simultaneous jobs of a log in the order of their ids as texts
    queue = sorted((row for row in rows if row.left < inf), key=lambda row: (row.submit, row.id))
    instants = Counter(row.submit for row in queue)
    latest = -inf
    for at, row in enumerate(queue):
        is_head_from = max(row.submit, latest)
        if row.processors and (world.users == "rigid" or instants[row.submit] == 1):
            if world.policy == "fcfs":
                assert row.bound >= latest - (CLOSE if row.waking else 0.0)
            promised = promise(row, queue[:at], queue[at + 1 :], is_head_from, world.nodes)
            if world.seconds is not None:
                awake = sum(world.seconds)  # after which all that is free now is on
                # FCFS starts a job as soon as enough is free; EASY may wait for the end of another
                is_fcfs = world.policy == "fcfs"
                promised = promised + awake if is_fcfs else max(promised, is_head_from + awake)
            assert row.start <= promised + CLOSE, f"job {row.id} was promised {promised}"
        latest = max(latest, row.left)


def promise(
    head: Row, earlier: Sequence[Row], later: Sequence[Row], now: float, nb_processors: int
) -> float:
    """Return when a job can start at the latest, by the walltimes of what runs at ``now``."""
    # a zero-length job that starts at this instant still holds its processors
    running = [row for row in earlier if row.bound == now or row.bound < now < row.end]
    running += [row for row in later if row.bound < now < row.end]
    free = nb_processors - sum(row.size for row in running)
    if free >= head.size:
        return now
    for row in sorted(running, key=lambda row: row.start + row.walltime):
        free += row.size
        if free >= head.size:
            return row.start + row.walltime
    return inf
