"""Strict checks of recorded exchanges, for ``replay --strict`` and the tests; runs need none."""
