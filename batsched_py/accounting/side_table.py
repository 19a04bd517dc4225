"""The table beside a log: what its jobs held and requested besides processors."""

from __future__ import annotations

from functools import lru_cache

from batsched_py.accounting.records import Extras
from batsched_py.files.csv_text import protect_cell, quote_field
from batsched_py.support.terminal_text import one_line

_COLUMNS = Extras._fields[: Extras._fields.index("ended_by") + 1]
HEADER = ",".join(("job", *_COLUMNS)) + "\n"


def make_line(number: int, extras: Extras) -> str:
    """Return the row of the job with this ``number`` in the log; an empty cell is unknown.

    Chunks are there only if its nodes held different amounts.
    """
    if extras.chunks and "+" not in extras.chunks:
        extras = extras._replace(chunks="")
    cells = (number, *extras[: len(_COLUMNS)])
    texts = [_quote(cell) if isinstance(cell, str) else str(cell) for cell in cells]
    return ",".join("" if text == "-1" else text for text in texts) + "\n"


@lru_cache(1024)
def _quote(text: str) -> str:
    return quote_field(protect_cell(one_line(text)))
