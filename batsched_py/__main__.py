"""``python -m batsched_py`` is the command ``batsched-py``."""

from batsched_py.cli import main

main()
