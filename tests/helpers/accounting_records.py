"""Accounting records as Slurm, PBS and OAR write them, from the lines of a log: obviously right."""

from __future__ import annotations

import time
from collections.abc import Iterable

from batsched_py.workload.logs.swf import FIELDS

Job = dict[str, int]
"""The fields of a line in a log."""
SLURM = (
    "JobIDRaw|JobID|User|Account|Partition|QOS|Submit|Start|End|ElapsedRaw|Suspended|TimelimitRaw"
    "|NNodes|AllocCPUS|ReqCPUS|State|NodeList|JobName"
)
_STATES = {0: "FAILED", 1: "COMPLETED", 5: "CANCELLED by 1000"}
OAR = (
    "job_id,user,project,queue_name,job_name,state,exit_code,submission_time,start_time,stop_time,"
    "walltime,nb_resources,nb_requested,types"
)


def sacct(*jobs: dict[str, object], header: str = SLURM, end: str = "\n") -> str:
    """Return the output of sacct for jobs by column; what is not said is an hour on 4 cores."""
    usual: dict[str, object] = {
        "JobIDRaw": "",
        "JobID": 1,
        "User": "ann",
        "Account": "physics",
        "Partition": "batch",
        "QOS": "normal",
        "Submit": "2024-03-01T10:00:00",
        "Start": "2024-03-01T10:00:00",
        "End": "2024-03-01T11:00:00",
        "TimelimitRaw": 120,
        "NNodes": 1,
        "AllocCPUS": 4,
        "ReqCPUS": 4,
        "State": "COMPLETED",
        "JobName": "run",
    }
    names = header.split("|")
    lines = [header, *("|".join(str((usual | job).get(n, "")) for n in names) for job in jobs)]
    return "".join(f"{line}{end}" for line in lines)


def jobs_of(rows: Iterable[Iterable[float]]) -> list[Job]:
    """Return the jobs of a log, field by field."""
    return [dict(zip(FIELDS, map(int, row), strict=True)) for row in rows]


def as_slurm(jobs: Iterable[Job], second_0: int) -> str:
    """Return jobs as sacct writes them in UTC; names are numbers."""
    lines = [SLURM]
    for job in jobs:
        start = second_0 + job["submit_time"] + job["wait_time"]
        lines.append(
            "|".join(
                [
                    *(str(job["job_number"]), str(job["job_number"]), _name(job["user"])),
                    *(_name(job["group"]), _name(job["partition"]), _name(job["queue"])),
                    *(_utc(second_0 + job["submit_time"]), _utc(start)),
                    *(_utc(start + job["run_time"]), str(job["run_time"]), "00:00:00"),
                    str(job["requested_time"] // 60),
                    *("1", str(job["allocated_processors"]), _name(job["requested_processors"])),
                    *(_STATES[job["status"]], "node1", _name(job["executable"])),
                ]
            )
        )
    return "\n".join(lines) + "\n"


def as_pbs(jobs: Iterable[Job], second_0: int) -> str:
    """Return jobs as PBS writes the records of their ends."""
    lines = []
    for job in jobs:
        submit = second_0 + job["submit_time"]
        start = submit + job["wait_time"]
        end = start + job["run_time"]
        size = job["requested_processors"]
        said = {
            "user": _name(job["user"]),
            "group": _name(job["group"]),
            "jobname": _name(job["executable"]),
            "queue": _name(job["queue"]),
            "ctime": submit,
            "qtime": submit,
            "etime": submit,
            "start": start,
            "exec_host": f"node1/0*{job['allocated_processors']}",
            **({"Resource_List.ncpus": size} if size > 0 else {}),
            "Resource_List.walltime": _length(job["requested_time"]),
            "end": end,
            "Exit_status": 0 if job["status"] == 1 else 1,
        }
        message = " ".join(f"{key}={value}" for key, value in said.items() if value != "")
        when = time.strftime("%m/%d/%Y %H:%M:%S", time.gmtime(end))
        lines.append(f"{when};E;{job['job_number']}.server;{message}")
    return "\n".join(lines) + "\n"


def as_oar(jobs: Iterable[Job], second_0: int) -> str:
    """Return jobs as a query of OAR's database gives them."""
    lines = [OAR]
    for job in jobs:
        submit = second_0 + job["submit_time"]
        start = submit + job["wait_time"]
        ended = ("Terminated", "0") if job["status"] == 1 else ("Error", "256")
        fields = [
            *(job["job_number"], _name(job["user"]), _name(job["group"]), _name(job["queue"])),
            *(_name(job["executable"]), *ended, submit, start, start + job["run_time"]),
            *(job["requested_time"], job["allocated_processors"]),
            *(_name(job["requested_processors"]), ""),
        ]
        lines.append(",".join(map(str, fields)))
    return "\n".join(lines) + "\n"


def _name(number: int) -> str:
    return "" if number < 0 else str(number)


def _utc(unix: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(unix))


def _length(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
