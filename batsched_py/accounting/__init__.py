"""Converts the accounting records of a site, of Slurm, PBS or OAR, to a log."""
