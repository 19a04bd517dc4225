"""Measures of workloads, to compare a generated workload with its log."""
