"""Workload files of Batsim 4 and of Batsim 5."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import WorkloadError
from batsched_py.units import LATEST_TIME
from batsched_py.workload.batsim.batsim_workload import read_workload, write_workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.workload import Workload, WorkloadJob
from helpers.calling import command

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


# Batsim 5 -----------------------------------------------------------------------------------------


PROFILES_5: dict[str, Any] = {"p": {"type": "DelayProfile", "delay": 1}}
OLD: dict[str, Any] = {"type": "delay", "delay": 1}


def content_5(job: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return content(job, **{"profiles": PROFILES_5} | changes)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (content_5({"walltime": -1}), "walltime is -1"),
        (content_5({"id": "w01"}), "w0!w01"),
        (content_5({"id": "w1!a"}), "w0!"),
        (content_5({"profile": "w0p"}), "w0p"),
        (content_5({"profile": "w1!p"}), "w1!p"),
        (content_5(profiles=PROFILES_5 | {"q": OLD}), "'delay'.*DelayProfile"),
        (content_5(profiles=PROFILES_5 | {"w0!p": PROFILES_5["p"]}), "without '!'"),
        (content_5(profiles=PROFILES_5 | {"q": 3}), "type is missing"),
        (content_5(profiles=PROFILES_5 | {"q": {"type": "ForkJoinCompositionProfile"}}), "'q'"),
        (content_5({"extra_data": {"estimate": "x"}}), "estimate"),
    ],
)
def test_what_batsim_5_refuses_is_refused(tmp_path: Path, value: Any, message: str) -> None:
    path = save(tmp_path / "w.json", value)
    with pytest.raises(WorkloadError, match=message) as error:
        read_workload(path)
    assert str(path) in str(error.value)


def test_a_second_workload_of_batsim_5(tmp_path: Path) -> None:
    parts = {"type": "SequentialCompositionProfile", "seq": ["w1!p"]}
    job = {"id": "w1!w0", "profile": "w1!parts"}
    path = save(tmp_path / "w.json", content_5(job, profiles=PROFILES_5 | {"parts": parts}))
    workload = read_workload(path, batsims_name="w1")
    assert [(job.id, job.profile) for job in workload.jobs] == [("w0", "parts")]
    assert workload.profiles["parts"] == {"type": "composed", "seq": ["p"]}


def test_a_file_of_version_4_is_refused_only_where_5_is_asked_for(tmp_path: Path) -> None:
    path = save(tmp_path / "w.json", content_5(profiles={"p": OLD}))
    assert read_workload(path).profiles == {"p": OLD}
    with pytest.raises(WorkloadError, match=r"'delay'.*DelayProfile"):
        read_workload(path, batsim5=True)


def test_ids_may_be_bare_or_whole(tmp_path: Path) -> None:
    parts = {"type": "SequentialCompositionProfile", "seq": ["p", "w0!p"]}
    jobs = [JOB | {"id": "w0!x", "profile": "w0!q"}, JOB | {"id": 7}]
    path = save(tmp_path / "w.json", content_5(jobs=jobs, profiles=PROFILES_5 | {"q": parts}))
    workload = read_workload(path)
    assert [(job.id, job.profile) for job in workload.jobs] == [("x", "q"), ("7", "p")]
    assert workload.profiles == {"p": OLD, "q": {"type": "composed", "seq": ["p", "p"]}}


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("text", {"extra_data": "text"}),
        ([1, 2], {"extra_data": [1, 2]}),
        ({"x": [1, 2], "session": 3}, {"x": [1, 2], "session": 3}),
        ('{"x": 1}', {"x": 1}),
        ({"res": 7}, {"extra_data": {"res": 7}}),  # a name with a meaning
        (None, {}),
    ],
)
def test_free_fields_come_from_extra_data(tmp_path: Path, extra: Any, expected: Any) -> None:
    job = read_workload(save(tmp_path / "w.json", content_5({"extra_data": extra}))).jobs[0]
    assert job.extra == expected
    assert (job.size, job.user) == (1, None)


def test_our_fields_come_from_extra_data_and_from_nowhere_else(tmp_path: Path) -> None:
    fields = {"user": 3, "finish_time": 9, "estimate": 5, "home": "a"}
    workload = read_workload(save(tmp_path / "w.json", content_5({"extra_data": fields})))
    job = workload.jobs[0]
    assert (job.user, job.finish_time, job.estimate, job.extra) == ("3", 9.0, 5.0, {"home": "a"})
    assert workload.notes == []
    workload = read_workload(save(tmp_path / "w.json", content_5(fields)))
    job = workload.jobs[0]
    assert (job.user, job.finish_time, job.estimate, job.extra) == (None, None, None, {})
    assert any("finish_time" in note for note in workload.notes)


names = st.text('aw0"\\,é ', min_size=1, max_size=4)
seconds = st.integers(0, 10**9).map(float) | st.floats(0, LATEST_TIME)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | names,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
free = st.dictionaries(st.sampled_from(["session", "think time", "é"]), plain, max_size=2)
amounts = st.floats(0, 1e15) | st.integers(0, 10**15)


def of_type(*types: str, optional: Any = None, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    fixed = {"type": st.sampled_from(types), **fields}
    common = {"ret": st.integers(0, 9), "note": plain}
    return st.fixed_dictionaries(fixed, optional=common | (optional or {}))


profile_contents = st.one_of(
    of_type("delay", delay=st.floats(1e-3, 1e9)),
    of_type("parallel_homogeneous", "parallel_homogeneous_total", cpu=amounts, com=amounts),
    of_type("parallel", cpu=st.just([1, 2.5]), com=st.lists(amounts, min_size=4, max_size=4)),
    of_type("composed", seq=st.just(["p", "p"]), optional={"repeat": st.integers(1, 3)}),
    of_type("data_staging", nb_bytes=amounts, **{"from": names, "to": names}),
    of_type("smpi", "usage_trace", trace=names),
)
jobs = st.builds(
    WorkloadJob,
    id=names,
    submit_time=seconds,
    size=st.just(2),
    profile=st.sampled_from(["p", "w0q"]),
    walltime=st.none() | st.floats(1e-9, 1e12),
    estimate=st.none() | seconds,
    user=st.none() | names,
    finish_time=st.none() | seconds,
    extra=free,
)


@given(
    jobs=st.lists(jobs, min_size=1, max_size=4, unique_by=lambda job: job.id),
    profile=profile_contents,
)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[WorkloadJob], profile: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("json")
    workload = Workload(
        name="w.json",
        nb_res=4,
        jobs=sorted(jobs, key=lambda job: job.submit_time),
        profiles={"p": OLD, "w0q": profile},
        rules={"size": "requested"},
        unix_start_time=9.5,
        time_zone="+01:00",
    )
    used = {job.profile for job in jobs}
    used |= {"p"} & {*profile.get("seq", ())} if "w0q" in used else set()
    workload.profiles = {
        name: workload.profiles[name] for name in workload.profiles if name in used
    }
    path = folder / "w.json"
    write_workload(workload, path)
    assert read_workload(path) == workload
    write_workload(workload, path, batsim5=True)
    assert read_workload(path, batsim5=True) == workload
    assert read_workload(path) == workload


def test_what_is_written(tmp_path: Path) -> None:
    jobs = [
        WorkloadJob(
            id="w01", submit_time=5.5, size=1, profile="p", walltime=60.0, user="u", extra={"x": 1}
        ),
        WorkloadJob(id="3", submit_time=6, size=1, profile="p", extra={"extra_data": "as it is"}),
    ]
    workload = Workload(name="w", nb_res=4, jobs=jobs, profiles={"p": OLD | {"note": [2]}})
    write_workload(workload, tmp_path / "w.json", batsim5=True)
    written = json.loads((tmp_path / "w.json").read_text())
    assert written["jobs"] == [
        {
            "id": "w0!w01",
            "subtime": 5.5,
            "res": 1,
            "profile": "w0!p",
            "walltime": 60,
            "extra_data": {"user": "u", "x": 1},
        },
        {"id": "w0!3", "subtime": 6, "res": 1, "profile": "w0!p", "extra_data": "as it is"},
    ]
    assert written["profiles"] == {
        "p": {"type": "DelayProfile", "delay": 1, "extra_data": {"note": [2]}}
    }


@pytest.mark.parametrize(
    ("name", "profile", "message"),
    [
        ("a!b", OLD, "'a!b'"),
        ("p", {"type": "send", "msg": "m", "to": "j"}, "'p'.*'send'"),
    ],
)
def test_what_batsim_5_cannot_say_is_not_written(
    tmp_path: Path, name: str, profile: dict[str, Any], message: str
) -> None:
    job = WorkloadJob(id="1", submit_time=0, size=2, profile=name)
    workload = Workload(name="w", nb_res=4, jobs=[job], profiles={name: profile})
    with pytest.raises(WorkloadError, match=message):
        write_workload(workload, tmp_path / "w.json", batsim5=True)
    assert list(tmp_path.iterdir()) == []


REFUSED_5 = {"id_contains_workload_name": "w0!w01", "walltime_minus_one_static": "walltime is -1"}
"""Recordings whose load aborted, and why."""


def test_recorded_workloads(shared: Path) -> None:
    paths = sorted((shared / "batsim5_recordings").glob("*/workload*.json"))
    if not paths:
        pytest.skip(f"no workloads in {shared / 'batsim5_recordings'}")
    for path in paths:
        if path.parent.name in REFUSED_5:
            with pytest.raises(WorkloadError, match=REFUSED_5[path.parent.name]):
                read_workload(path)
        else:
            there = len(json.loads(path.read_text())["jobs"])
            assert len(read_workload(path, batsim5=True).jobs) == there
            assert read_workload(path) == read_workload(path, batsim5=True)


def test_convert_writes_for_either_version(tmp_path: Path) -> None:
    save(tmp_path / "old.json", content_5({"user": "u"}, profiles={"p": OLD}))
    for line in ("old.json new.json --batsim5", "new.json back.json"):
        assert command(tmp_path, "convert", *line.split()).returncode == 0
    old, new, back = (
        json.loads((tmp_path / f"{n}.json").read_text()) for n in ("old", "new", "back")
    )
    assert new["profiles"] == {"p": PROFILES_5["p"]}
    assert new["jobs"][0]["extra_data"] == {"user": "u"}
    assert (back["jobs"], back["profiles"]) == (old["jobs"], old["profiles"])
