"""Policies that were learned on rigid replay or with users who react, and what is left of them."""
