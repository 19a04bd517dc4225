"""Resampling: a log is split into its users, and users drawn from it make another workload."""
