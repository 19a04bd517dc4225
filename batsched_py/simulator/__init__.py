"""The embedded simulator: behaves as Batsim 4.2 for jobs that only compute."""
