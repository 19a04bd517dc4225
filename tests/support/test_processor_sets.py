"""Sets of processors: text, intervals, lowest members."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from procset import ProcSet

from batsched_py.errors import ProtocolError
from batsched_py.support import processor_sets as processors

sets = st.sets(st.integers(0, 200))


def mask(members: set[int]) -> int:
    return sum(1 << member for member in members)


@given(sets)
def test_text_round_trip_and_canonical(members: set[int]) -> None:
    if members:
        text = processors.to_text(mask(members))
        assert text == str(ProcSet(*members))
        assert processors.from_text(text) == mask(members)


@given(sets)
def test_procset_round_trip(members: set[int]) -> None:
    assert processors.to_procset(mask(members)) == ProcSet(*members)
    assert processors.from_procset(ProcSet(*members)) == mask(members)


@given(sets, st.data())
def test_lowest_takes_the_smallest(members: set[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(members)))
    assert processors.lowest(mask(members), count) == mask(set(sorted(members)[:count]))


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("0", {0}),
        ("3 1", {1, 3}),
        ("0-1 1", {0, 1}),
        ("0  2-3", {0, 2, 3}),
    ],
)
def test_reads_what_batsim_reads(text: str, members: set[int]) -> None:
    assert processors.from_text(text) == mask(members)


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), min_size=1, max_size=30))
def test_many_intervals_are_put_together_otherwise(pairs: list[tuple[int, int]]) -> None:
    text = " ".join(f"{first}-{first + more}" for first, more in pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processors, "_FEW", 0)
        assert processors.from_text(text) == mask(
            {at for first, more in pairs for at in range(first, first + more + 1)}
        )


def test_many_intervals_take_no_time() -> None:
    """Each added to a set of ten million would take minutes."""
    text = "0-9999999 " * 100_000 + "9999999"
    begin = perf_counter()
    assert processors.from_text(text).bit_count() == 10_000_000
    assert perf_counter() - begin < 10


@pytest.mark.parametrize("text", ["", " 0", "0 ", "0,1", "3-1", "-1", "a", "0-", "[0]", "0.5"])
def test_refuses_the_rest_and_quotes_it(text: str) -> None:
    with pytest.raises(ProtocolError, match=r"expected|reversed"):
        processors.from_text(text)
