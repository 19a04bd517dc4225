"""The real thing: Batsim, a Docker engine, Compose, Slurm. What is not there is skipped."""
