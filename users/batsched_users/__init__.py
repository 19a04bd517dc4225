"""Simulated users: sessions, session graphs, and models that react to the system."""
