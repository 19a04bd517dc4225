"""Accounting records of Slurm, PBS and OAR."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

from batsched_py.accounting.import_log import import_log
from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.systems import oar, pbs, slurm
from batsched_py.accounting.systems.accounting_system import AccountingSystem
from batsched_py.errors import InputError
from batsched_py.workload.logs.swf import read_swf
from batsched_py.workload.machine_file import read_machine
from fuzz.contract import Target, reasons, refusing, words

RECORDS = "records"
_SALT = "a salt of the fuzzer"
_SLURM = b"""JobIDRaw|JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|Elapsed|Suspended|\
Timelimit|NNodes|AllocCPUS|ReqCPUS|ReqNodes|ReqMem|TotalCPU|State|Restarts|NodeList|JobName
7|5_7|ann|phys|batch|normal|2024-10-27T02:10:00|2024-10-27T02:10:00|2024-10-27T02:20:00|\
2024-10-27T02:10:00|00:50:00|00:00:00|1-00:00:00|2|64|64|2|4Gn|01:00:00|COMPLETED|0|n[1-2]|a b
8|8+1|bob|phys|batch|normal|2024-10-27T02:10:00|Unknown|2024-10-28T02:20:00|2024-10-30T02:10:00|\
1-23:00:00|00:50:00|UNLIMITED|1|4K|64||128G|00:00.5|CANCELLED by 9|1|n3|c|d
9|9_[1-3]|bob|chem|long|low|1730000000|Unknown|Unknown|1730000600|00:00:00|00:00:00|\
Partition_Limit|1|0|1||0|00:00:00|CANCELLED|0|None assigned|x
9.batch|9.batch||||||||||||||||||COMPLETED|||
"""
_PBS = b"""03/01/2024 10:00:00;Q;1.s;queue=batch
03/01/2024 10:05:00;D;2[].s;requestor=ann@login
03/01/2024 11:00:00;E;99.s;user=bob group=users account="a b" jobname=my job queue=batch \
ctime=1709287200 qtime=1709287201 start=1709287300 exec_host=n1/0*8+n2/0-3,5 \
exec_vnode=(n1:ncpus=8:mem=4kb)+(n2:ncpus=5) Resource_List.mem=4gb Resource_List.nodect=2 \
Resource_List.select=2:ncpus=8+1 Resource_List.walltime=00:16:40 end=1709287900 Exit_status=271 \
resources_used.cput=00:00:04 resources_used.mem=4000kb
03/01/2024 13:00:00;R;98[4].s;user=bob queue=batch ctime=1709287200 start=1709287300 \
Resource_List.nodes=2:ppn=2+node7
"""
_OAR = b"""job_id,user,project,queue_name,job_name,state,exit_code,submission_time,start_time,\
stop_time,walltime,nb_resources,nb_nodes,hosts,types
1,ann,phys,default,"a,b",Terminated,0,1709287200,1709287260,1709290860,7200,32,2,n1 n2,besteffort
2,bob,phys,default,,Error,,1709287200,0,1709290860,02:00:00,0,0,,
3,bob,phys,default,,Running,,1709287200,1709287200,0,60,1,1,n1,inner=1
"""
_TOKENS = [
    *words(
        """
        JobID State Submit | ; UNLIMITED Unknown PENDING n[1-3,7] [ ] NULL + * / = , inner=
        """
    ),
    *words(
        """
        2024-03-31T02:30:00 2024-10-27T02:30:00 1709287200 99999999999 -1 4K 1-0
        """
    ),
    *("exec_host=", "Resource_List.select=", '"', "\t"),
]


def _seeds(content: bytes) -> list[bytes]:
    return [content, content.replace(b"\n", b"\r\n"), gzip.compress(content, mtime=0)]


def check(system: type[AccountingSystem], data: bytes) -> str:
    """What is written is a log, and a machine; names that are secret stay so."""
    Path(RECORDS).write_bytes(data)
    return reasons(partial(_import, system), (None, _SALT))


def _import(system: type[AccountingSystem], salt: str | None) -> str:
    options = ImportOptions(
        skip_bad_lines=salt is not None,
        anonymise=salt is not None,
        salt=salt,
        time_zone="Europe/Paris",
        job_names=True,
    )
    with refusing(InputError, RECORDS):
        done = import_log(system, [RECORDS], Path("out.swf"), options)
    log = read_swf("out.swf")
    assert len(log) == done.nb_jobs > 0
    assert not log.notes, log.notes
    read_machine("out_machine.toml")
    if salt is not None:
        written = Path("out_names.csv").read_text() + "".join(log.header_lines)
        assert _SALT not in written
    return ""


TARGETS = tuple(
    Target(system.name, partial(_seeds, content), partial(check, system), _TOKENS)
    for system, content in ((slurm.Slurm, _SLURM), (pbs.Pbs, _PBS), (oar.Oar, _OAR))
)
