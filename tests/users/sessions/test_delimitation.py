"""Sessions: cutting rules drawn by hand, what is refused, and counts of a real log."""

from __future__ import annotations

import subprocess
import sys
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.workload import WorkloadJob
from batsched_users.sessions.delimitation import Delimitation, Session, partition
from helpers.drawn_sessions import intervals, job, jobs_of, names


def cut(rule: str, *times: tuple[float, float]) -> list[str]:
    return names(partition(jobs_of(*times), Delimitation.parse(rule))["u"])


@pytest.mark.parametrize(
    ("rule", "times", "expected", "why"),
    [
        ("arrival:1", [(0, 9), (60, 99)], ["a", "b"], "exactly the threshold cuts with >="),
        ("arrival:1:>", [(0, 9), (60, 99)], ["ab"], "exactly the threshold does not cut with >"),
        ("last:1", [(0, 500), (10, 20), (80, 90)], ["ab", "c"], "last looks at job b only"),
        ("max:1", [(0, 500), (10, 20), (80, 90)], ["abc"], "max still sees job a running"),
        ("arrival:0.17", [(0, 1), (10.2, 11)], ["a", "b"], "0.17 minutes are exactly 10.2 s"),
    ],
)
def test_cuts(rule: str, times: list[tuple[float, float]], expected: list[str], why: str) -> None:
    assert cut(rule, *times) == expected, why


def test_sessions_tell_number_user_start_and_finish() -> None:
    jobs = jobs_of((0, 500), (10, 20), (4000, 4001))
    first, second = partition(jobs, Delimitation("arrival", 60))["u"]
    assert first == Session(1, "u", jobs[:2], 0, 500)
    assert second == Session(2, "u", jobs[2:], 4000, 4001)


def test_users_come_in_order_of_first_appearance() -> None:
    mixed = [job("1", 5, 6, "z"), job("2", 5, 6, "a"), job("3", 6, 7, "z")]
    users = partition(mixed, Delimitation("arrival", 60))
    assert list(users) == ["z", "a"]
    assert names(users["z"]) == ["13"]


def test_jobs_are_put_into_submission_order_and_ties_stay_in_log_order() -> None:
    mixed = [job("c", 9, 9), job("b", 3, 9), job("a", 3, 9)]
    assert names(partition(mixed, Delimitation("arrival", 60))["u"]) == ["bac"]


def test_no_jobs_make_no_users() -> None:
    assert partition([], Delimitation("arrival", 60)) == {}


def test_arrival_does_not_need_finish_times() -> None:
    (session,) = partition([job("a", 0, None), job("b", 1, 2)], Delimitation("arrival", 60))["u"]
    assert session.finish == inf


@pytest.mark.parametrize(
    ("rule", "jobs", "message"),
    [
        ("last:20", [job("a", 0, None)], "job a of user u has no recorded finish .* by last:20"),
        ("max:20", [job("a", 0, None)], "job a of user u has no recorded finish .* by max:20"),
        ("arrival:60", [job("a", 5, 4.0)], "job a of user u finished at .* before .* at 5"),
        ("arrival:60", [job("a", 5, nan)], "job a of user u finished at .* before .* at 5"),
        (
            "arrival:60",
            [job("a", 0, 1), job("b", 0, 1, None), job("c", 0, 1, None)],
            r"2 jobs have no user \(.* job b\).*unknown_user each",
        ),
    ],
)
def test_jobs_that_cannot_be_cut(rule: str, jobs: list[WorkloadJob], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        partition(jobs, Delimitation.parse(rule))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("arrival:60", "arrival:60"),
        ("arrival:60.0:>=", "arrival:60"),
        ("arrival:60:>", "arrival:60:>"),
        ("max:20", "max:20"),
        ("last:0.5", "last:0.5"),
        ("arrival:inf", "arrival:inf"),
    ],
)
def test_text_form(text: str, canonical: str) -> None:
    rule = Delimitation.parse(text)
    assert str(rule) == canonical
    assert Delimitation.parse(canonical) == rule


@given(
    st.builds(
        Delimitation,
        st.sampled_from(["arrival", "last", "max"]),
        st.floats(0, allow_nan=False),
        st.sampled_from([">=", ">"]),
    )
)
def test_text_form_is_read_back(rule: Delimitation) -> None:
    assert Delimitation.parse(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arrival", "'arrival' is not a delimitation; expected METHOD:MINUTES"),
        ("", "'' is not a delimitation"),
        ("arrival:60:>:1", "is not a delimitation"),
        ("arival:60", r"unknown method 'arival' \(did you mean 'arrival'\?\)"),
        ("Max:20", r"unknown method 'Max' \(did you mean 'max'\?\)"),
        ("xyz:60", "unknown method 'xyz'; expected"),
        ("arrival:an hour", "'an hour' in 'arrival:an hour' is not a number of minutes"),
        ("arrival:-1", "a threshold of -1.0 minutes; expected .*MINUTES >= 0"),
        ("arrival:nan", "a threshold of nan minutes"),
        ("arrival:60:<", "unknown boundary '<'; expected"),
    ],
)
def test_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Delimitation.parse(text)


def slow_cut(jobs: list[WorkloadJob], rule: Delimitation) -> list[str]:
    """The definition, job by job; ``max`` looks at all jobs before, also of earlier sessions."""
    words: list[str] = []
    for place, later in enumerate(jobs):
        if rule.method == "arrival":
            seen = [other.submit_time for other in jobs[:place]]
        else:
            cut = rule.cut * 60
            seen = [min(j.finish_time or 0, j.submit_time + cut) for j in jobs[:place]]
        gap = later.submit_time - (max if rule.method == "max" else list.pop)(seen) if seen else inf
        if gap > rule.seconds or (gap == rule.seconds and rule.boundary == ">=") or not words:
            words.append("")
        words[-1] += later.id
    return words


@given(
    intervals(12).filter(bool),
    st.sampled_from(["arrival", "last", "max", "last+0.05", "max+0.1"]),
    st.sampled_from(["0", "0.05", "0.1", "inf"]),
    st.sampled_from(["", ":>"]),
)
def test_sessions_are_as_defined(
    times: list[tuple[float, float]], method: str, minutes: str, boundary: str
) -> None:
    """For each of several users."""
    rule = Delimitation.parse(f"{method}:{minutes}{boundary}")
    jobs = [job(chr(97 + i), *pair, "uv"[i % 2]) for i, pair in enumerate(sorted(times))]
    for user, sessions in partition(jobs, rule).items():
        assert names(sessions) == slow_cut([j for j in jobs if j.user == user], rule)


@pytest.mark.process
def test_imports_are_light() -> None:
    heavy = "{'numpy', 'pandas', 'altair', 'networkx', 'jsonschema', 'rich', 'typer'}"
    modules = "batsched_users.sessions.delimitation, batsched_users.sessions.session_graph"
    code = f"import sys, {modules}; print({heavy} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
