"""Jobs that were withdrawn before they started: which they are, left out, or with a run time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.errors import UsageError
from batsched_py.workload.conversion_rules import PRESETS, Rules, as_dict, make_rules
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.log_summary import log_summary
from batsched_py.workload.logs.swf import SwfLog, order_fields, read_swf, write_swf
from batsched_py.workload.withdrawn_jobs import impute_run_times

USUAL: dict[str, float] = {
    "wait_time": 0,
    "run_time": 100,
    "allocated_processors": 1,
    "requested_processors": 1,
    "requested_time": 200,
    "status": 1,
    "user": 1,
}
WITHDRAWN: dict[str, float] = {"status": 5, "run_time": -1, "allocated_processors": -1}


def a_log(*jobs: dict[str, float]) -> SwfLog:
    """Return a log of these jobs, a second apart; ``USUAL`` has the fields that they lack."""
    rows = [
        order_fields(USUAL | {"job_number": number, "submit_time": number} | job)
        for number, job in enumerate(jobs, start=1)
    ]
    return SwfLog(Path("a.swf"), ["; MaxProcs: 8"], np.array(rows), np.arange(len(rows)), [])


def run_times(log: SwfLog, **rules: Any) -> dict[str, float]:
    """Return the run time of each job that the rules make of a log."""
    workload = convert_log(log, make_rules(profile="delay", **rules))
    profiles = workload.profiles
    return {
        job.id: profiles[job.profile].get("delay", profiles[job.profile].get("cpu"))
        for job in workload.jobs
    }


def notes(log: SwfLog, text: str, **rules: Any) -> list[str]:
    return [note for note in convert_log(log, make_rules(**rules)).notes if text in note]


# Which they are -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "queues", "nb"),
    [
        ("SDSC-SP2-1998-4.2-cln", "all", 5_671),
        ("SDSC-BLUE-2000-4.2-cln", "batch", 10_532),  # none of them after June 2002
        ("SDSC-DS-2004-2.1-cln", "batch", 10_861),
        ("CEA-Curie-2011-2.1-cln", "all", 14_730),
        ("KTH-SP2-1996-2.1-cln", "all", 0),
    ],
)
def test_the_withdrawn_jobs_of_archive_logs(shared: Path, name: str, queues: str, nb: int) -> None:
    """As counted by hand; queue 0 is of interactive jobs. The default rules drop all of them."""
    path = shared / "swf" / f"{name}.swf.gz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    log = read_swf(path)
    withdrawn = log.withdrawn
    in_queues = withdrawn if queues == "all" else withdrawn & (log.column("queue") != 0)
    assert in_queues.sum() == nb
    workload = convert_log(log, make_rules())
    numbers = set(log.column("job_number")[withdrawn].astype(int).astype(str).tolist())
    assert numbers.isdisjoint(job.id for job in workload.jobs)
    dropped = f"{len(numbers)} jobs were dropped: withdrawn (cancelled before they started)"
    assert (dropped in workload.notes) == (nb > 0)


@pytest.mark.parametrize(
    ("others", "is_withdrawn"), [([], True), ([WITHDRAWN], False)], ids=["CEA", "SDSC"]
)
def test_a_job_of_0_seconds_with_processors_depends_on_the_log(
    others: list[dict[str, float]], is_withdrawn: bool
) -> None:
    """A log that leaves the run times of withdrawn jobs unknown knows that this one started."""
    short = {"status": 5, "run_time": 0}
    assert a_log(short, *others).withdrawn[0] == is_withdrawn
    without = short | {"allocated_processors": -1}
    assert a_log(without, *others).withdrawn[0]


def test_the_summary_of_a_log_has_them(tmp_path: Path) -> None:
    log = a_log({}, WITHDRAWN | {"wait_time": 50}, WITHDRAWN | {"wait_time": -1})
    write_swf(tmp_path / "a.swf", log.header_lines, log.data.tolist())
    pairs = dict(log_summary(tmp_path / "a.swf").pairs)
    assert pairs["withdrawn before they started"] == "2 (66.7 %)"
    assert pairs["wait of withdrawn jobs [s]"].endswith("mean 50")


# As recorded --------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("run_time", [-1, 0])
def test_none_is_simulated_in_silence(preset: str, run_time: float) -> None:
    """Either it is dropped as a withdrawn job, or a note counts it and names what helps."""
    log = a_log({}, WITHDRAWN | {"run_time": run_time})
    left = run_times(log, preset=preset)
    if "2" in left:
        assert (preset, run_time) == ("replay-feedback", 0)
        (note,) = notes(log, "1 withdrawn jobs, which never started, run for 0 s", preset=preset)
        assert "drop=withdrawn" in note
        assert "withdrawn=impute" in note
    else:
        assert notes(log, "1 job was dropped: withdrawn", preset=preset)
        assert not notes(log, "negative-runtime", preset=preset)


def test_an_unknown_run_time_alone_is_another_reason() -> None:
    log = a_log({}, {"run_time": -1})
    assert notes(log, "1 job was dropped: negative-runtime (run time unknown)")


# With a run time ----------------------------------------------------------------------------------

jobs = st.lists(
    st.fixed_dictionaries(
        {
            "user": st.sampled_from([-1, 1, 2, 3]),
            "status": st.sampled_from([0, 1, 1, 5, 5]),
            "run_time": st.sampled_from([-1, 0, 1, 7, 100, 450]),
            "requested_time": st.sampled_from([-1, 0, 0.5, 60, 200]),
            "allocated_processors": st.sampled_from([-1, 1]),
        }
    ),
    max_size=12,
)


@given(jobs=jobs, seed=st.integers(0, 5))
def test_a_drawn_run_time_is_that_of_a_completed_job(
    jobs: list[dict[str, float]], seed: int
) -> None:
    """Each drawn run time is one of those that a job by job search finds for its user."""
    log = a_log({"user": 9}, *jobs)
    given_jobs = [USUAL | {"user": 9}, *(USUAL | job for job in jobs)]
    drawn, of_others = impute_run_times(log, seed)
    again, _ = impute_run_times(log, seed)
    assert (drawn == again).all()
    for job, run, is_withdrawn, is_of_others in zip(
        given_jobs, drawn, log.withdrawn, of_others, strict=True
    ):
        if not is_withdrawn:
            assert (run, is_of_others) == (job["run_time"], False)
            continue
        request = job["requested_time"]
        done = [other for other in given_jobs if other["status"] == 1 and other["run_time"] >= 0]
        if request > 0:
            done = [other for other in done if other["requested_time"] > 0]
        own = [other for other in done if other["user"] == job["user"] != -1]
        assert is_of_others == (not own)
        expected = set()
        for other in own or done:
            length = other["run_time"]
            if request > 0:
                length = round(min(length / other["requested_time"], 1) * request)
                length = min(length, request)
            expected.add(max(length, 1))
        assert run in expected


def test_all_completed_jobs_of_the_user_are_equally_likely() -> None:
    ran = [{"run_time": run_time} for run_time in (20, 100, 200)]
    log = a_log(*ran, {"user": 2, "run_time": 60}, *[WITHDRAWN] * 6_000)
    counts = Counter(impute_run_times(log, 0)[0][4:].tolist())
    assert counts.keys() == {20, 100, 200}
    slack = 5 * (6_000 * 1 / 3 * 2 / 3) ** 0.5
    assert all(abs(count - 2_000) < slack for count in counts.values())


def test_they_are_kept_with_run_times_by_rule() -> None:
    """Whatever is dropped of how jobs ended; a part of the log draws the same run times."""
    cancelled = {"status": 5, "run_time": 10}
    log = a_log({}, WITHDRAWN | {"wait_time": 40}, cancelled, WITHDRAWN | {"user": 2}, {})
    drop = "withdrawn,cancelled,no-allocation,zero-runtime"
    assert run_times(log, drop=drop) == {"1": 100, "5": 100}
    kept = run_times(log, drop=drop, withdrawn="impute")
    assert kept == {"1": 100, "2": 100, "4": 100, "5": 100}
    assert run_times(log, withdrawn="impute", job_numbers="2-2") == {"2": 100}
    (note,) = notes(log, "have run times drawn", withdrawn="impute")
    assert note.startswith("2 withdrawn jobs")
    assert note.endswith("(1 from those of other users)")
    assert not notes(log, "dropped: withdrawn", withdrawn="impute")


def test_their_recorded_end_is_the_withdrawal() -> None:
    log = a_log({}, WITHDRAWN | {"wait_time": 40}, {"wait_time": 40})
    workload = convert_log(log, make_rules(withdrawn="impute"))
    assert [job.finish_time for job in workload.jobs] == [101, 2 + 40, 3 + 40 + 100]
    assert [job.walltime for job in workload.jobs] == [200, 200, 200]


def test_it_needs_a_completed_job() -> None:
    log = a_log(WITHDRAWN, {"status": 0})
    with pytest.raises(UsageError, match=r"withdrawn impute: a\.swf has no completed job"):
        convert_log(log, make_rules(withdrawn="impute"))
    assert len(convert_log(a_log({"status": 0}), make_rules(withdrawn="impute")).jobs) == 1


def test_the_rules_are_stored_only_where_they_change_something() -> None:
    assert {"withdrawn", "impute_seed"}.isdisjoint(as_dict(make_rules(impute_seed=3)))
    rules = make_rules(withdrawn="impute", impute_seed=3)
    stored = as_dict(rules)
    assert (stored["withdrawn"], stored["impute_seed"]) == ("impute", 3)
    assert msgspec.convert(stored, Rules) == rules
    with pytest.raises(UsageError, match=r"impute.seed"):
        make_rules(impute_seed=-1)


def test_run_times_of_an_archive_log(shared: Path) -> None:
    """On SDSC-SP2: never above the request, and the seed matters."""
    path = shared / "swf" / "SDSC-SP2-1998-4.2-cln.swf.gz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    log = read_swf(path)
    withdrawn, request = log.withdrawn, log.column("requested_time")
    drawn, of_others = impute_run_times(log, 0)
    asked = withdrawn & (request > 0)
    assert (asked.sum(), of_others.sum()) == (5_640, 26)
    assert (drawn[asked] <= np.maximum(request[asked], 1)).all()
    assert drawn[withdrawn].min() >= 1
    assert (drawn[~withdrawn] == log.column("run_time")[~withdrawn]).all()
    assert (impute_run_times(log, 1)[0][withdrawn] != drawn[withdrawn]).any()


def test_a_simulation_has_them_in_its_notes(tmp_path: Path) -> None:
    log = a_log({}, WITHDRAWN)
    write_swf(tmp_path / "a.swf", log.header_lines, log.data.tolist())
    result = simulate(tmp_path / "a.swf", withdrawn="impute", impute_seed=7)
    assert result.table.execution.tolist() == [100, 100]
    assert any("drawn from completed jobs" in note for note in result.settings["notes"])
    assert result.settings["rules"]["impute_seed"] == 7
