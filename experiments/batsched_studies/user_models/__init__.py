"""Measures of the user layer compared with the published ones: docs/user-models.md."""
