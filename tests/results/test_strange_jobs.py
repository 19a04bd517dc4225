"""Whatever jobs come in: a run refuses them by name, or its results are read back whole."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from batsched_py import Result, simulate
from batsched_py.errors import BatschedError
from batsched_py.protocol.own_job_fields import FURTHER_COLUMNS
from batsched_py.workload import Workload, WorkloadJob
from helpers.calling import command
from helpers.examples import few_examples

TEXTS = st.sampled_from(
    ["a", "", "q", 'a"b', "a,b", "a\nb", "a\rb", "a\r\nb", "a\0", "\ud800", "é", " ", "nan"]
) | st.text(max_size=3)
NUMBERS = st.sampled_from(
    [True, False, 0, 3, 2.5, -1, nan, inf, -inf, 10**400, 1e300, np.float64(2), "2", None]
)
OTHERS: st.SearchStrategy[Any] = st.sampled_from([[], [1], {}, {"a": "\n"}])
VALUES = TEXTS | NUMBERS | OTHERS
FIELDS = st.dictionaries(
    st.sampled_from([*FURTHER_COLUMNS, "session", "original_submission_time", "color", "measured"]),
    VALUES,
    max_size=3,
)
JOBS = st.fixed_dictionaries(
    {"id": TEXTS.filter(lambda text: "!" not in text), "extra": FIELDS},
    optional={
        "user": TEXTS,
        "size": st.sampled_from([1, 2, True]),
        "walltime": st.sampled_from([True, 9, 20.5]),
        "estimate": st.sampled_from([True, 4, inf, 10**400]),
    },
)


def with_field(name: str, value: Any) -> dict[str, Any]:
    return {"id": "1", "extra": {name: value}}


def workload_of(drawn: dict[str, Any]) -> Workload:
    plain = WorkloadJob(id="plain", submit_time=0.0, size=1, profile="p", user="u", finish_time=5.0)
    given_ = {"size": 1, "user": "v", **drawn}
    job = WorkloadJob(submit_time=1.0, profile="p", finish_time=9.0, **given_)
    profiles: dict[str, dict[str, Any]] = {"p": {"type": "delay", "delay": 5}}
    return Workload(name="drawn", nb_res=4, jobs=[plain, job], profiles=profiles)


def read_back(prefix: Path, size: int, *, with_report: bool) -> None:
    """Read what a run wrote, by all that read results; a report takes long."""
    read = Result.load(prefix)
    assert len(read.table.submit) == size
    assert len(read.metrics)
    for arguments in (
        ["metrics", f"{prefix}_jobs.csv"],
        ["compare", prefix, prefix.with_name("other")],
        *([["report", prefix]] if with_report else []),
    ):
        done = command(prefix.parent, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)


@given(JOBS, st.sampled_from(["rigid", "feedback"]), st.sampled_from([False, False, True]))
@example(with_field("dilation", "q"), "rigid", True)
@example(with_field("think_time", "abc"), "feedback", True)
@example({"id": "a\nb", "extra": {}}, "rigid", True)
@example({"id": "a\0b", "extra": {}}, "feedback", True)
@example({"id": "1", "size": True, "extra": {}}, "rigid", True)
@few_examples
def test_any_job_is_refused_or_read_back(
    drawn: dict[str, Any], users: str, with_report: bool
) -> None:
    with TemporaryDirectory() as folder:
        refusal = ""
        try:
            load = workload_of(drawn)
            result = simulate(load, scheduler="easy", progress=False, users=users)
        except BatschedError as error:
            refusal = str(error)
        if refusal:
            assert "job" in refusal
            assert drawn["id"] in refusal or repr(drawn["id"])[1:-1] in refusal, refusal
            return
        result.write(Path(folder) / "other")
        result.write(Path(folder) / "out")
        read_back(Path(folder) / "out", 2, with_report=with_report)
