"""Validation of users who withdraw waiting jobs: an exact queue, and four logs."""
