"""What the user layer measures beside what the studies print: docs/user-models.md."""
