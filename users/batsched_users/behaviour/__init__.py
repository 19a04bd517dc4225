"""What users draw and keep to: hours of work, gaps, think times, the attributes of their jobs."""
