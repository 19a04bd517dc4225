"""Empirical distributions: by hand, learnt and sampled again, and files that are wrong."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import InputError, UsageError
from batsched_users.behaviour.empirical_distributions import (
    About,
    Probabilities,
    Quantiles,
    ks_distance,
    learn_quantiles,
    learn_shares,
    read_distribution,
    write_distribution,
)

ABOUT = About(name="waits", unit="seconds", description="made up", sources=("a", "b"), remarks="r")


def test_quantiles_lie_on_straight_lines() -> None:
    """Half of the values are from 0 to 10, half from 10 to 40; the mean is 0.5 * 5 + 0.5 * 25."""
    waits = Quantiles(ABOUT, ((0, 0), (0.5, 10), (1, 40)))
    assert [waits.quantile(p) for p in (0, 0.25, 0.5, 0.75, 1)] == [0, 5, 10, 25, 40]
    shares = [waits.share_below(v) for v in (-1, 0, 5, 10, 25, 40, 41)]
    assert shares == [0, 0, 0.25, 0.5, 0.75, 1, 1]
    assert waits.mean == 15


def test_sampling_at_least_a_value() -> None:
    """Of a uniform time from 0 to 100, those from 80 on are uniform from 80 to 100."""
    waits = Quantiles(ABOUT, ((0, 0), (1, 100)))
    random = Random(3)
    drawn = [waits.sample(random, least=80) for _ in range(20_000)]
    assert min(drawn) >= 80
    assert np.mean(drawn) == pytest.approx(90, abs=0.2)
    assert np.std(drawn) == pytest.approx(20 / 12**0.5, abs=0.1)
    assert waits.sample(random, least=120) == 120  # there is none: the bound itself
    lateness = Quantiles(ABOUT, ((0, -10), (1, 10)))
    assert np.mean([lateness.sample(random) for _ in drawn]) == pytest.approx(0, abs=0.2)
    assert np.mean([lateness.sample(random, least=0) for _ in drawn]) == pytest.approx(5, abs=0.1)


def test_a_table_by_hand() -> None:
    """1 with 50 %, 4 with 30 %, 8 with 20 %."""
    widths = Probabilities(ABOUT, ((1, 0.5), (4, 0.3), (8, 0.2)))
    assert [widths.quantile(p) for p in (0, 0.5, 0.51, 0.8, 0.81, 1)] == [1, 1, 4, 4, 8, 8]
    assert widths.mean == pytest.approx(3.3)
    assert widths.truncate(7).pairs == ((1, 0.625), (4, pytest.approx(0.375)))
    with pytest.raises(UsageError, match="up to 0"):
        widths.truncate(0)
    random = Random(1)
    drawn = [widths.sample(random) for _ in range(20_000)]
    assert [drawn.count(v) / 20_000 for v in (1, 4, 8)] == pytest.approx([0.5, 0.3, 0.2], abs=0.01)


def test_times_up_to_a_value() -> None:
    """Half of the values are up to 10; of those, half are up to 5."""
    waits = Quantiles(ABOUT, ((0, 2), (0.5, 10), (1, 40)))
    assert waits.truncate(10).pairs == ((0, 2), (1, 10))
    assert waits.truncate(25).pairs == ((0, 2), (pytest.approx(2 / 3), 10), (1, 25))
    assert waits.truncate(2).quantile(1) == 2
    assert waits.truncate(99) is waits
    with pytest.raises(UsageError, match="up to 1"):
        waits.truncate(1)


@given(
    st.lists(st.integers(0, 1000), min_size=5, max_size=40, unique=True),
    st.lists(st.integers(1, 999), min_size=1, max_size=3, unique=True),
    st.integers(0, 100),
)
def test_equal_parts_keep_proportions(values: list[int], borders: list[int], at: int) -> None:
    """Each part has its share, and the quantiles of a part are those that it had."""
    waits = learn_quantiles([0, *values, 1000], ABOUT)
    ends = sorted(borders)
    shares = [0.0, *map(waits.share_below, ends), 1.0]
    if not all(low < high for low, high in pairwise(shares)):
        with pytest.raises(UsageError):
            waits.balance_parts(*ends)
        return
    alike = waits.balance_parts(*ends)
    n = len(ends) + 1
    assert [alike.share_below(end) for end in ends] == pytest.approx([k / n for k in range(1, n)])
    for part, (low, high) in enumerate(pairwise(shares)):
        inside = 0.01 + 0.98 * at / 100
        own = waits.quantile(low + inside * (high - low))
        assert alike.quantile((part + inside) / n) == pytest.approx(own, rel=1e-6, abs=1e-6)


def test_distances_by_hand() -> None:
    """Half of the values are 10, where a uniform time from 0 to 40 has a quarter below.

    In a table, one of four is missing; and where all times are the same, so must the values be.
    """
    uniform = Quantiles(ABOUT, ((0, 0), (1, 40)))
    assert ks_distance([10, 10, 30, 40], uniform) == pytest.approx(0.25)
    widths = Probabilities(ABOUT, ((1, 0.5), (4, 0.25), (8, 0.25)))
    assert ks_distance([1, 1, 4, 8], widths) == 0
    assert ks_distance([1, 1, 1, 8], widths) == pytest.approx(0.25)
    assert ks_distance([2], widths) == pytest.approx(0.5)
    constant = Quantiles(ABOUT, ((0, 7), (1, 7)))
    assert ks_distance([7, 7], constant) == 0
    assert ks_distance([7, 8], constant) == pytest.approx(0.5)
    with pytest.raises(UsageError, match="no values"):
        ks_distance([], constant)


def test_weights_count() -> None:
    """A value with weight 3 is as good as three values."""
    assert learn_shares([5, 2], ABOUT, [3, 1]).pairs == ((2, 0.25), (5, 0.75))
    weighted = learn_quantiles([5, 2], ABOUT, [3, 1])
    assert weighted.pairs == learn_quantiles([5, 5, 5, 2], ABOUT).pairs
    assert weighted.about.observations == 2


LOGNORMAL = np.random.default_rng(5).lognormal(4.0, 2.5, 100_000)  # mean 1200, median 55


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.floats(0, 1))
def test_below_undoes_quantile(values: list[int], probability: float) -> None:
    """On a rising line exactly; on a flat one it is where that begins."""
    learnt = learn_quantiles(values, ABOUT)
    value = learnt.quantile(probability)
    assert learnt.share_below(value) <= probability + 1e-9
    assert learnt.quantile(learnt.share_below(value)) == pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "distribution", [learn_quantiles(LOGNORMAL, ABOUT), learn_shares([1, 1, 3, 2.5], ABOUT)]
)
def test_files_keep_everything(tmp_path: Path, distribution: Quantiles | Probabilities) -> None:
    """What is read is what was written; the file is a JSON object that others can read."""
    path = tmp_path / "new" / "waits.json"
    write_distribution(path, distribution)
    read = read_distribution(path)
    assert type(read) is type(distribution)
    assert read.about == distribution.about
    assert read.pairs == distribution.pairs
    assert json.loads(path.read_text())["sources"] == ["a", "b"]


HEAD = '{"name": "n", "unit": "s"'
DESCRIBED = ', "description": ""'


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("}", "`description`"),
        (DESCRIBED + "}", "quantiles or probabilities"),
        (DESCRIBED + ', "quantiles": [[0, 1]]}', "from 0 to 0"),
        (DESCRIBED + ', "quantiles": [[0, 1], [0, 2], [1, 2]]}', r"\[0.0, 2.0\] follows"),
        (DESCRIBED + ', "quantiles": [[0, 2], [1, 1]]}', "do not ascend"),
        (DESCRIBED + ', "probabilities": [[1, 0.5]]}', "sum 0.5"),
        (DESCRIBED + ', "probabilities": [[1, 1.5], [2, -0.5]]}', "numbers >= 0"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, rest: str, message: str) -> None:
    path = tmp_path / "waits.json"
    path.write_text(HEAD + rest)
    with pytest.raises(InputError, match=message) as caught:
        read_distribution(path)
    assert str(path) in str(caught.value)


def test_no_file_and_no_values() -> None:
    with pytest.raises(UsageError, match=r"nowhere\.json"):
        read_distribution("nowhere.json")
    for learn in (learn_quantiles, learn_shares):
        with pytest.raises(UsageError, match="no values"):
            learn([], ABOUT)
