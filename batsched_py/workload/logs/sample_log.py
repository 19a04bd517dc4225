"""The synthetic log that comes with the package.

The file is the compressed output of the generator, ``platforms/sample_log.py``.
"""

from __future__ import annotations

from pathlib import Path

from batsched_py.files.readers import read_bytes, unpack

SAMPLE_LOG = Path(__file__).with_name("sample-v1.swf.gz")  # with the version of the generator
SEED, DAYS = 1, 60
"""Of that log."""


def sample_log(seed: int = SEED, days: int = DAYS) -> bytes:
    """Return the content of the synthetic sample log, generated unless the installed one fits.

    ``days`` is the time during which jobs are submitted. Raises :class:`UsageError` for less
    than one day.
    """
    if (seed, days) == (SEED, DAYS):
        return unpack(read_bytes(SAMPLE_LOG), SAMPLE_LOG)
    from batsched_py.plugins.plugin_files import load_file
    from batsched_py.support.installation import platforms_folder

    generate = load_file(f"{platforms_folder() / 'sample_log.py'}:generate_sample_log")
    return "".join(f"{line}\n" for line in generate(seed, days)).encode("ascii")
