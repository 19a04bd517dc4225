"""Batsim's protocol, version 4: messages as typed structs, and their JSON."""
