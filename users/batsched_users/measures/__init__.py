"""Measures of what a workload is like, to compare a generated one with its log."""
