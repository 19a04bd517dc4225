"""What a policy did wrong, in words for its author: when, in which line, what was expected."""

from __future__ import annotations

from types import GeneratorType
from typing import Any

from batsched_py.errors import BatschedError, BudgetError, InvariantError, ProtocolError
from batsched_py.model.decisions import Decision, Kill, Reject, Start
from batsched_py.model.job import Job
from batsched_py.plugins.code_places import raised_at, waits_at


def mistake_of_policy(
    error: Exception, now: float, decisions: object, decision: Decision | None
) -> InvariantError | None:
    """Return what is to be raised instead of ``error``, None if that says itself what is wrong.

    It came at ``now`` (seconds) from going through the ``decisions`` of a policy, or from carrying
    out the latest ``decision`` (None: there was none yet).
    """
    if isinstance(error, BudgetError | ProtocolError):  # the latter is the other side's
        return None
    from_policy = isinstance(decisions, GeneratorType) and decisions.gi_frame is None
    if from_policy or decision is None:
        place = raised_at(error)
        if not isinstance(error, InvariantError) or place is None:
            return None
        problem = str(error)
    else:
        place = waits_at(decisions)
        if isinstance(decision, Start | Reject | Kill) and not isinstance(decision.job, Job):
            problem = f"{type(decision).__name__}({decision.job!r}): expected a job of the queue"
        elif isinstance(error, BatschedError | ValueError) and raised_at(error) is None:
            problem = str(error)
        else:  # a fault that is not the policy's: ours, or that of users who are told of an end
            return None
    return InvariantError(f"at {now}{f' ({place})' if place else ''}: {problem}")


def no_decision(policy: object, given: Any) -> InvariantError:
    """Return what is to be raised for something else than a decision."""
    what = f"job {given.id} itself" if isinstance(given, Job) else repr(given)
    return InvariantError(
        f"{type(policy).__name__} yielded {what}: expected Start(job), Reject(job), Kill(job) or "
        "CallMeLater(time)"
    )
