"""The interface of an accounting system for an import, and the lines of its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from batsched_py.accounting.import_options import ImportOptions
from batsched_py.accounting.records import JobRecord, MalformedRecordError
from batsched_py.accounting.site_time import SiteClock
from batsched_py.accounting.tally import Tally
from batsched_py.files.readers import read_lines


class RecordLines:
    """Iterates over the lines of files, in order, without their ends and without empty ones.

    Bytes that are not UTF-8 become escapes, so names stay distinct. ``path`` and ``number`` are
    where the last line is, and ``is_first`` whether it is the first of its file.
    """

    def __init__(self, paths: Sequence[str], tally: Tally) -> None:
        self.paths, self.tally = paths, tally
        self.path = paths[0]
        self.number = 0
        self.is_first = False
        self._file = 1

    def __iter__(self) -> Iterator[str]:
        for file, path in enumerate(self.paths, start=1):
            self._file, self.path, self.number, self.is_first = file, path, 0, True
            for line in read_lines(path):
                self.number += 1
                if text := self._text(line):
                    self.tally.lines += 1
                    yield text
                    self.is_first = False
            if self.is_first and len(self.paths) > 1:
                self.tally.noted["files are empty"] += 1
        self._file = 1

    def leave_out(self, error: MalformedRecordError) -> None:
        """Skip the line read last, or raise :class:`InputError` where bad lines are not allowed."""
        many = f"{self._file}:" if len(self.paths) > 1 else ""
        self.tally.leave_out(self.path, self.number, f"{many}{self.number}", error)

    def _text(self, line: bytes) -> str:
        if not line.endswith(b"\n") and line.strip():
            self.tally.noted["files do not end with a line end: they may be cut off"] += 1
        text = line.rstrip(b"\r\n")
        if b"\0" in text:
            self.tally.lines += 1
            self.leave_out(MalformedRecordError("a zero byte", None, "text"))
            return ""
        return text.decode(errors="backslashreplace")


class AccountingSystem:
    """Iterates over the jobs in the records of an accounting system; other records are counted.

    Raises :class:`InputError` for lines that make no sense, unless they are skipped.
    """

    name: str
    """That of the subcommand."""
    rules: tuple[str, ...]
    """Sentences for the header: what the fields of the log are made of."""
    partitions: str
    """The field of the log that numbers what a machine has as partitions: queue or partition."""
    cores_of_gpu = 0.0
    """Cores that come with a GPU, where jobs may have parts of GPUs; known after the last job."""

    def __init__(self, lines: RecordLines, clock: SiteClock, options: ImportOptions) -> None:
        self._lines, self._clock, self._options = lines, clock, options
        self._tally = lines.tally
        self._noted, self._dropped = lines.tally.noted, lines.tally.dropped

    def __iter__(self) -> Iterator[JobRecord]:
        for text in self._texts():
            try:
                record = self._record(text)
            except MalformedRecordError as error:
                self._lines.leave_out(error)
            else:
                if record is not None:
                    yield record

    def _texts(self) -> Iterable[str]:
        """Return the text of each record."""
        return self._lines

    def _count(self, processors: int, nodes: int) -> int:
        """Return the processors of the log for ``processors`` on ``nodes``; -1 is unknown."""
        if self._options.in_nodes:
            return nodes
        per_node = self._options.cores_per_node
        return nodes * per_node if per_node and nodes > 0 else processors

    def _record(self, text: str) -> JobRecord | None:
        """Return the job of a record, None if it is none."""
        raise NotImplementedError
