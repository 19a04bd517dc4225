"""Whatever jobs come in: a run refuses them by name, or its results are read back whole."""

from __future__ import annotations

import json
from contextlib import suppress
from io import StringIO
from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batsched_py import Result, simulate
from batsched_py.errors import BatschedError
from batsched_py.files.readers import read_text
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.protocol.own_job_fields import ADDED_COLUMNS, FURTHER_COLUMNS
from batsched_py.results.columns_beyond_batsim import UsersTable
from batsched_py.results.jobs_file import read_columns
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


def read_back(prefix: Path, size: int) -> None:
    """Read what a run wrote, by all that read results."""
    read = Result.load(prefix)
    assert len(read.table.submit) == size
    assert len(read.metrics)
    for arguments in (
        ["metrics", f"{prefix}_jobs.csv"],
        ["compare", prefix, prefix.with_name("other")],
        ["report", prefix],
    ):
        done = command(prefix.parent, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)


@pytest.mark.parametrize("users", [None, "feedback"])
@given(JOBS)
@example(with_field("dilation", "q"))
@example(with_field("think_time", "abc"))
@example({"id": "a\nb", "extra": {}})
@example({"id": "a\0b", "extra": {}})
@example({"id": "1", "size": True, "extra": {}})
@few_examples
def test_embedded(users: str | None, drawn: dict[str, Any]) -> None:
    options = {} if users is None else {"users": users}
    with TemporaryDirectory() as folder:
        refusal = ""
        try:
            load = workload_of(drawn)
            result = simulate(load, scheduler="easy", progress=False, **options)
        except BatschedError as error:
            refusal = str(error)
        if refusal:
            assert "job" in refusal
            assert drawn["id"] in refusal or repr(drawn["id"])[1:-1] in refusal, refusal
            return
        result.write(Path(folder) / "other")
        result.write(Path(folder) / "out")
        read_back(Path(folder) / "out", 2)


@given(JOBS)
def test_over_the_wire(drawn: dict[str, Any]) -> None:
    """A job of a message is refused by name, or the table that we write of it can be read."""
    extra = {name: value for name, value in drawn["extra"].items() if not _is_numpy(value)}
    job = {"res": 1} | {("res" if n == "size" else n): v for n, v in drawn.items() if n != "extra"}
    job |= {"id": f"w0!{job['id']}", "subtime": 1, "profile": "p"}
    event = {
        "timestamp": 1,
        "type": "JOB_SUBMITTED",
        "data": {"job_id": job["id"], "job": extra | job},
    }
    with suppress(ValueError):  # JSON has neither nan nor halves of surrogates
        raw = json.dumps({"now": 1, "events": [event]}, allow_nan=False).encode()
        refusal = ""
        try:
            message = codec.decode_events(raw)
        except BatschedError as error:
            refusal = str(error)
        if refusal:
            assert repr(job["id"]) in refusal or "JSON" in refusal or "digits" in refusal, refusal
            return
        table = UsersTable()
        table.observe(message, m.Message(1.0, []))
        with TemporaryDirectory() as folder:
            path = Path(folder) / "users.csv"
            path.write_text(table.csv())
            units = ADDED_COLUMNS | FURTHER_COLUMNS
            _, texts = read_columns(StringIO(read_text(path)), units)
        assert texts["job_id"] == [job["id"].partition("!")[2]]


def _is_numpy(value: Any) -> bool:
    return isinstance(value, np.generic)
