"""Compares our policies with published schedules and recorded runs: conformance.md."""
