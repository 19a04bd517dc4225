"""The results of one simulation: its table of jobs, its files, and its SWF log."""
