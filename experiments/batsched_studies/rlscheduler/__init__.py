"""Recomputes the published comparison of RLScheduler with five heuristics, and corrects it."""
