"""Measures of workloads, to compare a generated one with its log."""
