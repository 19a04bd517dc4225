"""Workloads: archive logs (SWF) in, Batsim workload files in and out."""

from batsched_py.workload.jobs import Workload, WorkloadJob

__all__ = ["Workload", "WorkloadJob"]
