"""batsched_py: a Batsim-compatible decision process for HPC scheduling, with users who react.

This package has all the names that the author of a policy or of a user model needs::

    from batsched_py import Machine, Start, WaitingQueue

    class Greedy:
        '''Start each job that fits, in submission order.'''

        def schedule(self, now, queue, machine):
            for job in queue:
                if job.size <= machine.free:
                    yield Start(job)

and :func:`simulate`, which runs it: ``simulate("log.swf", scheduler="greedy.py:Greedy")``.

The names in ``__all__`` are public, as are those of a few more modules; the page "Python API" has
the list. Everything else is internal and may change with any version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from batsched_py.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from batsched_py.campaign.run_campaign import run_campaign
    from batsched_py.errors import BatschedError
    from batsched_py.figures.run_figures import (
        draw_queue,
        draw_schedule,
        draw_submissions,
        draw_utilisation,
    )
    from batsched_py.model.decisions import (
        CallMeLater,
        Decision,
        Kill,
        Reject,
        Start,
        SwitchOff,
        SwitchOn,
    )
    from batsched_py.model.job import Job, JobState
    from batsched_py.model.machine import Machine
    from batsched_py.model.policy import (
        CountingScheduler,
        DilatingScheduler,
        ExplainingScheduler,
        InformedScheduler,
        ObservedScheduler,
        Scheduler,
    )
    from batsched_py.model.queue import WaitingQueue
    from batsched_py.model.queue.job_arrays import JobArrays
    from batsched_py.model.queue.orders import ClockOrder, FixedOrder
    from batsched_py.model.site import Site
    from batsched_py.model.site_view import OwnJob, SiteView, WaitingWork
    from batsched_py.model.sleepers import Sleepers
    from batsched_py.model.timeline import Timeline
    from batsched_py.model.user_model import (
        CountingUserModel,
        EndedJob,
        StartedJob,
        UserModel,
        Withdraw,
    )
    from batsched_py.model.waiting_reason import WaitingReason
    from batsched_py.report.comparing.campaigns import compare_campaigns
    from batsched_py.report.comparing.runs import RunComparison, compare_runs
    from batsched_py.run.result import Result
    from batsched_py.run.simulate import simulate
    from batsched_py.schedulers.backfilling import Backfilling
    from batsched_py.schedulers.conservative import Conservative
    from batsched_py.schedulers.easy import Easy, shadow_time_and_extra_nodes
    from batsched_py.schedulers.fcfs import Fcfs
    from batsched_py.schedulers.list_scheduling import ListScheduling
    from batsched_py.workload.conversion_rules import Rules, make_rules
    from batsched_py.workload.load import load_workload
    from batsched_py.workload.logs.clock import Clock
    from batsched_py.workload.logs.log_archive import find_log
    from batsched_py.workload.workload import Workload, WorkloadJob

__all__ = [
    "Backfilling",
    "BatschedError",
    "CallMeLater",
    "Clock",
    "ClockOrder",
    "Conservative",
    "CountingScheduler",
    "CountingUserModel",
    "Decision",
    "DilatingScheduler",
    "Easy",
    "EndedJob",
    "ExplainingScheduler",
    "Fcfs",
    "FixedOrder",
    "InformedScheduler",
    "Job",
    "JobArrays",
    "JobState",
    "Kill",
    "ListScheduling",
    "Machine",
    "ObservedScheduler",
    "OwnJob",
    "Reject",
    "Result",
    "Rules",
    "RunComparison",
    "Scheduler",
    "Site",
    "SiteView",
    "Sleepers",
    "Start",
    "StartedJob",
    "SwitchOff",
    "SwitchOn",
    "Timeline",
    "UserModel",
    "WaitingQueue",
    "WaitingReason",
    "WaitingWork",
    "Withdraw",
    "Workload",
    "WorkloadJob",
    "compare_campaigns",
    "compare_runs",
    "draw_queue",
    "draw_schedule",
    "draw_submissions",
    "draw_utilisation",
    "find_log",
    "load_workload",
    "make_rules",
    "run_campaign",
    "shadow_time_and_extra_nodes",
    "simulate",
]

# Imported at first use: a policy file needs neither the simulator nor numpy, a help nothing.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __file__)
