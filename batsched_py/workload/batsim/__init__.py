"""Workload files of Batsim 4 and 5."""
