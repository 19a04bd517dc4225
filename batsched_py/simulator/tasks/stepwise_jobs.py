"""Jobs that are more than one fixed duration: what each does now, and what comes next.

A delay, and a computation on hosts of its own, last as long as is known when they start
(:mod:`batsched_py.simulator.execution`). All others are run here, step by step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import count
from math import floor
from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.simulator.jobs import SimulatedJob
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.tasks.parallel_tasks import ParallelTasks, Task
from batsched_py.simulator.tasks.profiles import DEEPEST, Composed, Profile, Receive, Send

WALLTIME_REACHED = -1
_MOST_LOOKS = 2.0**52
"""Of a job that looks for messages more often than this, the times are as good as continuous."""


class _Frame:
    """A composed profile that a job is in, or a ``recv`` profile that led to another."""

    __slots__ = ("index", "name", "parts", "return_code", "total")

    def __init__(
        self, name: str, parts: tuple[tuple[str, Profile], ...], total: int, return_code: int
    ) -> None:
        self.name, self.parts, self.total, self.return_code = name, parts, total, return_code
        self.index = 0


class Program:
    """A running job: the profiles it is in, the step it does, and the walltime that is left."""

    __slots__ = (
        "begin",
        "frames",
        "hosts",
        "in_vain",
        "job",
        "length",
        "name",
        "profile",
        "remaining",
        "serial",
        "task",
    )

    def __init__(self, job: SimulatedJob, hosts: list[int]) -> None:
        self.job = job
        self.hosts = hosts
        """The host of each executor."""
        self.remaining = job.description.walltime
        """Seconds, None without a walltime; brought up to date at the end of each step."""
        self.frames: list[_Frame] = []
        self.serial = 0
        """Number of the timer that is waited for; those with other numbers mean nothing."""
        self.name, self.profile = job.description.profile, job.profile
        self.begin = self.length = 0.0
        """Of the step, seconds."""
        self.in_vain = 0
        """How often it looked for messages in vain, and went on, at this instant."""
        self.task: Task | None = None


Wake = Callable[[float, Program, int], None]
"""Ask for :meth:`Programs.woken` at a time."""


class Programs:
    """Runs the jobs that need it; calls ``ended(job, return code)`` when one has ended.

    ``wake`` sets a timer, ``say`` hands on what a job says. ``find`` returns a profile by
    workload and name, None if there is none. Times are in seconds.
    """

    def __init__(
        self,
        platform: Platform,
        *,
        wake: Wake,
        say: Callable[[SimulatedJob, Any], None],
        ended: Callable[[SimulatedJob, int], None],
        find: Callable[[str, str], Profile | None],
    ) -> None:
        self.tasks = ParallelTasks(platform)
        self._wake, self._say, self._ended, self._find = wake, say, ended, find
        self._running: dict[str, Program] = {}
        self._by_task: dict[Task, Program] = {}
        self._serials = count(1)

    def begin(self, job: SimulatedJob, hosts: list[int], now: float) -> None:
        """Let a job begin on the hosts of its executors."""
        program = Program(job, hosts)
        self._running[job.description.id] = program
        self._step(program, now)

    def runs(self, job: SimulatedJob) -> bool:
        """Tell whether a job is run here."""
        return job.description.id in self._running

    def is_due(self, program: Program, serial: int) -> bool:
        """Tell whether a timer that was set still means something."""
        return program.serial == serial

    def woken(self, program: Program, now: float) -> None:
        """Go on with a job whose timer has come: the end of its step, or its walltime."""
        if program.task is not None:
            serial = program.serial
            self.advance(now)
            if program.serial == serial:  # else it ended at this very instant
                self._cancel(program, now)
                self._finish(program, WALLTIME_REACHED, now)
        elif isinstance(program.profile.body, Receive):
            self._look(program, now)
        elif program.remaining is not None and not program.length < program.remaining:
            self._finish(program, WALLTIME_REACHED, now)
        else:
            if program.remaining is not None:
                program.remaining -= program.length
            self._step_ended(program, program.profile.return_code, now)

    def advance(self, now: float) -> None:
        """Go on with the jobs whose parallel tasks have ended."""
        for task in self.tasks.advance(now):
            program = self._by_task.pop(task)
            program.task = None
            if program.remaining is not None:
                program.remaining = max(0.0, program.remaining - (now - program.begin))
            self._step_ended(program, program.profile.return_code, now)

    def kill(self, job: SimulatedJob, now: float) -> None:
        """Stop a job."""
        program = self._running.pop(job.description.id)
        program.serial = 0
        self._cancel(program, now)

    def progress(self, job: SimulatedJob, now: float) -> dict[str, Any]:
        """Return how much of a running job is done, as Batsim reports it of killed ones."""
        program = self._running[job.description.id]
        done: dict[str, Any] = {"profile_name": program.name, "progress": self._done(program, now)}
        for frame in reversed(program.frames):
            done = {
                "profile_name": frame.name,
                "current_task_index": frame.index,
                "current_task": done,
            }
        return done

    def tell(self, job: SimulatedJob, message: str, now: float) -> None:
        """Keep a message for a job, which takes it with its next ``recv`` profile."""
        if job.messages is None:
            job.messages = deque()
        job.messages.append(message)
        program = self._running.get(job.description.id)
        if program is not None and isinstance(program.profile.body, Receive):
            self._look_again(program, program.profile.body, now)

    def waiting(self) -> Iterable[SimulatedJob]:
        """Return the jobs that run here and are waiting for messages."""
        return [p.job for p in self._running.values() if isinstance(p.profile.body, Receive)]

    # Steps ---------------------------------------------------------------------------------------

    def _step(self, program: Program, now: float) -> None:
        """Begin with the profile of a program, and go on for as long as that takes no time."""
        while self._begin_step(program, now):
            pass

    def _begin_step(self, program: Program, now: float) -> bool:
        """Begin with the profile of a program; tell whether there is another one to begin with."""
        self._enter(program)
        body = program.profile.body
        if now > program.begin:
            program.in_vain = 0
        program.begin, program.length = now, 0.0
        if program.profile.delay is not None:
            self._sleep(program, program.profile.delay, now)
        elif isinstance(body, Send):
            self._say(program.job, body.message)
            self._sleep(program, body.sleep, now)
        elif isinstance(body, Receive):
            return self._receive(program, now)
        else:
            self._compute(program, now)
        return False

    def _enter(self, program: Program) -> None:
        """Go down to the first part of the composed profiles that a program begins with."""
        while isinstance(body := program.profile.body, Composed):
            if not body.parts:
                raise ProtocolError(
                    f"job {program.job.description.id}: it comes to the composed profile "
                    f"{program.name!r}, which was registered dynamically: Batsim 4.2.0 crashes "
                    "on it"
                )
            total = len(body.parts) * body.repeat
            program.frames.append(
                _Frame(program.name, body.parts, total, program.profile.return_code)
            )
            program.name, program.profile = body.parts[0]

    def _sleep(self, program: Program, length: float, now: float) -> None:
        program.length = length
        if program.remaining is not None and not length < program.remaining:
            length = program.remaining
        self._set_timer(program, now + length)

    def _compute(self, program: Program, now: float) -> None:
        flops, com = program.profile.demand(len(program.hosts))
        if not isinstance(flops, list):
            flops = [flops] * len(program.hosts)
        if len(flops) != len(program.hosts):
            raise ProtocolError(
                f"job {program.job.description.id}: its profile {program.name!r} is for "
                f"{len(flops)} executors, it has {len(program.hosts)}"
            )
        program.task = self.tasks.start(now, program.hosts, flops, com)
        self._by_task[program.task] = program
        program.serial = 0
        if program.remaining is not None:
            self._set_timer(program, now + program.remaining)

    def _look(self, program: Program, now: float) -> None:
        if program.remaining is not None and now >= program.begin + program.remaining:
            self._finish(program, WALLTIME_REACHED, now)
        elif self._receive(program, now):
            self._step(program, now)

    def _receive(self, program: Program, now: float) -> bool:
        """Take a message if there is one; else go on without, or look again later.

        Tells whether there is another profile to begin with.
        """
        body = program.profile.body
        assert isinstance(body, Receive)
        messages = program.job.messages
        if messages:
            target = body.success if body.pattern.fullmatch(messages.popleft()) else body.failure
        elif body.timeout:
            target = body.timeout
            program.in_vain += 1
        else:
            self._await_message(program)
            return False
        if program.remaining is not None:
            program.remaining -= now - program.begin
        if not target:
            return self._next(program, program.profile.return_code, now)
        profile = self._find(program.job.description.id.partition("!")[0], target)
        if profile is None:
            raise ProtocolError(
                f"job {program.job.description.id}: its profile {program.name!r} leads to "
                f"{target!r}, which is not there at {now:f} s: Batsim drops profiles that no job "
                "and no composed profile names, and without profile reuse those of jobs that have "
                "ended"
            )
        _leave_done(program.frames)
        if len(program.frames) > DEEPEST or program.in_vain > DEEPEST:
            raise ProtocolError(
                f"job {program.job.description.id}: its profile {program.name!r} leads to itself, "
                f"or to others, more than {DEEPEST} deep or times at once"
            )
        part = ((target, profile),)
        program.frames.append(_Frame(program.name, part, 1, program.profile.return_code))
        program.name, program.profile = target, profile
        return True

    def _await_message(self, program: Program) -> None:
        """Wait, with a timer at the walltime only: looking in vain changes nothing."""
        program.serial = 0
        if program.remaining is not None:
            self._set_timer(program, program.begin + program.remaining)

    def _look_again(self, program: Program, body: Receive, now: float) -> None:
        """Wake a waiting job the next time that it looks for messages."""
        looked, at = (now - program.begin) / body.poll, now
        if looked < _MOST_LOOKS:
            at = program.begin + (floor(looked) + 1) * body.poll
        if program.remaining is not None:
            at = min(at, program.begin + program.remaining)
        self._set_timer(program, max(at, now))

    def _step_ended(self, program: Program, return_code: int, now: float) -> None:
        if self._next(program, return_code, now):
            self._step(program, now)

    def _next(self, program: Program, return_code: int, now: float) -> bool:
        """Go to the next part after a step, or to what comes after the composed profile.

        Tells whether there is one to begin with; else the job has ended.
        """
        frames = program.frames
        while frames:
            if return_code:
                break  # the first failure ends the whole
            frame = frames[-1]
            frame.index += 1
            if frame.index < frame.total:
                program.name, program.profile = frame.parts[frame.index % len(frame.parts)]
                return True
            frames.pop()
            return_code = frame.return_code
        self._finish(program, return_code, now)
        return False

    def _finish(self, program: Program, return_code: int, now: float) -> None:
        program.serial = 0
        del self._running[program.job.description.id]
        self._ended(program.job, return_code)

    def _cancel(self, program: Program, now: float) -> None:
        if program.task is not None:
            self.tasks.cancel(program.task, now)
            del self._by_task[program.task]
            program.task = None

    def _set_timer(self, program: Program, at: float) -> None:
        program.serial = next(self._serials)
        self._wake(at, program, program.serial)

    def _done(self, program: Program, now: float) -> float:
        if program.task is not None:
            return 1.0 - self.tasks.remaining(program.task, now)
        return (now - program.begin) / program.length if program.length else 0.0


def _leave_done(frames: list[_Frame]) -> None:
    """Leave the profiles that are done with the step if there are many of them.

    A ``recv`` profile may lead, when other work is done, to itself again, any number of times.
    """
    if len(frames) > DEEPEST:
        while frames and frames[-1].index + 1 == frames[-1].total and not frames[-1].return_code:
            frames.pop()
