"""Small tools for every layer: statistics, terminal text, signals, values of JSON."""
