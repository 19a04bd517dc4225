"""How a log becomes a workload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from batsched_py.errors import UsageError
from batsched_py.workload.conversion_rules import Rules, as_dict, make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.log_conversion import convert_log as convert
from batsched_py.workload.logs.swf import FIELDS, read_swf, write_swf
from batsched_py.workload.workload import Workload, WorkloadJob

JOB = dict(
    zip(FIELDS, [1.0, 5, 3, 10, 2, -1, -1, 4, 60, -1, 1, 7, 1, 1, 1, -1, -1, -1], strict=True)
)


def workload(
    tmp_path: Path, rules: Rules, *changes: dict[str, float], speed_factor: float = 1.0
) -> Workload:
    """Convert a log of one job for each of ``changes`` (and a plain job 99 at the end)."""
    rows = [JOB | {"job_number": n + 1} | change for n, change in enumerate(changes)]
    rows.append(JOB | {"job_number": 99, "submit_time": 1000})
    write_swf(tmp_path / "a.swf", ["; MaxProcs: 8"], [list(row.values()) for row in rows])
    return convert(read_swf(tmp_path / "a.swf"), rules, speed_factor=speed_factor)


def test_the_fields_of_a_job(tmp_path: Path) -> None:
    result = workload(tmp_path, Rules(), {})
    expected = {"submit_time": 5, "size": 4, "profile": "r10", "walltime": 60, "finish_time": 18}
    expected["original_submission_time"] = 5
    assert result.jobs[0] == WorkloadJob(id="1", user="7", **expected)
    assert result.nb_res == 8
    profile = {"type": "parallel_homogeneous", "cpu": 10_000_000_000, "com": 0}
    assert result.profiles == {"r10": profile}
    assert result.rules == as_dict(Rules())


def test_jobs_of_some_users_are_left_out(tmp_path: Path) -> None:
    rules = make_rules(without_users="8, 9")
    assert rules.without_users == ("8", "9")
    made = workload(tmp_path, rules, {"user": 8}, {"user": 9}, {"user": 80}, {"user": -1})
    assert [job.id for job in made.jobs] == ["3", "4", "99"]
    assert "2 jobs of --without-users were left out" in made.notes
    assert "without_users" not in as_dict(Rules())
    with pytest.raises(UsageError, match="without_users"):
        make_rules(without_users="alice")


@pytest.mark.parametrize(
    ("change", "rules", "field", "expected"),
    [
        ({"requested_processors": -1}, {}, "size", 2),  # allocated where not requested
        ({}, {"size": "allocated"}, "size", 2),
        ({"allocated_processors": 0}, {"size": "allocated"}, "size", 4),
        ({}, {"walltime": "double"}, "walltime", 60),  # a long request stays
        ({"run_time": 40}, {"walltime": "double"}, "walltime", 80),
        ({"requested_time": -1, "run_time": 0}, {"walltime": "double"}, "walltime", 1),
        ({"requested_time": 0.2, "run_time": 0.2}, {"least_walltime": 5}, "walltime", 5),
        ({"requested_time": -1, "run_time": 0}, {"least_walltime": 0}, "walltime", None),
        ({"run_time": 90}, {"walltime": "requested"}, "walltime", 60),  # even if it ran longer
        ({"requested_time": -1}, {"walltime": "requested"}, "walltime", None),
        ({"requested_time": 0}, {"walltime": "requested"}, "walltime", None),  # never a limit of 0
        ({}, {"walltime": "exact"}, "walltime", None),
        ({"wait_time": -1}, {}, "finish_time", 15),  # an unknown wait counts as none
    ],
)
def test_fields_by_rules(
    tmp_path: Path, change: dict[str, float], rules: dict[str, Any], field: str, expected: Any
) -> None:
    job = workload(tmp_path, make_rules(**rules), change).jobs[0]
    assert getattr(job, field) == expected


@pytest.mark.parametrize(
    ("rules", "run_time", "profile", "estimate"),
    [
        ({"walltime": "exact"}, 10, {"cpu": 10e9}, 10 / 3),  # one division by the speed factor
        ({"runtime": "cut-at-request"}, 90, {"cpu": 60e9}, None),
        ({"profile": "delay", "walltime": "exact"}, 10, {"delay": 10}, 10),  # at any speed
        ({"profile": "delay"}, 2.5, {"delay": 2.5}, None),
        ({"profile": "delay"}, 0, {"cpu": 0}, None),  # Batsim refuses a delay of 0
    ],
)
def test_profiles_and_exact_estimates(
    tmp_path: Path,
    rules: dict[str, Any],
    run_time: float,
    profile: dict[str, float],
    estimate: float | None,
) -> None:
    result = workload(tmp_path, make_rules(**rules), {"run_time": run_time}, speed_factor=3.0)
    job = result.jobs[0]
    ((field, value),) = profile.items()
    found = result.profiles[job.profile][field]
    assert (found, type(found)) == (value, float if value == 2.5 else int)
    assert (job.estimate, job.finish_time) == (estimate, 5 + 3 + run_time)


@pytest.mark.parametrize(
    ("rules", "changes", "users"),
    [
        ({"unknown_user": "one"}, [{"user": -1}, {"user": -1}], ["-1", "-1", "7"]),
        ({"unknown_user": "each"}, [{"user": -1}] * 2, ["unknown-1", "unknown-2", "7"]),
        ({"unknown_user": "drop"}, [{"user": -1}], ["7"]),
        # The first are counted after dropping.
        ({"first": 2}, [{"run_time": -1}, {"user": 2}, {"user": 3}], ["2", "3"]),
        # Withdrawn jobs did not run; cancelled jobs that ran, and zero-length ones, stay.
        (
            {},
            [{"user": 1, "status": 5, "run_time": 0}, {"user": 2, "status": 5}, {"run_time": 0}],
            ["2", "7", "7"],
        ),
    ],
)
def test_which_jobs_are_left(
    tmp_path: Path, rules: dict[str, Any], changes: list[dict[str, float]], users: list[str]
) -> None:
    result = workload(tmp_path, make_rules(**rules), *changes)
    assert [job.user for job in result.jobs] == users


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ({"run_time": 0}, "zero-runtime"),  # run time 0
        ({"requested_time": -1}, "no-request"),  # unknown request
        ({"requested_time": 0}, "no-request"),  # request of 0
        ({"allocated_processors": 0}, "no-allocation"),  # no processors got
        ({"requested_processors": 9}, "too-wide"),  # wider than the machine
        ({"status": 5}, "cancelled"),  # cancelled
        ({"status": 5, "run_time": 0}, "withdrawn"),  # cancelled before it ran
        ({"status": 0}, "failed"),  # failed
        ({"user": -1}, "no-user"),  # unknown user
    ],
)
def test_conditions_drop_only_if_asked_for(
    tmp_path: Path, change: dict[str, float], condition: str
) -> None:
    assert len(workload(tmp_path, Rules(), change).jobs) == 2
    result = workload(tmp_path, make_rules(drop=condition), change)
    assert [job.id for job in result.jobs] == ["99"]
    assert any("1 job" in note for note in result.notes)
    twice = workload(tmp_path, make_rules(drop=(condition, condition)), change)
    assert (twice.jobs, twice.notes) == (result.jobs, result.notes)


def test_what_cannot_be_simulated_is_always_dropped(tmp_path: Path) -> None:
    sizes = ({"requested_processors": n, "allocated_processors": n} for n in (-1, 0))
    result = workload(tmp_path, Rules(), *sizes, {"run_time": -1})
    assert [job.id for job in result.jobs] == ["99"]


def test_rules_of_older_results_are_stored_as_they_were() -> None:
    stored = as_dict(make_rules("replay-feedback"))
    assert "least_walltime" not in stored
    assert as_dict(make_rules())["least_walltime"] == 1
    for walltime in ("requested", "exact"):  # which give no limit of their own
        assert "least_walltime" not in as_dict(make_rules(walltime=walltime))
    assert msgspec.convert(stored, Rules) == make_rules("replay-feedback") == Rules()


def test_overrides_replace_the_fields_of_a_preset() -> None:
    rules = make_rules("predictsim", walltime="exact", size=None, drop="too-wide,cancelled")
    assert rules.walltime == "exact"
    assert rules.runtime == "cut-at-request"
    assert rules.drop == ("too-wide", "cancelled")


@pytest.mark.parametrize(
    ("preset", "overrides", "message"),
    [
        ("predict-sim", {}, "predictsim"),  # a preset with a typo
        ("dynp", {"walltime": "doubel"}, "double"),  # a value with a typo
        ("dynp", {"drop": "zero-run"}, "zero-runtime"),  # a condition with a typo
        ("dynp", {"drop": ["x"]}, "too-wide"),  # an unknown condition in a list
        ("dynp", {"first": 0}, "1"),  # no jobs at all
        ("dynp", {"least_walltime": -1}, "at least 0"),  # a limit that has passed
        ("dynp", {"sizes": "requested"}, "size"),  # a field with a typo
    ],
)
def test_wrong_rules_say_what_is_allowed(
    preset: str, overrides: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        make_rules(preset, **overrides)


def load(shared: Path, name: str, preset: str) -> Workload:
    path = shared / "swf" / f"{name}.swf.gz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    return load_workload(path, make_rules(preset))


@pytest.mark.parametrize(
    ("name", "preset", "jobs", "users"),
    [
        ("KTH-SP2-1996-2.1-cln", "replay-feedback", 28_475, 214),
        ("KTH-SP2-1996-2", "predictsim", 28_481, 214),
        ("SDSC-SP2-1998-4.1-cln", "predictsim", 54_006, 428),
        ("SDSC-SP2-1998-4.reconstructed", "dynp", 67_620, 429),
        # The paper says 67,667 jobs of 428 users; its log is not quite the reconstructed one.
        ("SDSC-SP2-1998-4.reconstructed", "replay-feedback", 67_665, 429),
    ],
)
def test_jobs_of_the_published_studies(
    shared: Path, name: str, preset: str, jobs: int, users: int
) -> None:
    result = load(shared, name, preset)
    assert len(result.jobs) == jobs
    assert len({job.user for job in result.jobs}) == users


def test_walltimes_of_the_replay_with_feedback(shared: Path) -> None:
    result = load(shared, "KTH-SP2-1996-2.1-cln", "replay-feedback")
    run = {name: profile["cpu"] / 1e9 for name, profile in result.profiles.items()}
    doubled = sum(job.walltime == 2 * run[job.profile] for job in result.jobs)
    assert doubled == 13_096
