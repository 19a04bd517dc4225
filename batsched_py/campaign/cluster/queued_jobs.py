"""The jobs of a queueing system whose workers run a campaign: one that ends early is renewed.

dask knows of a job only by its worker, and would wait without end for one that never comes. So
Slurm is asked what became of its jobs.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

from batsched_py.campaign.cluster.address import Request, needed
from batsched_py.campaign.cluster.node import SEE
from batsched_py.campaign.cluster.queue_commands import (
    CommandFailedError,
    JobState,
    quoted_status,
    refusal,
    slurm_end,
    slurm_jobs,
)
from batsched_py.errors import BatschedError, SimulationError
from batsched_py.support.file_readers import read_log
from batsched_py.support.terminal_text import say

_IN_VAIN = 3
"""Times that each job may end early with no run ended meanwhile; then no more are asked for."""
_UNCHANGED = 30.0
"""Seconds between questions to Slurm while nothing changes; else it is asked at each look."""
_TAIL = 5
"""Lines of a job's log that are shown."""
_FORGOTTEN = JobState("not in the queue any more", "")


class ClusterLostError(SimulationError):
    """The whole cluster is of no more use; it is not the fault of a run."""


class QueuedJobs:
    """The jobs of a cluster of dask-jobqueue; other clusters have none."""

    def __init__(self, cluster: Any, request: Request) -> None:
        self._cluster = cluster
        self._wanted = request.jobs if request.queued else 0
        self._nb_wanted_workers = self._wanted * request.options.get("processes", 1)
        self._nb_workers = 0
        """At the last look."""
        self._left = _IN_VAIN * self._wanted
        self.kind = request.kind if request.queued else "dask"
        self._states: dict[str, JobState] = {}
        """By number, as Slurm said last."""
        self._ask_at = 0.0
        """When Slurm is asked next, if nothing is seen to change."""
        self._told: set[str] = set()
        """What was said, and is not to be said again."""
        self._last_end = ""
        self._ends: set[str] = set()
        """How jobs ended in vain, of which a log was shown."""

    def run_ended(self) -> None:
        """Note that jobs are not in vain."""
        self._left = _IN_VAIN * self._wanted
        self._ends.clear()

    async def renew(self, nb_workers: int) -> None:
        """Ask for jobs that ended; raises :class:`ClusterLostError` if all end in vain.

        ``nb_workers`` is the number of dask workers that are there.
        """
        lost_some, self._nb_workers = nb_workers < self._nb_workers, nb_workers
        if nb_workers >= self._nb_wanted_workers:
            return
        for name, job in [*self._cluster.workers.items()]:
            if job.job_id is None:  # it was refused when it was asked for again
                self._forget(name)
        lost_some = lost_some or len(self._cluster.workers) < self._wanted
        is_down = False
        if self.kind == "slurm" and (lost_some or time.monotonic() >= self._ask_at):
            try:
                await self._ask()
            except CommandFailedError as failed:
                is_down = True
                self._say_once(f"slurm does not answer: {failed}")
        await self._ask_again(is_down)

    async def no_worker(self) -> str:
        """Return what is to be said if runs wait for a worker."""
        if not self._wanted:
            return f"runs wait, for there is no worker: start some, dask worker ADDRESS; {SEE}"
        why = f"{self.kind} has not started a job, or the jobs find no way here"
        if self.kind == "slurm":
            why = self._in_words() or why
            if any(state.state == "RUNNING" for state in self._states.values()):
                why += "; those that run find no way here"
        else:
            for job in [*self._cluster.workers.values()][:1]:
                why += f"; {await quoted_status(self.kind, job.job_id)}"
        return f"runs wait, for there is no worker: {why}; {SEE}"

    async def _ask_again(self, is_down: bool) -> None:
        gone = self._wanted - len(self._cluster.workers)
        if gone > 0 and self._left > 0:
            self._left -= gone
            self._ask_at = 0.0
            self._cluster.scale(jobs=self._wanted)
            try:
                # Not cut off in between: a job would be submitted that nobody cancels.
                await asyncio.shield(self._submitted())
            except (RuntimeError, ValueError) as error:  # the other jobs go on
                self._left += gone * is_down  # it was not tried in vain: it was not tried
                self._say_once(f"{self.kind} takes no further job: {refusal(error)}")
            else:
                say(f"asked {self.kind} for {in_words(gone, 'job')} again")
        elif gone == self._wanted:
            raise ClusterLostError(
                f"the jobs of {self.kind} end before they have ended a run{self._last_end}; read "
                f"what they wrote (option log_directory), and try one job by hand; {SEE}"
            )

    async def _submitted(self) -> None:
        await self._cluster

    async def _ask(self) -> None:
        """Ask Slurm; tell what its jobs wait for and how they ended, and forget the latter."""
        names = {job.job_id: name for name, job in self._cluster.workers.items()}
        answer = await slurm_jobs()
        states = {
            number: answer.get(number, _FORGOTTEN)
            for number in names
            if number in answer or number in self._states
        }
        if states == self._states:
            self._ask_at = time.monotonic() + _UNCHANGED
        self._states = states
        ended = {n: state for n, state in states.items() if state.has_ended or state == _FORGOTTEN}
        await self._tell_ends(ended)
        for number in ended:
            self._forget(names[number])
            del states[number]
        waiting = {str(state) for state in states.values() if state.waits}
        if waiting - self._told:
            self._told |= waiting
            stuck = any(state.obstacle for state in states.values())
            say(self._in_words() + f"; {SEE}" * stuck)

    async def _tell_ends(self, ended: dict[str, JobState]) -> None:
        """Say how jobs ended; of those that ended alike Slurm is asked for the last one only, and
        its log is shown."""
        alike: dict[JobState, list[str]] = {}
        for number, state in ended.items():
            alike.setdefault(state, []).append(number)
        ends = await asyncio.gather(*(slurm_end(numbers[-1]) for numbers in alike.values()))
        for (state, numbers), end in zip(alike.items(), ends, strict=True):
            several = len(numbers) > 1
            jobs = f"job{'s' * several} {' '.join(numbers)}"
            how = f"{state}, {'the last with ' * several}{end.how}" if end.how else f"{state}"
            self._last_end = f" ({jobs}: {how})"
            is_known = how in self._ends
            self._ends.add(how)
            tail = "" if end.log is None or state.was_cut_short or is_known else _tail(end.log)
            for line in f"{jobs} of slurm ended: {'again ' * is_known}{how}{tail}".splitlines():
                say(line)

    def _in_words(self) -> str:
        states = Counter(map(str, self._states.values()))
        text = ", ".join(f"{number} {state}" for state, number in states.items())
        obstacles = {state.obstacle: None for state in self._states.values() if state.obstacle}
        return "; ".join([f"jobs of slurm: {text}", *obstacles]) if text else ""

    def _forget(self, name: str) -> None:
        """Let dask know that a job is over, if it does not; the next one gets another name."""
        if (job := self._cluster.workers.pop(name, None)) is not None:
            job.status = needed("distributed").Status.closed
        self._cluster.worker_spec.pop(name, None)

    def _say_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            say(text)


def in_words(number: int, noun: str) -> str:
    """Return how many there are of something."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _tail(log: Path) -> str:
    """Return the last lines of a job's log, for a message."""
    try:
        lines = read_log(log).splitlines()[-_TAIL:]
    except BatschedError:
        return f"; {log} cannot be read"
    return "".join([f"; the end of {log}:", *(f"\n    {line}" for line in lines)])
