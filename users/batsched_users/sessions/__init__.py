"""Sessions and batches of a log, and which waited for which."""
