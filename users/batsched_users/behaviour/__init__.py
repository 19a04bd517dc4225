"""Random elements of user behaviour: working hours, gaps, think times, attributes of jobs."""
