"""Compares real Batsim with the embedded simulator, case by case: real-batsim.md."""
