"""Accounting systems: what Slurm, PBS and OAR record of their jobs."""
