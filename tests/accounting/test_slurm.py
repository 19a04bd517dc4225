"""What sacct writes, trap by trap."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from batsched_py.accounting import sorted_records
from batsched_py.accounting.import_log import import_log
from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.systems.slurm import Slurm, parse_memory_of_job
from batsched_py.errors import InputError, UsageError
from helpers.accounting_records import SLURM, sacct
from helpers.imports import Run, importing

Job = dict[str, object]
FULL = (
    "JobIDRaw|JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|Elapsed|Suspended|Timelimit"
    "|NNodes|AllocCPUS|ReqCPUS|ReqNodes|ReqMem|TotalCPU|State|Restarts|NodeList|JobName"
)


slurm = importing(Slurm)


def test_a_job_becomes_a_line(slurm: Run) -> None:
    """Of 10:00 to 11:05, which started five minutes later, on 2 x 32 cores of which it asked 60.

    The log has the 64 that it held as requested, for a replay to hold as many.
    """
    job = {
        "JobID": 7,
        "Start": "2024-03-01T10:05:00",
        "End": "2024-03-01T11:05:00",
        "Elapsed": "01:00:00",
        "Timelimit": "1-12:00:00",
        "NNodes": 2,
        "AllocCPUS": 64,
        "ReqCPUS": 60,
        "ReqMem": "128G",
        "TotalCPU": "1-16:00:00.500",
    }
    done = slurm(sacct(job, header=FULL))
    assert {name: value for name, value in done.only.items() if value not in (1, -1)} == {
        "submit_time": 0,
        "wait_time": 300,
        "run_time": 3600,
        "allocated_processors": 64,
        "average_cpu_time": 40 * 3600 // 64,
        "requested_processors": 64,
        "requested_time": 36 * 3600,
        "requested_memory": 2 * 1024**2,
    }
    header = dict(done.log.header)
    assert (header["MaxProcs"], header["UnixStartTime"]) == ("64", "1709287200")
    assert header["StartTime"] == "Fri Mar 01 10:00:00 UTC 2024"
    assert header["EndTime"] == "Fri Mar 01 11:05:00 UTC 2024"
    assert (header["Partition"], header["Queue"]) == ("1 batch", "1 normal")
    assert done.names.splitlines() == [
        "field,number,name",
        *("user,1,ann", "group,1,physics", "queue,1,normal", "partition,1,batch"),
    ]


@pytest.mark.parametrize(
    ("job", "field", "value"),
    [
        *(({"State": of}, "status", 5) for of in ("CANCELLED by 1234", "CANCELLED+")),
        *(({"State": of}, "status", 0) for of in ("FAILED", "TIMEOUT", "PREEMPTED", "BOOT_FAIL")),
        # As where a clock was put back: what ran from 10 to 11 did so, whatever Elapsed says.
        ({"Elapsed": "-00:10:00"}, "run_time", 3600),
        ({"Elapsed": "INVALID"}, "run_time", 3600),
        ({"Start": "2024-03-01T11:00:00", "NodeList": "n1"}, "run_time", 0),
        ({"Start": "2024-03-01T11:00:00", "NodeList": "n1"}, "allocated_processors", 4),
        ({"TotalCPU": "-00:10:00"}, "average_cpu_time", -1),
        ({"TotalCPU": "00:00:00"}, "average_cpu_time", -1),  # no plug-in gathers it
        ({"Timelimit": "03:04"}, "requested_time", 184),
        ({"Timelimit": "90"}, "requested_time", 5400),
        *(({"Timelimit": of}, "requested_time", -1) for of in ("", "UNLIMITED", "Partition_Limit")),
        ({"TimelimitRaw": "120"}, "requested_time", 7200),
        ({"TimelimitRaw": f"{2**32 - 1}"}, "requested_time", -1),
        # While a job is suspended its processors are others'.
        ({"Elapsed": "00:50:00", "Suspended": "00:10:00"}, "run_time", 3000),
        ({"Elapsed": "00:50:00"}, "run_time", 3000),
        ({"Elapsed": "", "Suspended": "00:10:00"}, "run_time", 3000),
        ({"Elapsed": "00:55:00", "Suspended": "00:10:00"}, "run_time", 3000),
    ],
)
def test_fields(slurm: Run, job: Job, field: str, value: int) -> None:
    header = SLURM if "TimelimitRaw" in job else FULL
    done = slurm(sacct(job, header=header))
    assert done.only[field] == value
    assert done.noted("jobs were suspended") == (value == 3000)
    assert done.noted("not End") == (job.get("Elapsed") == "00:55:00")


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ({"JobID": "1.batch"}, "steps of jobs (1)"),
        ({"JobID": "1_2.0"}, "steps of jobs (1)"),
        ({"State": "PENDING", "Start": "Unknown", "End": "Unknown"}, "had not ended"),
        ({"State": "REVOKED"}, "another cluster"),
    ],
)
def test_what_is_no_job_is_left_out_and_counted(slurm: Run, job: Job, reason: str) -> None:
    done = slurm(sacct({"JobID": 9}, job))
    assert done.only["job_number"] == 1
    assert any(note.startswith("left out") and reason in note for note in done.notes)


@pytest.mark.parametrize(
    "job",
    [
        {"Start": "Unknown", "AllocCPUS": 0},
        {"Start": "2024-03-01T11:00:00", "AllocCPUS": 0},
        {"Start": "2024-03-01T11:00:00", "NodeList": "None assigned"},
        {"Start": "2024-03-01T12:00:00", "NNodes": 0},
    ],
)
@pytest.mark.parametrize("state", ["CANCELLED by 5", "COMPLETED"])
def test_jobs_that_never_started(slurm: Run, job: Job, state: str) -> None:
    """They are in the log, for their users submitted them, but did not use the machine.

    They left the queue after an hour, whether sacct has that as their start or not.
    """
    done = slurm(sacct({"JobID": 9}, {"JobID": 10, "State": state, "ReqCPUS": 8} | job))
    never = done.jobs[1]
    assert (never["status"], never["requested_processors"], never["wait_time"]) == (5, 8, 3600)
    for field in ("run_time", "allocated_processors"):
        assert never[field] == -1
    assert done.log.max_processors == 4


@pytest.mark.parametrize("end", ["Unknown", "2024-03-01T09:59:00"])
def test_a_job_that_left_the_queue_at_an_unknown_time(slurm: Run, end: str) -> None:
    never = {"JobID": 10, "State": "CANCELLED", "Start": "Unknown", "End": end, "NNodes": 3}
    never["Partition"] = "batch,debug"  # in one of which it might have run
    done = slurm(sacct({"JobID": 9}, never | {"AllocCPUS": 0}), processors="nodes")
    assert done.jobs[1]["wait_time"] == done.jobs[1]["partition"] == -1
    assert [job["requested_processors"] for job in done.jobs] == [-1, 3]
    assert [value for name, value in done.log.header if name == "Partition"] == ["1 batch"]


def test_arrays_and_components(slurm: Run) -> None:
    """123_4 has a number of its own, 123_[5-9] is one record of five, 200+1 a part of 200."""
    done = slurm(
        sacct(
            {"JobID": "123_4", "JobIDRaw": 130},
            {"JobID": "123_[5-9%2]", "JobIDRaw": 123, "State": "CANCELLED", "Start": "Unknown"},
            {"JobID": "200+0", "JobIDRaw": 200},
            {"JobID": "200+1", "JobIDRaw": 201},
        )
    )
    assert [job["status"] for job in done.jobs] == [5, 1, 1, 1], "in order of JobIDRaw"
    assert done.noted("each element is a job (1)")
    assert done.noted("each is a job (2)")


def test_without_raw_ids_elements_are_in_their_order(slurm: Run) -> None:
    header = SLURM.replace("JobIDRaw|", "")
    rows = [{"JobID": f"9_{n}", "AllocCPUS": n} for n in (10, 2, 1)]
    sizes = [job["allocated_processors"] for job in slurm(sacct(*rows, header=header)).jobs]
    assert sizes == [1, 2, 10]


@pytest.mark.parametrize("state", ["NODE_FAIL", "RESIZING"])
def test_each_run_and_each_size_of_a_job_is_a_job(slurm: Run, state: str) -> None:
    """As sacct --duplicates shows runs; to resize a job, Slurm ends its record."""
    runs = [
        {"State": state, "End": "2024-03-01T10:30:00", "AllocCPUS": 8},
        {"Submit": "2024-03-01T10:30:00", "Start": "2024-03-01T10:40:00", "Restarts": 1},
    ]
    done = slurm(sacct(*runs, header=FULL))
    assert [(job["allocated_processors"], job["run_time"]) for job in done.jobs] == [
        (8, 1800),
        (4, 1200),
    ]
    assert done.jobs[1]["status"] == 1
    assert done.noted("is a job (")


def test_a_partition_limit_stands_in(slurm: Run) -> None:
    jobs = [
        {"JobID": 1, "TimelimitRaw": "UNLIMITED"},
        {"JobID": 2, "TimelimitRaw": "Partition_Limit", "Partition": "debug"},
        {"JobID": 3, "TimelimitRaw": "Partition_Limit", "Partition": "other"},
        {"JobID": 4, "TimelimitRaw": 60},
    ]
    done = slurm(sacct(*jobs), partition_limits={"batch": 604_800, "debug": 1_800})
    assert [job["requested_time"] for job in done.jobs] == [604800, 1800, -1, 3600]
    assert done.noted("request is unknown (1)")


@pytest.mark.parametrize(
    ("options", "allocated", "requested"),
    [
        ({}, 64, 64),
        ({"cores_per_node": 32}, 64, 64),
        ({"cores_per_node": 16}, 32, 32),
        ({"processors": "nodes"}, 2, 2),
    ],
)
def test_cores_and_nodes(slurm: Run, options: Job, allocated: int, requested: int) -> None:
    """A job that asked for 33 cores on 2 nodes, and got both."""
    job = {"NNodes": 2, "AllocCPUS": 64, "ReqCPUS": 33, "ReqNodes": 2}
    done = slurm(sacct(job, header=FULL), **options)
    assert done.only["allocated_processors"] == allocated
    assert done.only["requested_processors"] == requested
    assert done.log.max_processors == allocated


@pytest.mark.parametrize(
    ("text", "kilobytes"),
    [
        ("4G", 1024**2),
        ("4000Mc", 4000 * 1024),
        ("8Gn", 4 * 1024**2),
        ("0.5G", 128 * 1024),
        *(("0n", -1), ("", -1), ("512K", 128), (f"{2**32 - 1}Mn", -1)),
        (f"{2**31 + 3000}Mn", 3000 * 1024),
        (f"{2**63 + 3000}Mn", 3000 * 1024),
        (f"{2**21 + 4}Gn", 4 * 1024**2),
        (f"{2**31 - 1}Mn", (2**31 - 1) * 512),
    ],
)
def test_requested_memory_is_of_a_processor(text: str, kilobytes: int) -> None:
    """Of 4 processors on 2 nodes; the highest bit of a number of a node is Slurm's mark."""
    assert parse_memory_of_job(text, 4, 2) == kilobytes


@pytest.mark.parametrize(
    ("times", "submit", "wait"),
    [
        ({"Eligible": "2024-03-01T10:30:00", "Start": "2024-03-01T10:40:00"}, 1800, 600),
        ({"Eligible": "2024-03-01T10:45:00", "Start": "2024-03-01T10:40:00"}, 2400, 0),
        ({"Eligible": "2024-03-01T09:30:00", "Start": "2024-03-01T10:40:00"}, 0, 2400),
        ({"Eligible": "Unknown", "Start": "2024-03-01T10:40:00"}, 0, 2400),
        ({"Eligible": "2024-03-01T10:30:00", "Start": "Unknown"}, 1800, 1800),
        ({"Eligible": "2024-03-01T11:30:00", "Start": "Unknown"}, 3600, 0),
    ],
)
def test_a_job_may_be_submitted_when_it_became_eligible(
    slurm: Run, times: Job, submit: int, wait: int
) -> None:
    """Never before it was submitted, nor after it started or was withdrawn at 11:00.

    Job 1 is of 10:00, the second 0.
    """
    first = {"JobID": 1, "Eligible": "2024-03-01T10:00:00"}
    text = sacct(first, {"JobID": 2, "State": "CANCELLED"} | times, header=FULL)
    done = slurm(text, submission="eligible")
    job = done.jobs[1]
    assert (job["submit_time"], job["wait_time"]) == (submit, wait)
    assert done.noted("submitted when eligible (1)") == (submit > 0)
    assert done.noted("time of eligibility") == (times["Eligible"] == "Unknown")
    with pytest.raises(InputError, match="no column Eligible"):
        slurm(sacct({}), submission="eligible")
    with pytest.raises(UsageError, match="submission"):
        slurm(text, submission="begin")


def test_names_may_hold_anything(slurm: Run) -> None:
    """The delimiter in a job name, control characters, formulas, bytes that are no UTF-8."""
    text = sacct(
        {"JobID": 1, "JobName": 'a|b"c', "User": "=1+1"},
        {"JobID": 2, "JobName": "x", "User": "\x1b[31mred"},
        {"JobID": 3, "JobName": "x", "User": "m\xfcller"},
    ).encode("latin-1")
    done = slurm(text, job_names=True)
    assert [job["user"] for job in done.jobs] == [2, 1, 3], "of one second: in order of the names"
    assert [job["executable"] for job in done.jobs] == [1, 2, 2]
    users = ["user,1,\\u001b[31mred", "user,2,'=1+1", "user,3,m\\xfcller"]
    assert done.names.splitlines()[1:4] == users
    assert 'executable,1,"a|b""c"' in done.names.splitlines()


def test_jobs_of_two_clusters_are_no_jobs_of_one_machine(slurm: Run) -> None:
    """With the same numbers and times: each cluster is imported as if it were alone."""
    header = f"Cluster|{SLURM}"
    of_a, of_b = (
        [{"Cluster": name, "JobID": n, "AllocCPUS": n + 1} for n in (1, 2)] for name in "ab"
    )
    of_b[0]["AllocCPUS"] = 9
    text = sacct(*of_a, *of_b, {"Cluster": "a", "JobID": 3}, header=header)
    with pytest.raises(InputError, match="of one machine"):
        slurm(text)
    alone, chosen = slurm(sacct(*of_b, header=header)), slurm(text, cluster="b")
    assert (chosen.jobs, chosen.machine) == (alone.jobs, alone.machine)
    assert chosen.noted("other clusters (3)")
    with pytest.raises(InputError, match="no column Cluster"):
        slurm(sacct({}), cluster="alpha")
    with pytest.raises(InputError, match=r"'beta': .*'alpha'"):
        slurm(sacct({"Cluster": "alpha"}, header=header), cluster="beta")


# Forms of the file -------------------------------------------------------------------------------


@pytest.mark.parametrize(("begin", "end"), [(b"", "\r\n"), (b"\xef\xbb\xbf", "\n"), (b"", "|\n")])
def test_line_ends_and_byte_order_marks(slurm: Run, begin: bytes, end: str) -> None:
    """A bar ends each line of sacct --parsable; a name with a bar in it is still one."""
    done = slurm(begin + sacct({"JobName": "a|b"}, end=end).encode(), job_names=True)
    assert "executable,1,a|b" in done.names


@pytest.mark.parametrize("delimiter", ["\t", "^|^"])
def test_other_delimiters(slurm: Run, delimiter: str) -> None:
    text = sacct({}).replace("|", delimiter)
    assert slurm(text, delimiter=delimiter).only["run_time"] == 3600


@pytest.mark.parametrize(
    ("at", "free", "other"),
    [(18, "JobName", ""), (18, "JobName", "Comment"), (0, "SubmitLine", "")],
)
def test_a_delimiter_in_a_free_text_is_no_column(
    slurm: Run, free: str, at: int, other: str
) -> None:
    """Either it is a part of the last text, or the cause is named, with a cure for all lines.

    A text that takes up what another one made too many would hide that all between have moved.
    """
    names = SLURM.removesuffix("|JobName").split("|")
    names.insert(at, free)
    names += ["Comment"] if other else []
    rows = [{"JobID": 1, free: "x", "Comment": "x"}, {"JobID": 2, free: "a|b"}]
    text = sacct(*rows, header="|".join(names))
    if names[-1] == free and not other:
        assert len(slurm(text).jobs) == 2
        return
    with pytest.raises(InputError, match=f"{free}.*--delimiter"):
        slurm(text)
    clean = slurm(text.replace("a|b", "a!b").replace("|", "^|^"), delimiter="^|^")
    assert len(clean.jobs) == 2


def test_files_are_one_stream(slurm: Run) -> None:
    """With headers of their own, a repeated one, another order of columns, or none."""
    first = sacct({"JobID": 1}) + sacct({"JobID": 2})
    second = sacct({"JobID": 3}, header="|".join(reversed(SLURM.split("|")[:-1])))
    third = sacct({"JobID": 4}).split("\n", 1)[1]
    with pytest.raises(InputError, match=r"records2:1: 18 fields: expected 17"):
        slurm(first, second, third)
    assert len(slurm(first, third, second).jobs) == 4


def test_a_file_whose_last_line_has_no_end(slurm: Run) -> None:
    done = slurm(sacct({}).rstrip("\n"))
    assert done.noted("be cut off")
    cut = sacct({"JobID": 1}, {"JobID": 2})[:-60]
    with pytest.raises(InputError, match=r"records0:3: \d+ fields: expected 18"):
        slurm(cut)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\n", "records0: there are no jobs"),
        (sacct({"State": "PENDING"}), r"no jobs in it: left out: .*\(1\)"),
        (sacct({}).split("\n", 1)[1], "records0:1: .*noheader"),
        (sacct({}).replace("|", ","), "records0:1: .* divides the columns: .*delimiter"),
        ('{\n  "jobs": [\n  ]\n}\n', "records0:1: this is JSON"),
        (sacct({}).replace("|", "   "), "records0:1: not the columns"),
        (sacct({}), "Europe/Pari"),
        (sacct({}).replace("Submit", "Sumbit"), "Submit .*'Sumbit'"),
        (sacct({}).replace("AllocCPUS", "Cores"), "AllocCPUS or NCPUS"),
        (sacct({"Submit": "01/03/2024"}), "records0:2: Submit is '01/03/2024'"),
        (sacct({"Submit": "20240301"}), "records0:2: .*from 1990"),
        (sacct({"End": "2024-03-01T09:00:00"}), "records0:2: the end"),
        (sacct({"State": "COMPLETE"}), "'COMPLETE': .*'COMPLETED'"),
        (sacct({"JobID": "x1"}), "records0:2: JobID is 'x1'"),
        (sacct({"AllocCPUS": "many"}), "records0:2: AllocCPUS is 'many'"),
        (sacct({"AllocCPUS": 10**9}), "records0:2: AllocCPUS .* 10000000"),
        (sacct({"TimelimitRaw": "long"}), "records0:2: Timelimit is 'long'"),
        (sacct({"User": "a\0b"}), "records0:2: a zero byte"),
        (b"\x1f\x8bgarbage", "records0: .*damaged"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(
    slurm: Run, text: str | bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        slurm(text, time_zone="Europe/Pari" if message == "Europe/Pari" else None)


def test_bad_lines_can_be_left_out(slurm: Run) -> None:
    bad = [{"JobID": f"x{number}"} for number in range(7)]
    done = slurm(sacct({"JobID": 1}, *bad, {"JobID": 2}), skip_bad_lines=True)
    assert len(done.jobs) == 2
    assert done.noted("bad lines (7): 3, 4, 5, 6, 7, ...")
    assert done.noted("UTC is assumed")


def test_epoch_seconds_and_offsets(slurm: Run) -> None:
    """As SLURM_TIME_FORMAT=%s and %FT%T%z give them: the zone of the records does not matter."""
    jobs = [
        {"JobID": 1, "Submit": 1709287200, "Start": 1709287260, "End": 1709290860},
        {
            "JobID": 2,
            "Submit": "2024-03-01T11:00:00+0100",
            "Start": "2024-03-01T11:01:00+01:00",
            "End": "2024-03-01T11:01:00Z",
        },
    ]
    done = slurm(sacct(*jobs), time_zone="Asia/Tokyo")
    assert [(job["submit_time"], job["wait_time"]) for job in done.jobs] == [(0, 60), (0, 60)]
    assert [job["run_time"] for job in done.jobs] == [3600, 3600]
    assert not done.noted("was not given")


@pytest.mark.parametrize(
    "options",
    [
        *({"max_processors": 0}, {"processors": "sockets"}, {"outage_hours": float("nan")}),
        *({"outage_hours": 0}, {"delimiter": ""}),
    ],
)
def test_options_that_make_no_sense(slurm: Run, options: Job) -> None:
    with pytest.raises(UsageError):
        slurm(sacct({}), **options)


def test_processors_that_were_given(slurm: Run) -> None:
    early = sacct({"Start": "2024-03-01T09:59:58"})
    done = slurm(early, max_processors=3)
    assert (done.only["wait_time"], done.only["run_time"]) == (0, 3602)
    assert done.noted("started before they")
    assert done.noted("at once (4)")
    assert slurm(early, max_processors=64).log.max_processors == 64


@pytest.mark.slow
def test_memory_does_not_grow_with_the_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of users who stay the same, a job a minute, ten of which run at once."""
    monkeypatch.setattr(sorted_records, "IN_MEMORY", 500)
    monkeypatch.setattr(sorted_records, "_TOGETHER", 10)

    def peak(nb_jobs: int) -> int:
        times = range(1709287200, 1709287200 + 60 * nb_jobs, 60)
        jobs = (
            {"JobID": number, "User": number % 50, "Submit": at, "Start": at, "End": at + 600}
            for number, at in enumerate(times)
        )
        (tmp_path / "records").write_text(sacct(*jobs))
        tracemalloc.start()
        import_log(Slurm, [str(tmp_path / "records")], tmp_path / "out.swf", ImportOptions())
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(100)  # imports, and tables that are made once
    assert peak(8_000) < 2_000_000, "lines that are written together, and 40 bytes for each job"
