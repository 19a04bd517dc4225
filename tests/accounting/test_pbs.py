"""Accounting logs of PBS and Torque.

The forms of the records are those of the PBS Professional Reference Guide ("The Accounting Log")
and of the Torque Administrator Guide ("Accounting Records").
"""

from __future__ import annotations

from itertools import permutations

import pytest

from batsched_py.accounting.systems.pbs import (
    Pbs,
    find_requested_processors,
    parse_attributes,
    parse_hosts,
)
from batsched_py.errors import InputError
from helpers.imports import Run, importing

PRO = (
    '03/01/2024 12:10:00;E;1234.pbs;user=ann group=staff account="phys 1" '
    "project=_pbs_project_default jobname=my job queue=workq ctime=1709287200 qtime=1709287200 "
    "etime=1709287200 start=1709287260 exec_host=n1/0*8+n2/1*8 "
    "exec_vnode=(n1:ncpus=8:mem=16777216kb)+(n2:ncpus=8:mem=16777216kb) Resource_List.mem=32gb "
    "Resource_List.ncpus=16 Resource_List.nodect=2 Resource_List.place=scatter "
    "Resource_List.select=2:ncpus=8:mem=16gb Resource_List.walltime=02:00:00 session=77 "
    "end=1709290860 Exit_status=0 resources_used.cpupercent=700 resources_used.cput=08:00:00 "
    "resources_used.mem=1600kb resources_used.ncpus=16 resources_used.walltime=00:59:58 run_count=1"
)
TORQUE = (
    "03/01/2024 11:00:00;E;99.master.site.org;user=bob group=users jobname=STDIN queue=batch "
    "ctime=1709287200 qtime=1709287201 etime=1709287201 start=1709287300 owner=bob@login "
    "exec_host=node1/0+node1/1+node2/0+node2/1 Resource_List.neednodes=2:ppn=2 "
    "Resource_List.nodect=2 Resource_List.nodes=2:ppn=2 Resource_List.walltime=00:16:40 "
    "session=6365 end=1709287900 Exit_status=271 resources_used.cput=00:00:04 "
    "resources_used.mem=4000kb resources_used.vmem=8000kb resources_used.walltime=00:10:00"
)


pbs = importing(Pbs)


def test_a_record_of_pbs_professional(pbs: Run) -> None:
    done = pbs(PRO + "\n", job_names=True)
    known = {name: value for name, value in done.only.items() if value not in (1, -1)}
    assert known == {
        "submit_time": 0,
        "wait_time": 60,
        "run_time": 3600,
        "allocated_processors": 16,
        "average_cpu_time": 1800,
        "used_memory": 100,
        "requested_processors": 16,
        "requested_time": 7200,
        "requested_memory": 2 * 1024**2,
    }
    assert "executable,1,my job" in done.names
    assert "group,1,staff" in done.names
    assert done.draft.field == "queue"
    assert done.draft.partitions[0].nodes == "0-1"
    assert done.draft.partitions[0].whole_nodes


EVENTS = """\
03/01/2024 10:00:00;Q;1.s;queue=batch
03/01/2024 10:00:00;Q;2.s;queue=batch
03/01/2024 10:05:00;D;2.s;requestor=ann@login
03/01/2024 10:06:00;S;99.master;user=bob
03/01/2024 10:06:00;D;99.master;requestor=bob@login
03/01/2024 10:06:00;L;license;floating license hour:3 day:3 month:10 max:10
03/01/2024 10:07:00;D;3[].s;requestor=ann@login
03/01/2024 10:08:00;A;3[7].s;Job deleted
"""


def test_other_events_are_counted(pbs: Run) -> None:
    """2 and 3[7] were deleted and never ran; 99 was deleted as it ran, and has an end."""
    done = pbs(EVENTS + TORQUE + "\n", TORQUE)
    assert done.noted("exports overlap (1)")
    assert len(done.jobs) == 1
    assert done.noted("size is not recorded (2)")
    assert done.noted("type Q (2)")
    assert done.noted("type L (1)")
    assert done.noted("its own record (1)")


def test_a_requeued_job_is_a_job_for_each_run(pbs: Run) -> None:
    """R has a start where it tells of a run that held processors; else it is but counted."""
    requeued = (
        TORQUE.replace(";E;", ";R;").replace("end=1709287900 ", "").replace("00:00;", "05:00;", 1)
    )
    bare = "03/01/2024 10:07:00;R;99.master;"
    done = pbs(
        f"{requeued}\n{bare}\n" + TORQUE.replace("start=1709287300", "start=1709287800") + "\n"
    )
    runs = [(job["wait_time"], job["run_time"], job["status"]) for job in done.jobs]
    assert runs[0] == (100, 1709291100 - 1709287300, 0), "to the time of the record, 11:05"
    assert runs[1] == (600, 100, 0), "while the first one held processors, which cannot be"
    assert not done.noted("more than once"), "the second run does not follow the first"
    assert done.noted("type R (1)")


@pytest.mark.parametrize(
    ("etime", "submission", "submit"),
    [(250, "submitted", 0), (250, "eligible", 50), (900, "eligible", 100), (0, "eligible", 0)],
)
def test_the_time_at_which_a_job_became_eligible(
    pbs: Run, etime: int, submission: str, submit: int
) -> None:
    """After another at 0, of which nobody says it; it starts at 100, later it cannot have been."""
    text = TORQUE.replace("etime=1709287201", f"etime={1709287000 + etime if etime else 0}")
    first = TORQUE.replace("99.", "98.").replace("etime=1709287201 ", "")
    done = pbs(f"{first}\n{text}\n", submission=submission)
    job = done.jobs[1]
    assert (job["submit_time"], job["wait_time"]) == (submit, 100 - submit)


@pytest.mark.parametrize(
    ("old", "new", "field", "value", "note"),
    [
        # PBS does not say how long a job was suspended: only that its walltime, of 10 min, is less
        ("end=1709287900", "end=1709288000", "run_time", 700, "over a minute"),
        ("nodes=2:ppn=2 Resource_List.w", "ncpus=64 Resource_List.w", "user", 1, "requested (1)"),
        # A word is of 8 bytes; 4 processors share what the job used.
        ("mem=4000kb", "mem=4000mb", "used_memory", 1024_000, ""),
        ("mem=4000kb", "mem=1gb", "used_memory", 1024**2 // 4, ""),
        ("mem=4000kb", "mem=8192", "used_memory", 2, ""),
        ("mem=4000kb", "mem=8192b", "used_memory", 2, ""),
        ("mem=4000kb", "mem=1024w", "used_memory", 2, ""),
    ],
)
def test_fields(pbs: Run, old: str, new: str, field: str, value: int, note: str) -> None:
    assert TORQUE.count(old) == 1
    done = pbs(TORQUE.replace(old, new))
    assert done.only[field] == value
    assert [done.noted(text) for text in ("over a minute", "requested (1)")] == [
        text == note for text in ("over a minute", "requested (1)")
    ]


def test_the_time_of_a_record_is_local(pbs: Run) -> None:
    text = TORQUE.replace("end=1709287900 ", "")
    assert pbs(text).only["run_time"] == 1709290800 - 1709287300
    paris = text.replace("11:00:00", "12:00:00", 1)
    assert pbs(paris, time_zone="Europe/Paris").only["run_time"] == 1709290800 - 1709287300


@pytest.mark.parametrize(("job_id", "order"), [("5[2].s", 2), ("5-2.s", 2), ("5", 0)])
def test_elements_of_arrays(pbs: Run, job_id: str, order: int) -> None:
    element = TORQUE.replace("99.master.site.org", "5[1].s")
    other = TORQUE.replace("99.master.site.org", job_id).replace("Exit_status=271", "Exit_status=0")
    statuses = [job["status"] for job in pbs(f"{element}\n{other}\n").jobs]
    assert statuses == ([0, 1] if order > 1 else [1, 0])


def test_a_job_that_never_started(pbs: Run) -> None:
    text = TORQUE.replace("start=1709287300 ", "").replace("exec_host=", "was=")
    job = pbs(text + "\n").only
    assert (job["status"], job["wait_time"], job["run_time"]) == (5, 700, -1)
    assert (job["allocated_processors"], job["requested_processors"]) == (-1, 4)
    at_once = text.replace("end=", "start=1709287900 end=").replace("271", "0")
    assert pbs(at_once + "\n").only == job, "it held nothing at the instant of its start"


def test_jobs_of_two_servers_are_two_jobs(pbs: Run) -> None:
    """With the same number, submission and start; the host of a server may be without its domain.

    The logs may be those of a machine whose server has another host since.
    """
    other = TORQUE.replace("99.master.site.org", "99.other")
    assert not pbs(TORQUE, TORQUE.replace("99.master.site.org", "99.master")).noted("servers")
    for order in permutations((TORQUE, other)):
        done = pbs(*order)
        assert len(done.jobs) == 2
        assert done.noted(": master, other")


CRAY = (
    "08/12/2008 00:04:14;E;102.sdb;user=ann queue=par ctime=1218451557 start=1218454455 "
    "exec_host=nid00007/17 exec_vnode=(login1:ncpus=1) Resource_List.mppnppn=2 "
    "Resource_List.mppwidth=64 Resource_List.ncpus=1 Resource_List.nodect=1 "
    "Resource_List.select=1 end=1218495854 Exit_status=0 resources_used.ncpus=1"
)


@pytest.mark.parametrize(
    ("change", "options", "size"),
    [
        ("", {}, 64),
        ("", {"processors": "nodes"}, 32),
        ("", {"cores_per_node": 4}, 128),
        ("Resource_List.mppdepth=2 ", {}, 128),
        ("Resource_List.mppwidth=0 ", {}, 1),
    ],
)
def test_jobs_on_a_cray_have_its_compute_nodes(
    pbs: Run, change: str, options: dict[str, object], size: int
) -> None:
    """Not the login node on which the script ran, which the rest of the record is about."""
    done = pbs(CRAY.replace("end=", f"{change}end=") + "\n", **options)
    job = done.only
    assert (job["allocated_processors"], job["requested_processors"]) == (size, size)
    assert done.log.max_processors == done.draft.nb_processors == size


@pytest.mark.parametrize(
    ("options", "sizes"),
    [({}, (16, 16)), ({"processors": "nodes"}, (2, 2)), ({"cores_per_node": 24}, (48, 48))],
)
def test_cores_and_nodes(pbs: Run, options: dict[str, object], sizes: tuple[int, int]) -> None:
    job = pbs(PRO, **options).only
    assert (job["allocated_processors"], job["requested_processors"]) == sizes


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("a=1 b.c=x=y", {"a": "1", "b.c": "x=y"}),
        ('a="x y=2 z" b=3', {"a": "x y=2 z", "b": "3"}),
        ("a='x y' b=\"\" c=", {"a": "x y", "b": "", "c": ""}),
        ("jobname=my own job queue=q", {"jobname": "my own job", "queue": "q"}),
        ("loose a=1  b=2 ", {"a": "1", "b": "2"}),
    ],
)
def test_keys_and_values(message: str, said: dict[str, str]) -> None:
    assert parse_attributes(message) == said


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1/0*8+n2/0*8", {"n1": 8, "n2": 8}),
        ("n1/0+n1/1+n2/0", {"n1": 2, "n2": 1}),
        ("n1/0-3,6+n2/2", {"n1": 5, "n2": 1}),
        ("n1", {"n1": 1}),
        ("n[3]/0*2", {"n[3]": 2}),
    ],
)
def test_where_a_job_ran(text: str, hosts: dict[str, int]) -> None:
    assert parse_hosts(text) == hosts


@pytest.mark.parametrize(
    ("said", "processors"),
    [
        ({"ncpus": "12", "select": "1:ncpus=3"}, 12),
        ({"select": "2:ncpus=8:mem=1gb+3:ncpus=1"}, 19),
        ({"select": "4"}, 4),
        ({"nodes": "2:ppn=6+1:ppn=3"}, 15),
        ({"nodes": "node1+node2:ppn=4"}, 5),
        ({"nodes": "2:ppn=8#shared", "ncpus": "1", "nodect": "2"}, 16),
        ({"nodes": "1", "procs": "7"}, 7),
        ({"nodect": "3"}, 3),
        ({}, -1),
    ],
)
def test_what_a_job_requested(said: dict[str, str], processors: int) -> None:
    listed = {f"Resource_List.{key}": value for key, value in said.items()}
    assert find_requested_processors(listed) == processors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("JobID|State\n1|COMPLETED\n", "records0:1: .*PBS"),
        (EVENTS, "no jobs in it"),
        (TORQUE.replace("ctime=1709287200", "ctime=noon"), ":1: ctime is 'noon'"),
        (TORQUE.replace("end=1709287900", "end=1709287200"), ":1: the end"),
        (TORQUE.replace("Exit_status=271", "Exit_status=x"), ":1: Exit_status is 'x'"),
        (TORQUE.replace("99.master", "abc"), ":1: .*'abc.site.org'"),
        (TORQUE.replace("node1/0+", "node1/x+"), ":1: exec_host is"),
        (TORQUE.replace("node1/0+", "node1/0*99999999+"), ":1: exec_host is .* at most"),
        (TORQUE.replace("00:16:40", "long"), ":1: walltime is 'long'"),
        (TORQUE.replace("mem=4000kb", "mem=much"), "mem is 'much'"),
        (TORQUE[:70], ":1: ctime"),
        (CRAY.replace("=64", "=9999999 Resource_List.mppdepth=2"), ":1: mppwidth .* at most"),
        (TORQUE.replace("jobname=STDIN", 'jobname="STDIN'), ":1: .*quote"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(pbs: Run, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pbs(text)
