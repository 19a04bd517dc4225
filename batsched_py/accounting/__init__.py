"""The accounting records of a site become a log: of Slurm, PBS and OAR."""
