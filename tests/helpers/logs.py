"""Small logs in the standard workload format (SWF)."""

from __future__ import annotations


def swf_line(
    job: object = 1, submit: object = 0, run: object = 10, size: object = 1, user: int = 3
) -> str:
    """Return a job that did not wait and asked for 60 s and for what it got."""
    return f"{job} {submit} 0 {run} {size} -1 -1 {size} 60 -1 1 {user} 1 -1 1 -1 -1 -1"


def small_log() -> str:
    """Return a log of six jobs of two users on four processors."""
    jobs = [swf_line(i + 1, 10 * i, 7 * (i + 1), 1 + i % 3, 1 + i % 2) for i in range(6)]
    return swf_text(*jobs)


def swf_text(*jobs: str, processors: int = 4) -> str:
    """Return a log of these lines (default: one job)."""
    return "\n".join([f"; MaxProcs: {processors}", *(jobs or [swf_line()]), ""])
