"""The real thing: Batsim, a Docker engine, Compose, Slurm. Missing programs are skipped."""
