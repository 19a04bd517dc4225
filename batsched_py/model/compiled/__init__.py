"""Timelines that numba compiles, and the switch to them."""
