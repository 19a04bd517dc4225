"""Policies and user models of others: where they are found, and how they are loaded."""
