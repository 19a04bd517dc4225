"""Input and output files of a simulation, as Batsim's command line has them."""
