"""Input and output files of a simulation, the same as those of Batsim's command line."""
