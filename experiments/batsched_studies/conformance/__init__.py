"""Compares our policies with published schedules and recorded runs: docs/conformance.md."""
