"""Real Batsim beside the embedded simulator, case by case: docs/real.md."""
