"""Files of Batsim's command line: what a simulation is made from, and what it writes."""
