"""Finds information of a run that an SWF log cannot store, so that a replay would differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf, isnan
from typing import Any

import msgspec

from batsched_py.errors import UsageError
from batsched_py.protocol.batsim_jobs_columns import KILLED, LEAST_EXECUTION_TIME
from batsched_py.results.job_table import JobTable
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.grid_sites import HOME, find_home
from batsched_py.workload.log_conversion import PLACES, convert_log
from batsched_py.workload.logs.swf import SwfLog
from batsched_py.workload.machine_description import PARTITION, MachineDescription
from batsched_py.workload.workload import REFERENCE_SPEED, Workload, WorkloadJob

_SAME = 1e-9
"""Relative difference within which two times count as equal."""


def find_losses(
    table: JobTable,
    numbers: Sequence[int],
    log: SwfLog,
    run: dict[str, Any],
    machine: MachineDescription | None,
) -> list[str]:
    """Return sentences on the differences between a run and a replay of its exported ``log``.

    ``table`` has the jobs that were simulated, ``numbers`` their numbers in the log. The log is
    converted as the replay will do it, and each job is compared with the one that was simulated.
    """
    notes = []
    rules = msgspec.convert(run["rules"], Rules)
    what_next = "draws others for them" if rules.withdrawn == "impute" else "leaves them out"
    nb_withdrawn = int(table.withdrawn.sum())
    nb_rejected = int((~table.ran).sum()) - nb_withdrawn
    for nb, what in ((nb_rejected, "rejected"), (nb_withdrawn, "withdrawn")):
        if nb:
            notes.append(f"{nb} {what} jobs have no run times: a replay {what_next}")
    nb_killed = table.text_column("final_state").count(KILLED)
    if nb_killed:
        notes.append(f"{nb_killed} jobs were killed by policy or users: their run times end there")
    placed = any(name in {**table.numbers, **table.texts} for name in ("dilation", "transfer"))
    if placed or run["platform"] or any(site.speed != 1 for site in table.sites):
        notes.append("run times depend on the hosts where the jobs ran: a replay may differ")
    if further := [name for name in rules.keep if name not in PLACES]:
        notes.append(f"the log lacks kept fields that policies saw: {', '.join(further)}")
        kept = tuple(name for name in rules.keep if name in PLACES)
        rules = msgspec.structs.replace(rules, keep=kept)
    try:
        workload = convert_log(
            log, rules, speed_factor=run["speed_factor"], sites=table.sites, described=machine
        )
    except UsageError as error:
        return [*notes, f"a replay with the same rules has no jobs ({error})"]
    lost = _compared(table, numbers, workload, run, machine)
    if lost:
        fields = ", ".join(f"{name} of {count} jobs" for name, count in lost.items())
        notes.append(f"a replay with the same options differs in {fields}")
    if nb_moved := _out_of_order(table, numbers, is_rigid=run["users"] == "rigid"):
        notes.append(
            f"{nb_moved} jobs were submitted at the same instant as another job: a replay may "
            "submit them in another order"
        )
    return notes


def _compared(
    table: JobTable,
    numbers: Sequence[int],
    workload: Workload,
    run: dict[str, Any],
    machine: MachineDescription | None,
) -> Counter[str]:
    """Return of how many jobs each field is another one in the workload of the replay."""
    replayed = {job.id: job for job in workload.jobs}
    texts = {name: table.text_column(name) for name in ("group", "queue", PARTITION, HOME)}
    walltimes, estimates, sizes = (
        table.number_column(name).tolist()
        for name in ("requested_time", "estimate", "requested_number_of_resources")
    )
    submits, executions = table.submit.tolist(), table.execution.tolist()
    ran = table.ran.tolist()
    lost: Counter[str] = Counter()
    for row, number in enumerate(numbers):
        if not ran[row]:
            continue
        job = replayed.get(str(number))
        if job is None:
            lost["all"] += 1
            continue
        run_time = _run_time(job, workload) / run["speed_factor"]
        slack = _SAME * max(1.0, submits[row], run_time)
        walltime = walltimes[row] if walltimes[row] >= 0 else inf
        estimate = walltime if isnan(estimates[row]) else estimates[row]
        its_walltime = inf if job.walltime is None else job.walltime
        its_estimate = its_walltime if job.estimate is None else job.estimate
        extra = {name: str(job.extra.get(name, "")) for name in texts}
        place = place_again = 0
        if machine is not None:
            place = machine.find_place(texts[PARTITION][row])
            place_again = machine.find_place(extra.pop(PARTITION))
        if table.sites:
            home = find_home(table.sites, job.extra, job.user, job.id)
            extra[HOME] = table.sites[home].name
        same = {
            "the submit time": abs(job.submit_time - submits[row]) <= slack,
            "the run time": abs(run_time - executions[row]) <= slack + LEAST_EXECUTION_TIME,
            "the size": job.size == sizes[row],
            "the walltime": abs(its_walltime - walltime) <= slack or its_walltime == walltime,
            "the estimate": abs(its_estimate - estimate) <= slack or its_estimate == estimate,
            "the user": (job.user or "") == table.user[row],
            "the partition": place == place_again,
            **{f"the {name}": value == texts[name][row] for name, value in extra.items()},
        }
        lost.update(name for name, is_same in same.items() if not is_same)
    return lost


def _run_time(job: WorkloadJob, workload: Workload) -> float:
    """Return the run time (seconds) at the speed of the log's machine."""
    profile = workload.profiles[job.profile]
    delay: float | None = profile.get("delay")
    return profile["cpu"] / REFERENCE_SPEED if delay is None else delay


def _out_of_order(table: JobTable, numbers: Sequence[int], *, is_rigid: bool) -> int:
    """Return how many jobs of an instant a replay may take in another order.

    It submits them in the order of their numbers as texts. So do the ids of a workload, whereas
    users submit in an order of their own.
    """
    submits = table.submit.tolist()
    at_once = Counter(submits)
    rows = [row for row, submit in enumerate(submits) if at_once[submit] > 1]
    if not is_rigid:
        return len(rows)
    ids = table.text_column("job_id")
    before = sorted(rows, key=lambda row: (submits[row], ids[row]))
    after = sorted(rows, key=lambda row: (submits[row], str(numbers[row])))
    return sum(first != second for first, second in zip(before, after, strict=True))
