"""Fields of a log and columns of a data frame that policies see on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest

from batsched_py import simulate
from batsched_py.errors import UsageError
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.workload.batsim.batsim_workload import read_workload, write_workload
from batsched_py.workload.conversion_rules import Rules, as_dict, make_rules
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.logs.swf import FIELDS, SwfLog, order_fields, read_swf, write_swf
from batsched_py.workload.logs.swf_frame import digest, log_from_frame
from helpers.calling import command

FRAME = pd.DataFrame(
    {
        "submit_time": [20, 0, 10],
        "run_time": 5,
        "requested_processors": 1,
        "mem_req": [2.5, np.nan, 64],
        "project": ["red", None, "blue"],
        "nice": pd.array([-1, 2, None], dtype="Int64"),
        "urgent": [True, False, True],
    },
    index=["a", "b", "c"],
)


def extras(frame: pd.DataFrame, keep: str) -> list[dict[str, Any]]:
    log = log_from_frame(frame, keep=make_rules(keep=keep).keep)
    return [job.extra for job in convert_log(log, make_rules(keep=keep)).jobs]


def test_further_columns_of_a_data_frame() -> None:
    """In order of submission, as Python's values; empty cells are left out, and -1 is a value."""
    assert extras(FRAME, "requested_memory,project,nice,urgent") == [
        {"nice": 2, "urgent": False},
        {"requested_memory": 64, "project": "blue", "urgent": True},
        {"requested_memory": 2.5, "project": "red", "nice": -1, "urgent": True},
    ]
    assert extras(FRAME, "") == [{}, {}, {}]


def test_every_field_of_swf() -> None:
    """Each as its number, without the unknown ones; whole numbers are integers."""
    values = np.array([float(number) for number in range(1, 19)])
    values[FIELDS.index("used_memory")] = 0.5
    values[FIELDS.index("queue")] = -1
    log = SwfLog(Path("a.swf"), [], values[None, :], np.arange(1), [])
    (job,) = convert_log(log, make_rules(keep=",".join(FIELDS))).jobs
    expected = dict(zip(FIELDS, [*range(1, 7), 0.5, *range(8, 19)], strict=True))
    del expected["queue"]
    assert job.extra == expected
    assert type(job.extra["requested_memory"]) is int


class Seeing(Fcfs):
    """FCFS that notes the further fields of the jobs that it sees."""

    seen: list[dict[str, Any]] = []  # noqa: RUF012

    def schedule(self, now: float, queue: Any, machine: Any) -> Any:
        self.seen += [dict(job.extra) for job in queue]
        yield from super().schedule(now, queue, machine)


@pytest.mark.parametrize("shake", [None, 1], ids=["direct", "messages"])
def test_policies_see_them(tmp_path: Path, shake: int | None) -> None:
    """Those of a log; those of a Batsim workload they always see."""
    row = order_fields(
        {"job_number": 1, "submit_time": 0, "run_time": 5, "requested_processors": 1, "queue": 3}
    )
    write_swf(tmp_path / "a.swf", [], [row])
    log = read_swf(tmp_path / "a.swf")
    write_workload(convert_log(log, make_rules(keep="queue,run_time")), tmp_path / "a.json")
    for path, keep in (("a.swf", "queue,run_time"), ("a.json", None)):
        Seeing.seen.clear()
        simulate(tmp_path / path, scheduler=Seeing, keep=keep, shake=shake)
        fields = {name: Seeing.seen[0].get(name) for name in ("queue", "run_time")}
        assert fields == {"queue": 3, "run_time": 5}


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ("memory", "requested_memory"),
        ("requested_memry", r"did you mean 'requested_memory'"),
        ("mem_req", r"did you mean 'requested_memory'"),
        ("projct", r"did you mean 'project'.*expected fields of DataFrame: job_number.*urgent"),
        ("walltime", "rename the column"),
        ("when", "row b, column when: found Timestamp.*expected a text"),
    ],
)
def test_wrong_names_and_values(keep: str, message: str) -> None:
    other = {"walltime": 7, "when": pd.to_datetime([None, 0, 1])}
    frame = FRAME.assign(**{keep: other[keep]}) if keep in other else FRAME
    with pytest.raises(UsageError, match=message):
        simulate(frame, keep=keep)


def test_a_file_has_only_the_fields_of_swf() -> None:
    failed = command(None, "simulate", "sample", "--keep", "qeue")
    assert "--keep 'qeue' (did you mean 'queue'?): expected fields of" in failed.stderr


def test_the_rest_is_noted_and_what_is_kept_identifies_the_log() -> None:
    plain, kept = log_from_frame(FRAME), log_from_frame(FRAME, keep=["nice"])
    assert any("not read: project, nice, urgent" in note for note in plain.notes)
    assert any("not read: project, urgent" in note for note in kept.notes)
    changed = log_from_frame(FRAME.assign(nice=5), keep=["nice"])
    assert len({digest(log) for log in (plain, kept, changed)}) == 3
    assert digest(log_from_frame(FRAME.assign(nice=5))) == digest(plain)


def test_rows_that_are_left_out_take_their_values_with_them() -> None:
    frame = FRAME.assign(run_time=[5, "x", 5])
    log = log_from_frame(frame, keep=["project"], skip_bad_lines=True)
    assert log.further == {"project": ["blue", "red"]}


def test_stored_rules_of_older_results() -> None:
    stored = {**as_dict(Rules()), "keep": ["group", "queue", "partition"]}
    assert msgspec.convert(stored, Rules) == make_rules(Rules(), keep="group,queue,partition")


def test_a_converted_workload_keeps_them(tmp_path: Path) -> None:
    log = log_from_frame(FRAME, keep=["project", "nice"])
    workload = convert_log(log, make_rules(keep="project,nice"))
    write_workload(workload, tmp_path / "a.json")
    again = read_workload(tmp_path / "a.json")
    assert [job.extra for job in again.jobs] == [job.extra for job in workload.jobs]
