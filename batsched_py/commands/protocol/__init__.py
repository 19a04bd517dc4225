"""Commands that speak Batsim's protocol: ``serve``, ``replay`` and ``simulator``."""
