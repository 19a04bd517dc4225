"""Options: their types, how they are read and written, and their help."""
