"""Workers that perform the runs of a campaign: on this machine, and on clusters."""
