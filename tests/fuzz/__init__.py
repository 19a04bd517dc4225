"""Inputs that nobody would write, for everything that reads what somebody else wrote.

``targets`` has for each format a few small files that are right, what tells that a reader kept its
promises (``contract``), and the words of the format. ``damaging`` has hypothesis damage these
files. ``python -m fuzz`` looks for faults in many processes; an input that showed one is kept in
``found``, and is a test from then on.
"""
