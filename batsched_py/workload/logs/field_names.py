"""The names of the fields of a log: those of SWF, what others call them, and further columns."""

from __future__ import annotations

import re
from collections.abc import Collection

from batsched_py.errors import UsageError, parameter
from batsched_py.support.json_values import did_you_mean
from batsched_py.workload.logs.swf import FIELDS

_OTHER_NAMES = {
    "job_number": "job, job_id, id",
    "submit_time": "submit, submission_time",
    "wait_time": "wait, waiting_time",
    "run_time": "execution_time",
    "allocated_processors": "number_of_allocated_processors, proc_alloc",
    "average_cpu_time": "average_cpu_time_used, cpu_used",
    "used_memory": "mem_used",
    "requested_processors": (
        "requested_number_of_processors, proc_req, requested_number_of_resources"
    ),
    "requested_time": "user_est, time_req",
    "requested_memory": "mem_req",
    "user": "user_id, user_number, uid",
    "group": "group_id, group_number, gid",
    "executable": "executable_number, executable_application_number, exe_num",
    "queue": "queue_id, queue_number",
    "partition": "partition_id, partition_number",
    "preceding_job": "preceding_job_number, prev_jobs",
    "think_time": "think_time_from_preceding_job",
}
"""What the fields are called elsewhere: in the archive's definition, in evalys, by Batsim."""


def _plain(name: object) -> str:
    return re.sub(r"[\W_]", "", str(name)).lower()


_FIELD_OF = {_plain(field): field for field in FIELDS} | {
    _plain(other): field for field, others in _OTHER_NAMES.items() for other in others.split(",")
}


def field_of(name: object) -> str | None:
    """Return the field of SWF that is called ``name`` somewhere, None if there is none.

    >>> field_of("Mem_Req")
    'requested_memory'
    """
    return _FIELD_OF.get(_plain(name))


def check_field_names(where: object, names: Collection[str], further: Collection[str]) -> None:
    """Raise :class:`UsageError` if one of ``names`` to keep is neither a field nor ``further``.

    ``further`` are columns of the log ``where`` that SWF does not have.
    """
    known = (*FIELDS, *further)
    for name in names:
        if name not in known:
            field = field_of(name)
            hint = f" (did you mean {field!r}?)" if field else did_you_mean(name, known)
            raise UsageError(
                f"{parameter('keep')} {name!r}{hint}: expected fields of {where}: "
                f"{', '.join(known)}"
            )
