"""Cuts the jobs of each user into sessions: periods of continuous work.

Sources: N. Zakay, PhD thesis, chapter 2 (the methods Last, Max, Last+Cut, Max+Cut and Arrival);
M. Madon, G. Da Costa, J.-M. Pierson, "Replay with Feedback", FGCS 155 (2024), section 3 (Arrival;
"a60" is ``arrival:60``, "a0" is ``arrival:0``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import pairwise
from math import inf
from operator import attrgetter, ge, gt
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from batsched_py.errors import UsageError, parameter
from batsched_py.options.checked_values import Parsed
from batsched_py.support.json_values import did_you_mean, whole
from batsched_py.units import MINUTE
from batsched_py.workload import WorkloadJob

METHODS = ("arrival", "last", "max")
BOUNDARIES = (">=", ">")
_EXAMPLE = "METHOD:MINUTES such as arrival:60 (a60 of Madon et al.)"
_FORMS = (
    f"expected {_EXAMPLE} or METHOD:MINUTES:BOUNDARY such as max:20:>; METHOD is arrival, last, "
    "max, last+CUT or max+CUT (CUT in minutes), MINUTES at least 0, and BOUNDARY '>=' or '>'"
)
_LOOSE = re.compile(r"([a-z]+)[^a-z0-9+]*(\d+(?:\.\d+)?)(:>=?)?", re.I)
"""A method and its minutes, however they are joined: ``a30``, ``Arrival 30``, ``arival:30``."""


class SessionRule(str, Parsed):
    """The text of a :class:`Delimitation`, which is checked before a run begins."""

    expected = _EXAMPLE

    @classmethod
    def parse(cls, value: Any) -> SessionRule:
        """Return the text, if it is a rule."""
        try:
            Delimitation.parse(str(value))
        except UsageError:
            raise ValueError from None
        return cls(value)

    @classmethod
    def suggest(cls, value: Any) -> str | None:
        """Return the rule that a text probably means, such as ``arrival:30`` for ``a30``.

        >>> SessionRule.suggest("a30")
        'arrival:30'
        """
        found = _LOOSE.fullmatch(str(value).strip())
        if found is None:
            return None
        method, minutes, boundary = found.groups(default="")
        word = method.lower()
        near = [m for m in METHODS if m.startswith(word)] or get_close_matches(word, METHODS, n=1)
        return f"{near[0]}:{minutes}{boundary}" if near else None


if TYPE_CHECKING:
    Sessions = str
else:
    Sessions = Annotated[
        SessionRule,
        Meta(
            title="Rule that cuts a user's jobs into sessions, in minutes; also the option "
            "--sessions.",
            description=f"{_EXAMPLE}, or with a boundary or a cut: max:20:> or last+30:20",
        ),
    ]
"""The type of a model's option ``sessions``, with its help: a text that is checked."""


class Delimitation(msgspec.Struct, frozen=True):
    """A rule that cuts a user's jobs into sessions: a method, a threshold and a boundary.

    Job i (in submission order) opens a new session iff its gap to the jobs before it is at least
    the threshold (boundary ``>=``), or longer than it (boundary ``>``). The gap is

    ``arrival``
        submit_i - submit_(i-1);
    ``last``
        submit_i - finish_(i-1), the recorded finish of the previous job;
    ``max``
        submit_i - max of the finish times of *all* earlier jobs of the user (Zakay 2.2). The
        maximum over the jobs of the present session gives the same sessions, as all earlier jobs
        had finished when the job that opened the session was submitted.

    With a ``cut``, ``last`` and ``max`` are Zakay's Last+Cut and Max+Cut: they take the finish of a
    job as min(finish, submit + cut). With a cut of 0, both are ``arrival``.

    With a threshold of 0 and boundary ``>``, the sessions by ``last`` or ``max`` are Zakay's
    *batches* by that method: jobs submitted before the jobs ahead of them had ended.

    Raises :class:`UsageError` for an unknown method or boundary, for a threshold or cut that is
    not a number >= 0, and for ``arrival`` with a cut. An infinite threshold makes one session of
    all jobs of a user.
    """

    method: str
    """``arrival``, ``last`` or ``max``."""
    threshold: float
    """Minutes."""
    boundary: str = ">="
    """``>=`` (Madon et al.) or ``>`` (Zakay): whether a gap of exactly the threshold cuts."""
    cut: float = inf
    """Minutes after its submission, after which the rule ignores that a job still runs."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            hint = did_you_mean(self.method.lower(), METHODS)
            raise UsageError(f"sessions: unknown method {self.method!r}{hint}; {_FORMS}")
        if not self.threshold >= 0:  # also catches nan
            raise UsageError(f"sessions: a threshold of {self.threshold} minutes; {_FORMS}")
        if not self.cut >= 0:
            raise UsageError(f"sessions: a cut of {self.cut} minutes; {_FORMS}")
        if self.cut < inf and self.method == "arrival":
            raise UsageError(f"sessions: arrival looks at no finish, so it has no cut; {_FORMS}")
        if self.boundary not in BOUNDARIES:
            raise UsageError(f"sessions: unknown boundary {self.boundary!r}; {_FORMS}")

    @classmethod
    def parse(cls, text: str) -> Delimitation:
        """Read a rule such as ``arrival:60``, ``max:20:>`` or ``last+30:20``.

        Raises :class:`UsageError`.
        """
        method, *rest = text.split(":")
        if len(rest) not in (1, 2):
            near = SessionRule.suggest(text)
            hint = f" (did you mean {near!r}?)" if near else ""
            raise UsageError(f"sessions: {text!r}{hint}: {_FORMS}")
        method, plus, cut = method.partition("+")
        boundary = rest[1] if len(rest) == 2 else ">="
        return cls(method, _minutes(rest[0], text), boundary, _minutes(cut, text) if plus else inf)

    def __str__(self) -> str:
        """Return the shortest text that :meth:`parse` reads back."""
        cut = "" if self.cut == inf else f"+{whole(self.cut)}"
        boundary = "" if self.boundary == ">=" else f":{self.boundary}"
        minutes = self.threshold if self.threshold == inf else whole(self.threshold)
        return f"{self.method}{cut}:{minutes}{boundary}"

    @property
    def seconds(self) -> float:
        """The threshold in seconds, without rounding errors of the minutes."""
        return round(self.threshold * MINUTE, 6)  # 0.17 minutes are 10.2 s, not 10.200000000000001

    def seen_finish(self, job: WorkloadJob) -> float:
        """Return the finish of a job for this rule: the recorded finish, or the cut if earlier.

        The job must have a recorded finish.
        """
        assert job.finish_time is not None
        if self.cut == inf:
            return job.finish_time
        return min(job.finish_time, job.submit_time + self.cut * MINUTE)


def _minutes(text: str, whole_text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"sessions: {text!r} in {whole_text!r} is not a number of minutes; {_FORMS}"
        ) from None


class Session(msgspec.Struct, gc=False):
    """A session: consecutive jobs of one user, without a long gap between them."""

    id: int
    """Place among the sessions of the user, from 1."""
    user: str
    jobs: list[WorkloadJob]
    """At least one, in submission order, ties in log order."""
    start: float
    """Submission time of the first job, seconds."""
    finish: float
    """Latest recorded finish of its jobs, seconds; inf if it is unknown for one of them."""


def partition(jobs: Iterable[WorkloadJob], delimitation: Delimitation) -> dict[str, list[Session]]:
    """Cut the jobs of each user into sessions by a rule, and return them by user.

    Sessions are in order, users in order of first appearance in ``jobs``. The jobs are put into
    submission order; simultaneous jobs keep the order of ``jobs``.

    Raises :class:`UsageError` for jobs without user, for a job that finished before it was
    submitted, and, if the method needs them, for jobs without recorded finish.
    """
    own_jobs = _by_user(jobs)
    for user_jobs in own_jobs.values():
        user_jobs.sort(key=attrgetter("submit_time"))
        _check_finish_times(user_jobs, delimitation)
    return {user: _cut(user, user_jobs, delimitation) for user, user_jobs in own_jobs.items()}


def _by_user(jobs: Iterable[WorkloadJob]) -> dict[str, list[WorkloadJob]]:
    own_jobs: dict[str, list[WorkloadJob]] = {}
    unknown: list[str] = []
    for job in jobs:
        if job.user is None:
            unknown.append(job.id)
        else:
            own_jobs.setdefault(job.user, []).append(job)
    if unknown:
        raise UsageError(
            f"{len(unknown)} jobs have no user (the first is job {unknown[0]}), but sessions are "
            f"cut per user; for a log, {parameter('unknown_user')} each takes each as a user "
            "of its own"
        )
    return own_jobs


def _check_finish_times(jobs: list[WorkloadJob], delimitation: Delimitation) -> None:
    for job in jobs:
        finish = job.finish_time
        if finish is None:
            if delimitation.method != "arrival":
                raise UsageError(
                    f"job {job.id} of user {job.user} has no recorded finish time, which sessions "
                    f"by {delimitation} need; use arrival:MINUTES, or a log with finish times"
                )
        elif not finish >= job.submit_time:
            raise UsageError(
                f"job {job.id} of user {job.user} finished at {finish}, before it was submitted "
                f"at {job.submit_time}; sessions need finish times that are not before submission"
            )


def _cut(user: str, jobs: list[WorkloadJob], delimitation: Delimitation) -> list[Session]:
    opens = ge if delimitation.boundary == ">=" else gt
    threshold = delimitation.seconds
    groups = [[jobs[0]]]
    latest = -inf  # finish of all jobs so far; used, hence known, by "max" only
    for previous, job in pairwise(jobs):
        reference = previous.submit_time
        if delimitation.method != "arrival":
            finish = delimitation.seen_finish(previous)
            latest = max(latest, finish)
            reference = latest if delimitation.method == "max" else finish
        if opens(job.submit_time - reference, threshold):
            groups.append([job])
        else:
            groups[-1].append(job)
    return [make_session(number, user, group) for number, group in enumerate(groups, start=1)]


def make_session(number: int, user: str, jobs: list[WorkloadJob]) -> Session:
    """Make session ``number`` of ``user`` from ``jobs`` (at least one, in submission order)."""
    finishes = [inf if job.finish_time is None else job.finish_time for job in jobs]
    return Session(number, user, jobs, jobs[0].submit_time, max(finishes))
