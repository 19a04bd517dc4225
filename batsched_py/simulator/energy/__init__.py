"""What the machine consumes, and its power states."""
