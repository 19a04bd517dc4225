"""Times as clocks showed them, where an hour comes twice and where one is left out.

In Paris clocks were put back on 2024-10-27 from 3:00 to 2:00 (1:00 UTC), and put forward on
2024-03-31 from 2:00 to 3:00 (1:00 UTC).
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.accounting.records import MalformedRecordError
from batsched_py.accounting.site_time import SiteClock
from batsched_py.accounting.tally import Tally

TWICE = "jobs have times in an hour that the clock repeated"


def unix(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


@pytest.fixture
def tally() -> Tally:
    return Tally()


@pytest.fixture
def paris(tally: Tally) -> SiteClock:
    return SiteClock("Europe/Paris", tally)


@pytest.mark.parametrize(
    ("text", "instants"),
    [
        *((unknown, ()) for unknown in ("", "Unknown", "None", "N/A")),
        ("2024-10-27T02:30:00", ("2024-10-27T00:30:00", "2024-10-27T01:30:00")),
        ("2024-10-27T03:00:00", ("2024-10-27T02:00:00",)),
        # 2:30 was never shown: clocks that were not put forward showed it as it was 3:30.
        ("2024-03-31T02:30:00", ("2024-03-31T01:30:00",)),
    ],
)
def test_instants(paris: SiteClock, tally: Tally, text: str, instants: tuple[str, ...]) -> None:
    for _ in range(2):
        assert paris.read_instants("End", text) == tuple(map(unix, instants))
    assert list(tally.noted.values()) == [2] * (text == "2024-03-31T02:30:00")


@pytest.mark.parametrize(
    ("submit", "start", "end", "lengths", "expected", "is_one"),
    [
        # 2:50 before 2:10 can only be the first 2:50 and the second 2:10
        ("02:50:00", "02:50:00", "02:10:00", (), ("00:50", "00:50", "01:10"), True),
        # from 2:10 to 2:20 in an hour and ten minutes: the first, and the second
        ("02:10:00", "02:10:00", "02:20:00", (4200,), ("00:10", "00:10", "01:20"), True),
        # in ten minutes: both in the first, or both in the second
        ("02:10:00", "02:10:00", "02:20:00", (600,), ("00:10", "00:10", "00:20"), False),
        # submitted at 1:50, ended at 3:10: of the start nothing more is known
        ("01:50:00", "02:10:00", "03:10:00", (), ("23:50", "00:10", "02:10"), False),
        # but that it ran for an hour
        ("01:50:00", "02:10:00", "03:10:00", (3600,), ("23:50", "01:10", "02:10"), True),
    ],
)
def test_order_and_length_tell_which_hour_it_was(
    paris: SiteClock,
    tally: Tally,
    submit: str,
    start: str,
    end: str,
    lengths: tuple[int, ...],
    expected: tuple[str, ...],
    is_one: bool,
) -> None:
    times = [paris.read_instants("x", f"2024-10-27T{text}") for text in (submit, start, end)]
    found = paris.put_in_order(*times, lengths)
    assert found == tuple(
        unix(f"2024-10-{26 if text > '12' else 27}T{text}:00") for text in expected
    )
    (note,) = tally.noted
    assert note.startswith(TWICE)
    assert note.endswith("the first") == (not is_one)


def test_unknown_times_are_in_no_order(paris: SiteClock, tally: Tally) -> None:
    assert paris.put_in_order((5,), (), ()) == (5, -1, -1)
    assert paris.put_in_order((5, 9), (), (7,)) == (5, -1, 7)
    assert [note.split(":")[0] for note in tally.noted] == [TWICE]


@pytest.mark.parametrize(
    "text",
    [
        *("2024-13-01T00:00:00", "2024-01-01T24:00:00", "2024-01-01T00:60:00", "2024-01-01"),
        *("1709287200.5", "99999999999", "0", "-5", "noon", "2024-01-01T00:00:00+99"),
        *("9999-12-31T23:59:59", "1989-12-31T22:00:00"),
        "\u0662\u0660\u0662\u0664-01-01T00:00:00",
    ],
)
def test_what_is_no_time_is_refused(paris: SiteClock, text: str) -> None:
    paris.read_instants("Start", "2024-01-01T00:00:00")
    with pytest.raises(MalformedRecordError):
        paris.read_instants("Start", text)


@given(
    moment=st.integers(631_152_000, 4_000_000_000),
    zone=st.sampled_from(["Europe/Paris", "America/St_Johns", "Australia/Lord_Howe", "UTC"]),
)
def test_what_a_clock_shows_is_read_back(moment: int, zone: str) -> None:
    """All instants at which it shows that, whatever was looked up before."""
    clock = SiteClock(zone, Tally())
    for shift in (0, 1800, 0):
        shown = datetime.fromtimestamp(moment + shift, ZoneInfo(zone))
        around = [moment + shift + 1800 * steps for steps in range(-4, 5)]
        same = [t for t in around if datetime.fromtimestamp(t, ZoneInfo(zone)) == shown]
        assert clock.read_instants("Start", f"{shown:%Y-%m-%dT%H:%M:%S}") == tuple(same)
        with_offset = clock.read_instants("Start", f"{shown:%Y-%m-%dT%H:%M:%S%z}")
        assert with_offset == (moment + shift,)
