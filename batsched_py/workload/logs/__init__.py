"""Workload logs in the standard workload format (SWF)."""
