"""Compares real Batsim with the embedded simulator, case by case: docs/real.md."""
