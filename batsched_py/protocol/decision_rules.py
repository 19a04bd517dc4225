"""Rules of Batsim for single decisions, independent of earlier messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf
from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.support.json_values import is_number, quote
from batsched_py.workload.batsim.profile_types import REGISTRABLE

Refusal = Callable[[m.JobDescription, Mapping[str, Any]], str | None]
"""Returns why Batsim cannot register a job with its profile, None if it can."""
BREAKING_4 = re.compile(r"[()|},\"\\\n]")
"""Characters in the id of a registered job on which Batsim 4.2.0 aborts."""
BREAKING_5 = re.compile(r",|!\"")
"""Characters in the id of a job that break its row in the table of Batsim 5."""
LEAST_DELAY = 5e-7
"""Seconds; less than that is 0 once Batsim 4.2 has rounded it to six decimals."""


def round_up_to_six_decimals(time: float) -> float:
    """Round seconds up to six decimals, so that a call at this time is not too early."""
    near = round(time, 6)
    return near if near >= time else round(time + 1e-6, 6)


def explain_batsim4_refusal(job: m.JobDescription, profile: Mapping[str, Any]) -> str | None:
    """Return why Batsim 4.2 aborts, or crashes later, if this job is registered with its profile.

    None: Batsim takes it.
    """
    if BREAKING_4.search(job.id):
        return 'Batsim 4.2.0 aborts on an id with one of ( ) | } , " \\ or a line break in it'
    kind, delay = profile.get("type"), profile.get("delay")
    if not isinstance(kind, str) or kind not in REGISTRABLE:
        return f"its profile is of type {quote(kind)}, which Batsim 4.2.0 cannot register"
    if kind == "delay" and not (is_number(delay) and delay > LEAST_DELAY):
        return f"its profile has the delay {quote(delay)}: expected seconds above {LEAST_DELAY:g}"
    return explain_refusal_by_both(job)


def explain_batsim5_refusal(job: m.JobDescription, profile: Mapping[str, Any]) -> str | None:
    """Return why Batsim 5 aborts or breaks its table if a job is registered; None: it does not."""
    if BREAKING_5.search(job.id):
        return (
            "a comma, a line break, or a name that begins with a quote breaks the job's row in the "
            "table of Batsim 5"
        )
    delay, vector = profile.get("delay"), profile.get("cpu")
    if profile.get("type") == "delay" and not (is_number(delay) and 0 < delay < inf):
        return f"its profile has the delay {quote(delay)}: expected seconds above 0"
    if isinstance(vector, list) and len(vector) != job.size:
        return f"its profile is for {len(vector)} processors, and it asks for {job.size}"
    return explain_refusal_by_both(job)


def explain_refusal_by_both(job: m.JobDescription) -> str | None:
    """Return why both versions of Batsim refuse to register a job, None if they do not."""
    if job.id.count("!") != 1 or "\0" in job.id:
        return "expected an id without an exclamation mark or a zero byte"
    if job.size < 1 or (job.walltime is not None and job.walltime <= 0):
        return f"it has size {job.size} and walltime {job.walltime}: expected both above 0"
    return None


def check_mapping(decision: m.ExecuteJob, size: int) -> list[int]:
    """Return the place inside the allocation of each executor, 0 to ``size`` - 1, in their order.

    Raises :class:`ProtocolError` for a mapping that does not place each exactly once.
    """
    mapping = decision.mapping or {}
    places: dict[int, int] = {}
    if len(mapping) == size and {int, str}.issuperset(map(type, mapping.values())):
        with suppress(ValueError):
            places = {int(executor): int(place) for executor, place in mapping.items()}
    width = len(decision.alloc)
    if sorted(places) != list(range(size)) or not all(0 <= p < width for p in places.values()):
        raise ProtocolError(
            f"EXECUTE_JOB: the mapping of job {decision.job_id} must name the executors 0 to "
            f"{size - 1} and their places, 0 to {width - 1}, found {mapping}"
        )
    return [places[executor] for executor in range(size)]


def check_metadata(decision: m.SetJobMetadata) -> None:
    """Raise :class:`ProtocolError` for a text that Batsim cannot write to its table."""
    if '"' in decision.metadata or "\0" in decision.metadata:
        raise ProtocolError('SET_JOB_METADATA: the text must not contain " or a zero byte')
