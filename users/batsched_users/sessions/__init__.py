"""Sessions and batches of a log, the graph of their dependencies, and the feedback engine."""
