"""What Batsim 4 simulates beyond jobs on processors: energy, and machines that fail."""
