"""Commands about logs: ``logs``, ``info``, ``import``, ``convert`` and ``sample-log``."""
