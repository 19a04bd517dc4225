"""SABjson: sessions of one user."""

from __future__ import annotations

from pathlib import Path

from batsched_py.errors import WorkloadError
from batsched_users.sessions.sabjson import read_sabjson, write_sabjson
from fuzz.contract import Target, refusal, same, words

SESSIONS = Path("user7.SABjson")
_SEEDS = (
    b"""{"user": "7", "delimitation": "arrival:60", "sessions": [
{"id": 1, "first_submit_time": 10, "preceding_sessions": [],
 "thinking_time_after_preceding_session": [], "nb_jobs": 2, "jobs": [
 {"id": 1, "profile": "p", "res": 2, "subtime": 0, "walltime": 30, "finish_time": 25},
 {"id": "x2", "profile": "c", "res": 1, "subtime": 0.25, "estimate": 6, "colour": [1]}]},
{"id": 2, "first_submit_time": 100.5, "preceding_sessions": [1],
 "thinking_time_after_preceding_session": [75.5], "nb_jobs": 1, "jobs": [
 {"id": 3, "profile": "p", "res": 1, "subtime": 0, "submit_time": 100.5}]}],
"profiles": {"p": {"type": "delay", "delay": 10}, "c": {"type": "composed", "seq": ["p"]}}}""",
    b"""{"sessions": [{"id": 5, "first_submit_time": 0, "jobs": [
{"id": 0, "profile": "q", "res": 1, "subtime": 0, "walltime": -1}]}],
"profiles": {"q": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}}}""",
)
_TOKENS = words(
    """
    user delimitation sessions profiles id first_submit_time jobs nb_jobs
    preceding_sessions thinking_time_after_preceding_session profile res subtime
    walltime finish_time estimate submit_time type composed seq delay arrival:60
    max:0.5 last:1 arrival:nan max:1:>
    """
)


def check(data: bytes) -> str:
    """What is read is the same when it is written and read again."""
    SESSIONS.write_bytes(data)
    try:
        content = read_sabjson(SESSIONS)
    except WorkloadError as error:
        return refusal(error, str(SESSIONS))
    again = Path("again.SABjson")
    write_sabjson(again, content)
    same(content, read_sabjson(again), "sessions")
    return ""


TARGETS = (Target("sabjson", lambda: _SEEDS, check, _TOKENS),)
