"""Commands about logs: ``logs``, ``info``, ``convert`` and ``sample-log``."""
