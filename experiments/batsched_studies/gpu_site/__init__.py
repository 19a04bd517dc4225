"""A made-up GPU site: its jobs, an exact schedule of them, and Slurm's records of it."""
