"""Sets of processors, and pools of them, against Python's sets."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from procset import ProcSet

from batsched_py.errors import InvariantError, ProtocolError
from batsched_py.processors import pool as processor_pool
from batsched_py.processors.bits import BitPool, make_pool
from batsched_py.processors.pool import ProcessorPool
from batsched_py.processors.sets import (
    NO_PROCESSORS,
    ProcessorSet,
    from_procset,
    from_text,
    to_procset,
    to_text,
)

sets = st.sets(st.integers(0, 40))


@given(sets, sets)
def test_as_pythons_sets(a: set[int], b: set[int]) -> None:
    ours, others = ProcessorSet.of(a), ProcessorSet.of(b)
    assert list(ours) == sorted(a)
    assert (len(ours), bool(ours)) == (len(a), bool(a))
    assert [number for number in range(42) if number in ours] == sorted(a)
    assert ours & others == ProcessorSet.of(a & b)
    assert ours | others == ProcessorSet.of(a | b)
    assert ours - others == ProcessorSet.of(a - b)
    assert (ours == others, hash(ours) == hash(others)) == (a == b, a == b)
    assert (ours != others) == (a != b)
    assert [n for low, high in ours.intervals() for n in range(low, high + 1)] == sorted(a)


@pytest.mark.parametrize(("numbers", "error"), [([-1, 2], ValueError), ([0.5], TypeError)])
def test_no_numbers_of_processors(numbers: list[Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        ProcessorSet.of(numbers)


@given(sets, st.data())
def test_lowest_takes_the_smallest(members: set[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(members)))
    lowest = ProcessorSet.of(members).lowest(count)
    assert lowest == ProcessorSet.of(sorted(members)[:count])
    with pytest.raises(ValueError, match="more processors"):
        ProcessorSet.of(members).lowest(len(members) + 1)


@given(sets, st.lists(st.tuples(st.sampled_from(["take", "give back", "lowest"]), sets)))
@pytest.mark.parametrize(
    ("kind", "few"), [(ProcessorPool, 1), (ProcessorPool, processor_pool._FEW), (BitPool, 0)]
)
def test_a_pool_as_a_set(
    kind: type[ProcessorPool], few: int, free: set[int], steps: list[tuple[str, set[int]]]
) -> None:
    """All of some processors go and come, or none; intervals one by one, or many at once."""
    pool = kind(ProcessorSet.of(free))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processor_pool, "_FEW", few)
        for what, some in steps:
            these, count = ProcessorSet.of(some), len(some)
            if what == "take":
                assert pool.take(these) == (some <= free)
                free = free - some if some <= free else free
            elif what == "give back" and free & some:
                with pytest.raises(InvariantError, match="free already"):
                    pool.give_back(these)
            elif what == "give back":
                pool.give_back(these)
                free = free | some
            elif 0 < count <= len(free):
                assert pool.take_lowest(count) == ProcessorSet.of(sorted(free)[:count])
                free = set(sorted(free)[count:])
            else:
                with pytest.raises(InvariantError, match="to be taken"):
                    pool.take_lowest(count)
            assert pool.snapshot() == ProcessorSet.of(free)
            assert len(pool) == len(free)
            assert pool.intersect(these) == ProcessorSet.of(free & some)


@given(sets, st.data())
@pytest.mark.parametrize("kind", [ProcessorPool, BitPool])
def test_what_was_taken_is_a_set_like_others(
    kind: type[ProcessorPool], members: set[int], data: st.DataObject
) -> None:
    """With its bits or without, for any kind of pool."""
    taken = BitPool(ProcessorSet.of({*members, 41})).take_lowest(
        data.draw(st.integers(1, len(members) + 1))
    )
    plain = ProcessorSet.of(taken)
    assert taken.bits == sum(1 << number for number in plain)
    assert (taken, hash(taken), to_text(taken)) == (plain, hash(plain), to_text(plain))
    assert (taken != plain) is False
    for gone, back in ((taken, plain), (plain, taken)):
        pool = kind(ProcessorSet.interval(0, 42))
        assert pool.take(gone)
        assert not pool.take(back)
        pool.give_back(back)
        assert pool.snapshot() == ProcessorSet.interval(0, 42)
        with pytest.raises(InvariantError, match="free already"):
            pool.give_back(gone)


@given(sets)
def test_text_round_trip_and_canonical(members: set[int]) -> None:
    text = to_text(ProcessorSet.of(members))
    assert text == str(ProcSet(*members))
    assert repr(ProcessorSet.of(members)) == f"ProcessorSet({text!r})"
    assert to_procset(ProcessorSet.of(members)) == ProcSet(*members)
    assert from_procset(ProcSet(*members)) == ProcessorSet.of(members)
    if members:
        assert from_text(text) == ProcessorSet.of(members)


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), min_size=1, max_size=30))
def test_intervals_in_any_order(pairs: list[tuple[int, int]]) -> None:
    text = "  ".join(f"{first}-{first + more}" if more else f"{first}" for first, more in pairs)
    assert from_text(text) == ProcessorSet.of(
        at for first, more in pairs for at in range(first, first + more + 1)
    )


def test_a_large_pool_is_no_number_of_many_digits() -> None:
    assert type(make_pool(ProcessorSet.interval(0, 100))) is BitPool
    assert type(make_pool(NO_PROCESSORS)) is BitPool
    assert type(make_pool(ProcessorSet.interval(100_000, 1))) is ProcessorPool


def test_many_intervals_take_no_time() -> None:
    """Nor do many gaps: once they took time by their number squared."""
    begin = process_time()
    assert len(from_text("0-9999999 " * 100_000 + "9999999")) == 10_000_000
    alternating = ProcessorSet.of(range(0, 400_000, 2))
    assert from_text(to_text(alternating)) == alternating
    pool = ProcessorPool(ProcessorSet.interval(0, 400_000))
    assert pool.take(alternating)
    assert pool.take_lowest(150_000).bounds[-1] == 300_000
    assert process_time() - begin < 10


@pytest.mark.parametrize("text", ["", " 0", "0 ", "0,1", "3-1", "-1", "a", "0-"])
def test_refuses_the_rest_and_quotes_it(text: str) -> None:
    with pytest.raises(ProtocolError, match=r"expected|reversed"):
        from_text(text)
