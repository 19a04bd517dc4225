"""What policies and user models see: jobs, the machine, the timeline, decisions."""
