"""Figures of runs as charts of altair, and the files that charts are written to."""
