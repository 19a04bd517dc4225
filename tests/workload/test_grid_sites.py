"""Sites as they are described, and who lives where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.workload.grid_sites import (
    MOST_SITES,
    TABLE_7_1,
    GridSites,
    find_home_number,
    find_home_of_user,
    nb_processors,
    parse_sites,
)


def described(sites: GridSites) -> list[tuple[str, int, float]]:
    return [(site.name, site.size, site.speed) for site in sites]


def test_numbers_names_and_speeds() -> None:
    assert described(parse_sites("2x3,4")) == [("site1", 3, 1), ("site2", 3, 1), ("site3", 4, 1)]
    assert described(parse_sites("west:96, 2x8@0.5,east:128@1.5")) == [
        ("west", 96, 1),
        ("site2", 8, 0.5),
        ("site3", 8, 0.5),
        ("east", 128, 1.5),
    ]
    assert [site.name for site in parse_sites("10x1")][::9] == ["site01", "site10"]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_processors_are_numbered_through(sizes: list[int]) -> None:
    sites = parse_sites(",".join(map(str, sizes)))
    assert [site.size for site in sites] == sizes
    assert nb_processors(sites) == sum(sizes)
    assert sorted(number for site in sites for number in site.processors) == list(
        range(sum(sizes))
    )  # each once
    assert list(sites) == sorted(sites, key=lambda site: site.processors.bounds)


def test_the_grids_of_table_7_1() -> None:
    sizes = {name: [site.size for site in parse_sites(name)] for name in TABLE_7_1}
    assert sizes == {
        "m64": [64] * 4 + [32] * 6 + [8] * 8,
        "m64-8": [64] * 8,
        "m128": [128] * 4,
        "m256": [256] * 2,
        "m256-5": [256, 64, 64, 64, 64],
        "m384": [384, 64, 16, 16, 16, 16],
        "m512": [512],
    }
    assert {sum(grid) for grid in sizes.values()} == {512}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a site"),
        ("m65", "'m65' is not a site"),
        ("4,,4", "'' is not a site"),
        ("a:2x4", "called 'a'"),
        ("0x4", f"1 to {MOST_SITES} sites"),
        ("999x1,2x1", f"1 to {MOST_SITES} sites"),
        ("4,west:0", "west has no"),
        ("4,0", "site2 has no"),
        ("a:4,a:5", "called 'a'"),
        ("4@0", "speed of 0"),
        ("4@1e999", "speed of 1e999"),
        ("4@1.2.3", "speed of 1.2.3"),
    ],
)
def test_what_is_no_description(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_sites(text)
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"sites {text}: ")


def test_homes_by_name() -> None:
    sites = parse_sites("west:6,east:2")
    assert [find_home_number(sites, name, "w0!1") for name in ("west", "east")] == [0, 1]
    for wrong in ("north", "West", 0, None, ["west"]):
        with pytest.raises(UsageError, match=r"job w0!1 "):
            find_home_number(sites, wrong, "w0!1")


def test_users_live_at_sites_in_proportion_to_their_processors() -> None:
    """The same user always at the same site; numbers, as logs have them, spread as names do."""
    sites = parse_sites("96,128,32,256")
    for users in ([str(number) for number in range(4000)], [f"u{n}" for n in range(9000, 13000)]):
        homes = [find_home_of_user(sites, user) for user in users]
        for number, site in enumerate(sites):
            assert homes.count(number) / 4000 == pytest.approx(site.size / 512, abs=0.02)
    assert [find_home_of_user(sites, name) for name in ("1", "44", "ünal", "")] == [3, 3, 1, 0]
