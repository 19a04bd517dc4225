"""The synthetic log that comes with the project, see ``docs/sample-log.md``.

What ships is the compressed output of the generator, ``platforms/sample_log.py``.
"""

from __future__ import annotations

import os
from pathlib import Path

from batsched_py.files.readers import read_bytes, unpack
from batsched_py.files.writers import temporary_place, write_whole

_SHIPPED = Path(__file__).with_name("sample.swf.gz")
_NAME = "sample-v1.swf"  # with the version of the generator
SEED, DAYS = 1, 60
"""Of the log that ships."""


def sample_log(seed: int = SEED, days: int = DAYS) -> bytes:
    """Return a synthetic SWF log: the one that ships, or else what the generator makes.

    ``days`` is the time during which jobs are submitted. Raises :class:`UsageError` for less
    than one day.
    """
    if (seed, days) == (SEED, DAYS):
        return unpack(read_bytes(_SHIPPED), _SHIPPED)
    from batsched_py.plugins.plugin_files import load_file
    from batsched_py.support.installation import platforms_folder

    generate = load_file(f"{platforms_folder() / 'sample_log.py'}:generate_sample_log")
    return "".join(f"{line}\n" for line in generate(seed, days)).encode("ascii")


def cached_sample_log() -> Path:
    """Return the path of the log that ships, decompressed on first use.

    It lies in ``$XDG_CACHE_HOME/batsched_py`` (``~/.cache/batsched_py`` where that is not set),
    or in a new temporary folder if nothing can be written there.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    path = Path(cache).expanduser() / "batsched_py" / _NAME
    if path.is_file():
        return path
    try:
        write_whole(path, sample_log())
    except OSError:
        from tempfile import mkdtemp

        path = Path(mkdtemp(prefix="batsched_py-", dir=temporary_place())) / _NAME
        write_whole(path, sample_log())
    return path
