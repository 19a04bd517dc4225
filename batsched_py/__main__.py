"""The command ``batsched-py``, also ``python -m batsched_py``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it also while it is imported."""
    try:
        from batsched_py import cli

        cli.main()
    except KeyboardInterrupt:
        sys.stderr.write("batsched-py: error: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
