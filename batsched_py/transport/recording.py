"""Recorded exchanges: one JSON object a line, with ``n``, ``from`` and ``raw``.

``from`` is ``batsim`` or ``sched``; ``raw`` is the message exactly as it was sent.
"""

from __future__ import annotations

from io import FileIO
from pathlib import Path
from typing import Literal

import msgspec

from batsched_py.errors import InputError, OutputError
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.support.atomic_files import make_folder_of, new_file
from batsched_py.support.file_readers import parse_json, read_bytes
from batsched_py.transport import Partner
from batsched_py.transport.closing import Closing

Side = Literal["batsim", "sched"]


class Record(msgspec.Struct, rename={"sender": "from"}):
    """One message of an exchange."""

    n: int
    sender: Side
    raw: str


class Recorder(Closing):
    """Writes an exchange as it goes on, so that a failure leaves all that was said before it."""

    def __init__(self, path: str | Path) -> None:
        """Prepare to write; the file is begun anew with the first message.

        Raises :class:`OutputError` if its folder cannot be had.
        """
        make_folder_of(path)
        self._path = Path(path)
        self._file: FileIO | None = None
        self._n = 0

    def close(self) -> None:
        """Close the file, if it was begun."""
        if self._file is not None:
            self._file.close()

    def add(self, sender: Side, raw: bytes) -> None:
        """Add a message; bytes that are no text are replaced."""
        line = msgspec.json.encode(Record(self._n, sender, raw.decode(errors="replace")))
        try:
            if self._file is None:
                self._file = new_file(self._path)
            self._file.write(line + b"\n")
        except OSError as error:
            raise OutputError(f"{self._path} cannot be written: {error.strerror}") from None
        self._n += 1


def recorded(partner: Partner, recorder: Recorder) -> Partner:
    """Return a partner that answers as ``partner`` does, and notes what is said.

    Times are written with all digits, so that the exchange can be replayed exactly.
    """

    def answer(message: m.Message) -> m.Message:
        recorder.add("batsim", codec.encode_events(message, exact=True))
        reply = partner(message)
        recorder.add("sched", codec.encode_decisions(reply))
        return reply

    return answer


def read_exchange(path: str | Path) -> list[Record]:
    """Read a recorded exchange; raises :class:`InputError` naming file and line."""
    expected = "an object with n, from (batsim or sched) and raw, as in a recorded exchange"
    records = [
        parse_json(line, Record, f"{path}:{number}", expected=expected)
        for number, line in enumerate(read_bytes(path).splitlines(), start=1)
    ]
    if not records:
        raise InputError(f"{path}: there is no message in it")
    return records
