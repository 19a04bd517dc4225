"""Figures of runs, as charts of altair, and charts as files."""
