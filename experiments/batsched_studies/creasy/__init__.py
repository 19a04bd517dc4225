"""The study of CREASY, a policy for users who react: E. Shmueli, D. G. Feitelson, TPDS 2009."""

from pathlib import Path

from batsched_py.report.kit import Texts

TEXTS = Texts(Path(__file__).parent)
PUBLISHED = TEXTS.published
