"""Final states of jobs, and the columns of Batsim's ``_jobs.csv``."""

from __future__ import annotations

from batsched_py.model.user_model import REJECTED as REJECTED
from batsched_py.model.user_model import SUCCESS as SUCCESS
from batsched_py.model.user_model import WITHDRAWN as WITHDRAWN

FAILED = "COMPLETED_FAILED"
WALLTIME_REACHED = "COMPLETED_WALLTIME_REACHED"
KILLED = "COMPLETED_KILLED"
NEVER_RAN = frozenset((REJECTED, WITHDRAWN))
"""The final states of jobs that never started."""
LEAST_EXECUTION_TIME = 1e-5
"""Batsim writes this run time (seconds) for a job that took none."""

TEXT = ""
SECONDS = "seconds"
PROCESSORS = "processors"
FLAG = "0 or 1"

BATSIM_COLUMNS = {
    "job_id": TEXT,
    "workload_name": TEXT,
    "profile": TEXT,
    "submission_time": SECONDS,
    "requested_number_of_resources": PROCESSORS,
    "requested_time": SECONDS,
    "success": FLAG,
    "final_state": TEXT,
    "starting_time": SECONDS,
    "execution_time": SECONDS,
    "finish_time": SECONDS,
    "waiting_time": SECONDS,
    "turnaround_time": SECONDS,
    "stretch": "a ratio",
    "allocated_resources": TEXT,
    "consumed_energy": "joules",
    "metadata": TEXT,
}
"""The unit of each column of Batsim 4.2, in its order; ``TEXT`` has none. The requested time (the
walltime) is -1 where there is none; a rejected job has nothing from its start to its energy. A
withdrawn job has a waiting time too, from its submission to its withdrawal."""
JOBS_COLUMNS = ",".join(BATSIM_COLUMNS)
