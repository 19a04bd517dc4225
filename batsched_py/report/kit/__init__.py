"""What reports of studies have in common: selecting runs, pairing them, tables, charts.

A study keeps its own ideas (axes, claims, published numbers, figures that no other has) and takes
the rest from here, as users' own studies may; see ``docs/reports.md``.
"""
