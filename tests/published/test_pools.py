"""The pools of Zakay's thesis (section 3.3), on the logs at hand.

Long-term users come out as printed, also for other versions of a log. With edges of 4 weeks, as
its text says, more temporary users stay than it prints; with 60 days its table comes out on the
logs whose version is the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_studies.user_models.logs import PRINTED
from batsched_studies.user_models.sessions import EDGES, measure_pools


@pytest.mark.parametrize(
    ("log", "same_version"), [("LANL-CM5", True), ("KTH-SP2", True), ("SDSC-SP2", False)]
)
def test_pools(shared: Path, log: str, same_version: bool) -> None:
    users, jobs, *temporary = PRINTED["zakay"]["pools"][log]
    (long_term, of_4_weeks), (_, of_60_days) = (measure_pools(shared, log, w) for w in EDGES)
    if same_version:
        assert long_term == (users, jobs)
        assert of_60_days == tuple(temporary)
    else:  # another version of the log: users are the same, jobs differ by some
        assert long_term[0] == users
        assert long_term[1] == pytest.approx(jobs, rel=0.002)
        assert of_60_days[1] == pytest.approx(temporary[1], rel=0.03)
    assert of_4_weeks[0] > temporary[0]
