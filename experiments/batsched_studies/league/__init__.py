"""A league of user models that predict submissions after a change: a study of this project."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
RECORDED = "recorded"
"""The run that is no forecast: the recorded jobs after the change, under EASY."""
RIGID = "rigid"
"""The reference forecast: a replay of the last weeks, with some spare weeks."""
RECENT = "rigid_recent"
"""The reference without spare weeks, for models that know all weeks up to the change."""
