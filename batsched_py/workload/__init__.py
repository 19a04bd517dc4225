"""Workloads: archive logs (SWF) in, Batsim workload files in and out."""

from batsched_py.workload.workload import Workload, WorkloadJob

__all__ = ["Workload", "WorkloadJob"]
