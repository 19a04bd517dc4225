"""One simulation: its settings, what it is run by, and the function ``simulate``."""
