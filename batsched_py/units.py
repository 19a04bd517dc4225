"""Units: everything inside is in seconds; these are the longer ones, in seconds."""

from __future__ import annotations

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY
MONTH = 30 * DAY
"""As the papers count: 30 days."""
