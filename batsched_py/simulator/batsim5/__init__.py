"""Where Batsim 5 simulates otherwise than Batsim 4."""
