"""Accounting systems: reads the records of Slurm, PBS and OAR."""
