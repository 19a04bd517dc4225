"""E. Shmueli, D. G. Feitelson, IEEE TPDS 2009: users who react, and a policy made for them."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
