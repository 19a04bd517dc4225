"""Compares measures of users with published ones: docs/validation/user-models.md."""
