"""Compares measures of users with published ones: docs/user-models.md."""
