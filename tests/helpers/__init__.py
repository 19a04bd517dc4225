"""What tests of several folders share; ``tests/`` is on the path."""
