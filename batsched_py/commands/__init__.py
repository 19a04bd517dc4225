"""The subcommands of ``batsched-py``, one a module; each a thin layer over plain functions."""
