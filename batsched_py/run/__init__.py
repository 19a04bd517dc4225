"""One simulation: its options, its back ends, its result, and the function ``simulate``."""
