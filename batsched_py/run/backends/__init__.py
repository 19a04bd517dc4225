"""Back ends: start Batsim and the scheduler as two processes, and read Batsim's output files."""
