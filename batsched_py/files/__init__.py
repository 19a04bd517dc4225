"""Files: the one place that reads what others wrote, and writes whole files or none."""
