"""A league of user models that predict users after a change. A study of our own."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
RECORDED = "recorded"
"""The run that is no forecast: what was recorded after the change, under our policy."""
RIGID = "rigid"
"""The forecast that others are measured by: the last weeks once more, with some to spare."""
RECENT = "rigid_recent"
"""The same with none to spare: whoever knows all weeks up to the change is held against this."""
