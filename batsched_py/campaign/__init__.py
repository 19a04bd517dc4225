"""Campaigns: a file of axes becomes runs, runs become tables and figures."""
