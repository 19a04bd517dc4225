"""Errors for the author of a policy, with the time and the line of the mistake."""

from __future__ import annotations

from types import GeneratorType
from typing import Any

from batsched_py.errors import BatschedError, BudgetError, InvariantError, ProtocolError
from batsched_py.model.decisions import Decision, Kill, Reject, Start
from batsched_py.model.job import Job
from batsched_py.plugins.code_places import find_author_line, find_waiting_line


def find_mistake(
    error: Exception, now: float, decisions: object, decision: Decision | None
) -> InvariantError | None:
    """Return the error to raise in place of ``error``; None if it is not the policy's mistake.

    It came at ``now`` (seconds) from the iterator of ``decisions``, or from carrying out the latest
    ``decision`` (None: there was none yet).
    """
    if isinstance(error, BudgetError | ProtocolError):  # the latter is the other side's
        return None
    from_policy = isinstance(decisions, GeneratorType) and decisions.gi_frame is None
    if from_policy or decision is None:
        place = find_author_line(error)
        if not isinstance(error, InvariantError) or place is None:
            return None
        problem = str(error)
    else:
        place = find_waiting_line(decisions)
        if isinstance(decision, Start | Reject | Kill) and not isinstance(decision.job, Job):
            problem = f"{type(decision).__name__}({decision.job!r}): expected a job of the queue"
        elif isinstance(error, BatschedError | ValueError) and find_author_line(error) is None:
            problem = str(error)
        else:  # a fault of this program, or of a user model that learns of an end
            return None
    return InvariantError(f"at {now}{f' ({place})' if place else ''}: {problem}")


def make_decision_error(policy: object, yielded: Any) -> InvariantError:
    """Return the error for an object that a policy yielded and that is not a decision."""
    what = f"job {yielded.id} itself" if isinstance(yielded, Job) else repr(yielded)
    return InvariantError(
        f"{type(policy).__name__} yielded {what}: expected Start(job), Reject(job), Kill(job) or "
        "CallMeLater(time)"
    )
