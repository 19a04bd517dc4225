"""What the tests of all studies need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from batsched_py.support.statistics import bootstrap, paired_difference, paired_ratio


@pytest.fixture(scope="module", autouse=True)
def few_resamples() -> Iterator[None]:
    """Intervals of made-up runs are as clear from a hundred resamples, and sooner there."""
    with pytest.MonkeyPatch.context() as patch:
        for interval in (bootstrap, paired_ratio, paired_difference):
            patch.setitem(interval.__kwdefaults__, "resamples", 100)
        yield
