"""Campaigns: a file of axes becomes runs, runs become a table and a report."""
