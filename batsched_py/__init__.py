"""batsched_py: a Batsim-compatible decision process with users who react."""
