"""Back ends: the ways to run Batsim itself beside our process, and to read what it leaves."""
