"""What one simulation leaves: its table of jobs, its files, its SWF log."""
