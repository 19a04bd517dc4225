"""Resampling: users drawn from the pools of a log make another workload."""
