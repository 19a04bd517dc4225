"""The strict judge of recorded exchanges: for ``replay --strict`` and the tests, not for runs."""
