"""Writing files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write ``content`` (text as UTF-8, line ends as they are) to ``path``, whole or not at all.

    Creates parent folders and replaces an existing file. Raises :class:`OSError`; then nothing
    is left behind and an existing file is as it was.
    """
    with whole_file(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``, which takes its place if the block ends well.

    For writers that want a path (figures, downloads). Creates parent folders. If the block
    raises, the temporary file is removed and ``path`` is as it was.
    """
    path = Path(path)
    if path.exists() and not path.is_file():  # /dev/stdout and the like cannot be replaced
        yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays at the end: some writers choose the format by it.
    part = path.with_name(f".{os.getpid()}.part.{path.name}")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
