"""Notes on a run: unused parts of its input, refused jobs, and jobs that are not measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from batsched_py.errors import InputError
from batsched_py.model.policy import declares
from batsched_py.model.user_model import makes_up_jobs
from batsched_py.plugins import plugins
from batsched_py.schedulers.partitioned import unwrap_policy
from batsched_py.workload.unused_input import find_unused_in_jobs

if TYPE_CHECKING:
    from batsched_py.results.job_table import JobTable
    from batsched_py.run.resolved_run import ResolvedRun
    from batsched_py.run.result import Output
    from batsched_py.run.stored_values import Run
    from batsched_py.workload.workload import Workload


def make_notes(resolved: ResolvedRun, scheduler: Any, users: object, output: Output) -> list[str]:
    """Return the notes on a run that has ended under the policy ``scheduler`` with ``users``.

    Raises :class:`InputError` if there was nothing to submit.
    """
    run, machine, workload = resolved.run, resolved.machine, resolved.workload
    notes = find_unused_in_jobs(
        workload.jobs,
        run.scheduler,
        run.users,
        reads_reservations=declares(unwrap_policy(scheduler), "reads_reservations"),
        follows_dependencies=bool(getattr(users, "follows_dependencies", False)),
        sites=machine.sites,
        described=machine.description,
    )
    for group, plugin in (
        (plugins.SCHEDULERS, type(unwrap_policy(scheduler))),
        (plugins.USERS, type(users)),
    ):
        for name, meant in plugins.find_misspelt(group, plugin).items():
            notes.append(f"{plugin.__name__}.{name} is never called: did you mean {meant}?")
    if run.shake is not None and run.shutdown is not None and run.shutdown.idle_time < 1:
        notes.append(
            "with an idle time below 1 s, the shuffled order of simultaneous events decides which "
            "processors are switched off"
        )
    if wide := [job for job in workload.jobs if job.size > output.nb_processors]:
        notes.append(
            f"{len(wide)} jobs are wider than the machine of {output.nb_processors} processors and "
            f"are refused, such as job {wide[0].id} of {wide[0].size}"
        )
    notes += _few_submitted(run, workload, output.table)
    nb_refused = int((~(output.table.ran | output.table.withdrawn)).sum())
    limited = machine.description is not None and machine.description.limits
    if limited and makes_up_jobs(users):
        notes.append(
            f"the users ({run.users}) make up jobs: limits do not count those without the fields "
            "that they need, such as queue, group or gpus"
        )
    if run.machine and nb_refused:
        notes.append(
            f"{nb_refused} jobs were refused: their partition is too small, or gives less time"
            f"{', or a limit is smaller' if limited else ''}"
        )
    if machine.sites and nb_refused:
        notes.append(f"{nb_refused} jobs were refused: they are too wide for where they may run")
    if note := output.table.zero_length_note:
        notes.append(note)
    if nb_rare := int(output.table.rare.sum()):
        notes.append(f"{nb_rare} jobs of rare behaviour load the machine and are not measured")
    return notes + (machine.platform.notes() if machine.platform else [])


def _few_submitted(run: Run, workload: Workload, table: JobTable) -> list[str]:
    """Return a note if users who replay a log did not submit all of it, perhaps nothing.

    Raises :class:`InputError` if there was no job to submit, and users made up none.
    """
    nb_jobs, left_early = len(workload.jobs), "next_submission() returned inf"
    if not len(table.submit):
        reason = f": its {left_early} at the start" if run.dynamic else ""
        text = (
            f"there were no jobs: {workload.name} has {nb_jobs}, and the users ({run.users}) "
            f"submitted none{reason}"
        )
        if not nb_jobs:
            raise InputError(text)
        return [text]
    replayed = table.original_submit[~np.isnan(table.original_submit)].round(6)
    if not 0 < len(replayed) < nb_jobs:
        return []  # all of it, or made up
    recorded = np.round([job.submit_time for job in workload.jobs], 6)
    if not np.isin(replayed, recorded).all():
        return []  # made up, or drawn from the log and moved
    return [
        f"the users ({run.users}) submitted {len(replayed)} of the {nb_jobs} jobs of "
        f"{workload.name}: unless some were left out on purpose, {left_early} too early"
    ]
