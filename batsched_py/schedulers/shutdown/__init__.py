"""Rules that switch idle processors off beside any policy."""
