"""Power states of machines, and the time that machines spend in each state."""
