"""Agents: what they see and choose, the policies that ask them, and the networks that answer."""
