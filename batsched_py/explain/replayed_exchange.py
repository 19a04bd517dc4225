"""Replays a recorded exchange: the policy answers its messages again, without the workload."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Set
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import BatschedError, InputError, PluginError
from batsched_py.explain.job_watch import Watch
from batsched_py.model.user_model import EndedJob, Withdraw
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.protocol.dilated_jobs import PLACED, find_original_id, is_placed
from batsched_py.transport import exchange_replay
from batsched_py.transport.exchange_replay import read_decisions
from batsched_py.workload.workload import AFTER, DYNAMIC, WorkloadJob

SHOWN = 200
"""Characters of a decision that an error shows."""


class Turn(msgspec.Struct, gc=False):
    """A recorded message of the simulator and the recorded reply."""

    n: int
    message: m.Message
    reply: m.Message


def read_turns(path: Path) -> list[Turn]:
    """Read a recorded exchange; raises :class:`InputError` naming the file."""
    turns = []
    for turn in exchange_replay.read_turns(path):
        if turn.reply is None:
            raise InputError(f"{path}: the reply to message {turn.n}: {turn.error}")
        turns.append(Turn(turn.n, turn.message, turn.reply))
    return turns


def find_beginning(turns: list[Turn]) -> m.SimulationBegins:
    """Return the first event, SIMULATION_BEGINS; raises :class:`InputError` if it is missing."""
    for event in turns[0].message.events:
        if isinstance(event, m.SimulationBegins):
            return event
    raise InputError("the first message is not SIMULATION_BEGINS: the beginning is missing")


def has_six_decimals(turns: Iterable[Turn]) -> bool:
    """Return whether the recorded replies have times of six decimals, as replies to Batsim have."""
    times = (time for turn in turns for event in turn.reply.events for time in _times(event))
    return all(time == round(time, 6) for time in times)


def _times(event: m.Event) -> Iterator[float]:
    """Yield the times (seconds) that were made up: of calls, and of dilated jobs."""
    if isinstance(event, m.CallMeLater):
        yield event.time
    elif isinstance(event, m.RegisterJob) and is_placed(event.job_id):
        if event.job.walltime is not None:
            yield event.job.walltime
    elif isinstance(event, m.RegisterProfile) and event.workload_name == PLACED:
        yield event.profile.get("delay", 0.0)


def replay(
    turns: list[Turn], process: DecisionProcess, watcher: Watch, withdrawn: Set[str] = frozenset()
) -> None:
    """Answer the recorded messages again until ``watcher`` has seen its job.

    ``withdrawn`` are the ids of the jobs that users withdrew: messages call them rejected.
    Raises :class:`InputError` at the first reply that is not the recorded one. If users submit
    jobs, a kill that only the recording has counts as theirs: messages do not say whose it is.
    """
    process.observer = watcher.note_pass
    users: RecordedUsers | None = None
    if find_beginning(turns).config.get("dynamic-jobs-enabled"):
        process.users = users = RecordedUsers(turns, withdrawn)
    for turn in turns:
        if users is not None:
            users.begin_turn(turn)
        watcher.note_message(turn.message)
        reply = _answer(process, turn)
        if codec.encode_decisions(reply) != codec.encode_decisions(turn.reply):
            _check_equal(turn, reply, users_act=users is not None)
        watcher.note_reply(turn.message, reply)
        if watcher.has_seen_all(turn.message.now):
            return


def _answer(process: DecisionProcess, turn: Turn) -> m.Message:
    try:
        return process.answer(turn.message)
    except PluginError:
        raise
    except BatschedError as error:
        raise _differs(turn, f"the policy cannot answer here: {error}") from None


def _check_equal(turn: Turn, reply: m.Message, *, users_act: bool) -> None:
    """Raise :class:`InputError` unless both replies hold the same decisions, but users' kills."""
    recorded, ours = read_decisions(turn.reply), read_decisions(reply)
    if users_act:  # a kill changes nothing here until the end of the job comes
        kill = f'["{m.KillJob.tag}"'
        recorded -= Counter({it: nb for it, nb in (recorded - ours).items() if it.startswith(kill)})
    if recorded != ours:
        only = [
            f"only {name}: {next(iter(more))[:SHOWN]}"
            for name, more in (("recorded", recorded - ours), ("here", ours - recorded))
            if more
        ]
        raise _differs(turn, "; ".join(only))


def _differs(turn: Turn, reason: str) -> InputError:
    return InputError(
        f"the reply to message {turn.n} at {turn.message.now:.15g} s is not the recorded one: the "
        f"log is not of this policy, its options or this version ({reason})"
    )


def _is_submission(event: m.Event) -> bool:
    """Return whether a decision is one of users: to submit a job."""
    return isinstance(event, m.RegisterJob) and not is_placed(event.job_id)


def _is_last(event: m.Event) -> bool:
    """Return whether a decision says that users submit no more jobs."""
    return isinstance(event, m.Notify) and event.type == "registration_finished"


class RecordedUsers:
    """Users who submit the jobs that the recording registers, at the same times.

    They withdraw the jobs with the ids ``withdrawn`` where the recording rejects them. A job that
    was registered after the rejection of another one is submitted only then: nothing else within
    an instant makes users act.
    """

    def __init__(self, turns: list[Turn], withdrawn: Set[str]) -> None:
        self._withdrawn = withdrawn
        self._known: dict[str, dict[str, Any]] = {}
        self.profiles: Mapping[str, dict[str, Any]] = self._known
        self._reuse = bool(find_beginning(turns).config.get("profile-reuse-enabled"))
        self._names: set[str] = set()
        self._out = 0  # jobs that were submitted and have not ended
        self._now = 0.0
        self._jobs: deque[tuple[int, WorkloadJob | Withdraw]] = deque()
        self._rejected = 0
        self._call = inf
        acts = [
            turn.message.now for turn in turns if any(map(self._is_of_users, turn.reply.events))
        ]
        if acts:  # they may be due without effect, until they have finished
            acts += [turn.message.now for turn in turns if any(map(_is_last, turn.reply.events))]
        self._acts = deque(acts)

    def _is_of_users(self, event: m.Event) -> bool:
        """Return whether a decision is one of users: to submit or to withdraw a job."""
        withdrawn = isinstance(event, m.RejectJob) and event.job_id in self._withdrawn
        return withdrawn or _is_submission(event)

    def begin_turn(self, turn: Turn) -> None:
        """Read from a recorded reply which jobs are due at its message."""
        events = turn.reply.events
        self._now = turn.message.now
        self._jobs.clear()
        self._rejected = rejected = 0
        profiles = {}
        replaced = {
            find_original_id(event.job_id)
            for event in events
            if isinstance(event, m.RegisterJob) and is_placed(event.job_id)
        }
        for event in events:
            if isinstance(event, m.RegisterProfile):
                profiles[event.profile_name] = event.profile
            elif isinstance(event, m.RegisterJob) and _is_submission(event):
                self._names.add(event.job_id)
                self._jobs.append((rejected, self._job(event.job, profiles)))
            elif self._is_of_users(event):
                self._jobs.append((rejected, Withdraw(event.job_id.removeprefix(f"{DYNAMIC}!"))))
            elif isinstance(event, m.RejectJob):
                rejected += event.job_id in self._names and event.job_id not in replaced
        while self._acts and self._acts[0] <= self._now:
            self._acts.popleft()
        # A policy's call may be last too; then it is outstanding, and none is made for users.
        last = events[-1] if events else None
        self._call = last.time if isinstance(last, m.CallMeLater) else inf

    def _job(
        self, description: m.JobDescription, profiles: dict[str, dict[str, Any]]
    ) -> WorkloadJob:
        """Return the workload job of ``description``; ``profiles`` came with it."""
        name = description.id.removeprefix(f"{DYNAMIC}!")
        profile = description.profile
        if not self._reuse:  # the process has appended the job's name
            profile = profile.rpartition(f"#{name}")[0] or profile
        if description.profile in profiles:
            self._known[profile] = profiles[description.profile]
        return WorkloadJob(
            id=name,
            submit_time=description.submit_time,
            size=description.size,
            profile=profile,
            walltime=description.walltime,
            extra=description.extra,
            after=tuple(description.extra.get(AFTER, ())),
        )

    def next_submission(self) -> float:
        """Return when the next job is due (seconds), inf if the recording has no more."""
        if self._jobs and self._jobs[0][0] <= self._rejected:
            return self._now
        if self._call < inf:
            return self._call
        if not self._out and self._acts:
            return self._acts[0]
        return inf

    def jobs_to_submit(self, now: float) -> list[WorkloadJob | Withdraw]:
        """Return the recorded submission or withdrawal that is due at ``now``."""
        _, job = self._jobs.popleft()
        self._out += isinstance(job, WorkloadJob)
        return [job]

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Note that a job ended; the next job may wait for a rejection."""
        self._out -= 1
        self._rejected += state == REJECTED
