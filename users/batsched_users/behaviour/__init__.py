"""Parts of user models: working hours, gaps, think times, attributes of jobs, energy signals."""
