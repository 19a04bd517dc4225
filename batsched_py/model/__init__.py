"""The objects that policies and user models work with: jobs, machine, timeline, decisions."""
