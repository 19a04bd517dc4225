"""Batsim's workload files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import WorkloadError
from batsched_py.workload.batsim.batsim_workload import read_workload, write_workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.workload import Workload, WorkloadJob

JOB = {"id": "a", "subtime": 0, "res": 1, "profile": "p", "walltime": 10}
PROFILES: dict[str, Any] = {"p": {"type": "delay", "delay": 1}}


def content(job: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return {"nb_res": 4, "jobs": [JOB | (job or {})], "profiles": PROFILES} | changes


def profile(**fields: Any) -> dict[str, Any]:
    return content(profiles={"p": fields})


def without(field: str) -> dict[str, Any]:
    return content(jobs=[{name: value for name, value in JOB.items() if name != field}])


def save(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (content({"id": ""}), "id"),
        (content({"id": "w1!a"}), "w0!"),
        (content({"id": "xw0y"}), "w0"),
        (content(jobs=[JOB | {"id": 1}, JOB | {"id": "w0!1"}]), "'1'"),
        (content({"profile": "zz"}), "zz"),
        (content({"res": 1.0}), r"1\.0"),
        (content({"res": 0}), "res = 0"),
        (content({"walltime": 0}), "walltime"),
        (content({"estimate": "x"}), "estimate"),
        *((without(field), field) for field in ("id", "subtime", "res", "profile")),
        (content(jobs=[3]), "is 3"),
        (content(nb_res=None), "nb_res"),
        (content(profiles=None), "profiles"),
        (profile(type="delay", delay=0), "delay"),
        (profile(type="foo"), "foo"),
        (profile(delay=1), "type"),
        (profile(type="delay", delay=1, ret=1.5), "ret"),
        (profile(type="parallel", cpu=[1, 1], com=[0] * 4), "res is 1"),
        (profile(type="parallel", cpu=[1], com=[0, 0]), "com"),
        (profile(type="composed", seq=["q"]), "q"),
        (profile(type="composed", seq=[]), "seq"),
        ([], r"\[\]"),
    ],
)
def test_what_batsim_refuses_is_refused(tmp_path: Path, value: Any, message: str) -> None:
    path = save(tmp_path / "w.json", value)
    with pytest.raises(WorkloadError, match=message) as error:
        read_workload(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"nb_res": 4,\n "jobs": [}', ":2:"),
        (gzip.compress(b"{}" * 99, mtime=0)[:-5], "gzip"),
    ],
)
def test_what_is_no_json_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(data)
    with pytest.raises(WorkloadError, match=message):
        read_workload(path)


@pytest.mark.parametrize(("given", "expected"), [("a", "a"), ("w1!a", "a"), ("w0", "w0")])
def test_a_second_workload_has_a_name_of_its_own(tmp_path: Path, given: str, expected: str) -> None:
    path = save(tmp_path / "w.json", content({"id": given}))
    assert [job.id for job in read_workload(path, batsims_name="w1").jobs] == [expected]
    for wrong in ("w1", "w0!a", "w1!w1!a"):
        with pytest.raises(WorkloadError, match="'w1!"):
            read_workload(save(path, content({"id": wrong})), batsims_name="w1")


def read(tmp_path: Path, value: Any) -> Workload:
    return read_workload(save(tmp_path / "w.json", value))


@pytest.mark.parametrize(
    ("field", "given", "name", "expected"),
    [
        ("id", 7, "id", "7"),
        ("id", "w0!a", "id", "a"),
        ("id", "w0!xw0y", "id", "xw0y"),
        ("id", "é 1", "id", "é 1"),
        ("walltime", 10, "walltime", 10.0),
        ("walltime", 0.5, "walltime", 0.5),
        ("walltime", -1, "walltime", None),
        ("walltime", -1.0, "walltime", None),
        ("subtime", -5, "submit_time", 0),
        ("user", {"id": 3}, "extra", {"user": {"id": 3}}),  # no name
    ],
)
def test_fields(tmp_path: Path, field: str, given: Any, name: str, expected: Any) -> None:
    workload = read(tmp_path, content({field: given}))
    assert getattr(workload.jobs[0], name) == expected
    assert any("negative" in note for note in workload.notes) == (field == "subtime")


def test_our_fields_and_those_of_others(tmp_path: Path) -> None:
    fields = {"user": "u", "finish_time": 9, "estimate": 5, "colour": {"id": [1, 2.5]}}
    job = read(tmp_path, content(fields)).jobs[0]
    assert (job.user, job.finish_time, job.estimate) == ("u", 9.0, 5.0)
    assert job.extra == {"colour": {"id": [1, 2.5]}}
    assert read(tmp_path, without("walltime")).jobs[0].walltime is None


def test_profiles_that_no_job_uses_are_dropped_but_parts_are_kept(tmp_path: Path) -> None:
    profiles = {
        "unused": {"type": "delay", "delay": 1},
        "part": {"type": "delay", "delay": 1},
        "inner": {"type": "composed", "seq": ["part"], "repeat": 2},
        "p": {"type": "composed", "seq": ["inner", "part"]},
    }
    jobs = [JOB | {"id": n, "subtime": t} for n, t in enumerate((5, 3, 5, 3))]
    workload = read(tmp_path, content(profiles=profiles, jobs=jobs))
    assert list(workload.profiles) == ["part", "inner", "p"]
    assert [job.id for job in workload.jobs] == ["1", "3", "0", "2"], "in order of submission"


def test_rules_do_not_apply_to_a_workload(tmp_path: Path) -> None:
    path = save(tmp_path / "w.json", content({"subtime": 3}))
    result = load_workload(path, make_rules(drop="no-user", first=1))
    assert len(result.jobs) == 1
    assert result.rules == {}
    assert any("rules" in note for note in result.notes)


REFUSED = ["badprof", "delay0", "dupid", "idcontainsw0", "nb_res0", "resfloat", "unk_type"]
REFUSED += ["walltime0", "res0"]
"""``res0`` loads in Batsim, but its job cannot be executed."""
ACCEPTED = ["cpu0", "neg_subtime", "other_id_keys", "wid"]


@pytest.mark.parametrize("name", REFUSED + ACCEPTED)
def test_workloads_given_to_batsim(shared: Path, name: str) -> None:
    path = shared / "batsim_transcripts" / f"25_wl_{name}" / "workload0.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    if name in ACCEPTED:
        assert read_workload(path).jobs[0].id == "a"
    else:
        with pytest.raises(WorkloadError):
            read_workload(path)


def test_integers_are_written_as_integers(tmp_path: Path) -> None:
    job = WorkloadJob(id="1", submit_time=5.0, size=2, profile="p", walltime=60.0, finish_time=7.5)
    workload = Workload(name="w", nb_res=4, jobs=[job], profiles=PROFILES, unix_start_time=9.0)
    write_workload(workload, tmp_path / "w.json")
    text = (tmp_path / "w.json").read_text()
    assert '"subtime":5,' in text.replace(" ", "")
    assert "60.0" not in text
    assert json.loads(text)["jobs"][0]["finish_time"] == 7.5
    job.submit_time = float("nan")
    with pytest.raises(WorkloadError):
        write_workload(workload, tmp_path / "nan.json")
    assert [path.name for path in tmp_path.iterdir()] == ["w.json"]
