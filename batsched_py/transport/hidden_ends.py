"""The ends of jobs by their users, which a scheduler for Batsim cannot know."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import KILLED


class HiddenEnds:
    """The jobs that users have withdrawn or killed, as long as the scheduler does not know."""

    def __init__(self) -> None:
        self.withdrawn: set[str] = set()
        """Withdrawn jobs that wait for all that the scheduler knows."""
        self.phantoms: set[str] = set()
        """Withdrawn jobs that the scheduler has started; its next message has their ends."""
        self._killed: dict[str, bool] = {}
        """Jobs that are being killed, and whether the scheduler wants to know."""

    def is_gone(self, job_id: str) -> bool:
        """Return whether the job is no longer in the simulator, which the scheduler ignores."""
        return job_id in self.withdrawn or job_id in self.phantoms

    def pretend_run(self, decision: m.ExecuteJob, now: float) -> m.JobCompleted:
        """Return the end of a withdrawn job that the scheduler starts."""
        self.withdrawn.discard(decision.job_id)
        self.phantoms.add(decision.job_id)
        return m.JobCompleted(
            timestamp=now,
            job_id=decision.job_id,
            job_state=KILLED,
            return_code=-1,
            alloc=decision.alloc,
        )

    def kill(self, job_ids: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return which of the jobs that the scheduler kills are to be killed, and which are gone.

        The others are being killed for their users already.
        """
        gone = [job_id for job_id in job_ids if self.is_gone(job_id)]
        for_users = [job_id for job_id in job_ids if self._killed.get(job_id) is False]
        left = [job_id for job_id in job_ids if job_id not in gone and job_id not in for_users]
        self._killed.update(dict.fromkeys([*left, *for_users], True))
        return left, gone

    def kill_for_user(self, job_id: str) -> bool:
        """Return whether a job that its user kills is not being killed already."""
        if job_id in self._killed:
            return False
        self._killed[job_id] = False
        return True

    def hide_kills(self, event: m.JobKilled) -> m.JobKilled | None:
        """Return the event without jobs that only users have killed, None if nothing is left."""
        shown = [job_id for job_id in event.job_ids if self._killed.pop(job_id, True)]
        if len(shown) == len(event.job_ids):
            return event
        progress = {name: event.job_progress[name] for name in shown if name in event.job_progress}
        changed = msgspec.structs.replace(event, job_ids=shown, job_progress=progress)
        return changed if shown else None
