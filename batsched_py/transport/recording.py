"""Recorded exchanges: one JSON object a line, with ``n``, ``from`` and ``raw``.

``from`` is ``batsim`` or ``sched``; ``raw`` is the message exactly as it was sent. A message that
is not text, as the first two frames of Batsim 5 may be, has ``hex`` instead.
"""

from __future__ import annotations

from io import FileIO
from pathlib import Path
from typing import Literal

import msgspec

from batsched_py.errors import InputError, OutputError
from batsched_py.files.readers import parse_json, read_bytes
from batsched_py.files.writers import make_folder_of, new_file
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.support.json_values import quote
from batsched_py.transport import Partner
from batsched_py.transport.closing import Closing

Side = Literal["batsim", "sched"]


class Record(msgspec.Struct, rename={"sender": "from"}, omit_defaults=True):
    """One message of an exchange."""

    n: int
    sender: Side
    raw: str = ""
    hex: str = ""

    @property
    def frame(self) -> bytes:
        """The bytes that were sent."""
        return bytes.fromhex(self.hex) if self.hex else self.raw.encode()


class Recorder(Closing):
    """Writes messages to a recording at once, so that a failure loses none."""

    def __init__(self, path: str | Path) -> None:
        """Prepare to write; the file is replaced at the first message.

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
        """Add a message to the recording."""
        try:
            record = Record(self._n, sender, raw.decode())
        except UnicodeDecodeError:
            record = Record(self._n, sender, hex=raw.hex())
        line = msgspec.json.encode(record)
        try:
            if self._file is None:
                self._file = new_file(self._path)
            self._file.write(line + b"\n")
        except OSError as error:
            raise OutputError(f"{self._path} cannot be written: {error.strerror}") from None
        self._n += 1


def record_messages(partner: Partner, recorder: Recorder) -> Partner:
    """Return a partner that replies as ``partner`` does and records all messages.

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
    records = [
        _record(line, f"{path}:{number}")
        for number, line in enumerate(read_bytes(path).splitlines(), start=1)
    ]
    if not records:
        raise InputError(f"{path} has no messages: expected a recorded exchange")
    return records


def _record(line: bytes, where: str) -> Record:
    expected = "an object with n, from (batsim or sched) and raw, as in a recorded exchange"
    record: Record = parse_json(line, Record, where, expected=expected)
    try:
        if record.raw or record.frame:
            return record
    except ValueError:
        raise InputError(f"{where}: hex is {quote(record.hex)}, expected hex digits") from None
    raise InputError(f"{where}: there is neither raw nor hex, expected {expected}")
