"""Power states of machines, and how long machines were in which state."""
