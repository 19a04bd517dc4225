"""The commands of the user layer: ``batsched-py sessions`` and ``batsched-py users``."""
