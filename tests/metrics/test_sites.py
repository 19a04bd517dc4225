"""Metrics of sites: of their users, of what is done there, given and taken."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.metrics import METRICS, JobTable, per_site
from batsched_py.metrics.sites import site_work
from batsched_py.workload.grid_sites import parse_sites
from helpers.schedules_by_hand import table_of

#    submission, width, run time; start; home; processors on west, on east
JOBS = [(0, 2, 100), (0, 4, 50), (10, 3, 20), (20, 5, 40), (30, 1, 10)]
STARTS = [0, 0, 100, 120, 130]
HOMES = [0, 1, 0, 1, -1]
PLACES = [(2, 0), (0, 4), (0, 3), (2, 3), (1, 0)]
"""West, of 4: its first job at home, the second in the east. East, of 6: at home, then on both.
Nobody knows who submitted the last, which runs in the west."""


def make_grid(
    table: JobTable, homes: list[int], places: list[tuple[int, ...]], sites: str
) -> JobTable:
    described = parse_sites(sites)
    on_site = np.array(places).reshape(len(homes), len(described))
    return msgspec.structs.replace(table, sites=described, home=np.array(homes), on_site=on_site)


@pytest.fixture
def by_hand() -> JobTable:
    return make_grid(table_of(JOBS, STARTS, 10), HOMES, PLACES, "west:4,east:6@2")


def test_of_each_site_by_hand(by_hand: JobTable) -> None:
    sites = per_site(by_hand)
    assert sites["west"] == {
        "processors": 4,
        "speed": 1,
        "nb_jobs": 2,
        "nb_ran": 2,
        "mean_waiting_time": 45,
        "mean_waiting_time_by_width": 3 * 90 / 5,  # AWWT
        "mean_turnaround_time_by_width": (2 * 100 + 3 * 110) / 5,  # AWRT
        "mean_turnaround_time_by_area": (200 * 100 + 60 * 110) / 260,  # AWRT by RC
        "mean_lateness": 0,
        "work_of_users": 260,
        "work_done": 200 + 2 * 40 + 10,
        "given": 80,
        "taken": 60,
        "balance": 20,
        "utilisation": 290 / (4 * 160),
    }
    east = sites["east"]
    assert (east["given"], east["taken"], east["balance"]) == (60, 80, -20)
    assert (east["work_of_users"], east["work_done"]) == (400, 200 + 60 + 120)
    assert east["mean_waiting_time"] == 50


def test_a_site_without_jobs_has_no_waits(by_hand: JobTable) -> None:
    """Of users of the first site only, and of nothing at all."""
    first = by_hand.select(np.array([0]))
    east = per_site(first)["east"]
    assert (east["nb_jobs"], east["mean_waiting_time"], east["utilisation"]) == (0, None, 0)
    nothing = per_site(by_hand.select(np.array([], dtype=int)))
    assert (nothing["west"]["work_done"], nothing["west"]["utilisation"]) == (0, None)


NB_SITES = 3
ROW = st.tuples(
    st.integers(0, 100),
    st.integers(1, 50),
    st.integers(-1, NB_SITES - 1),
    st.lists(st.integers(0, 4), min_size=NB_SITES, max_size=NB_SITES).filter(any),
)


@given(st.lists(ROW, min_size=1, max_size=12))
def test_work_is_conserved(rows: list[tuple[int, int, int, list[int]]]) -> None:
    jobs = [(0.0, sum(place), float(run)) for _, run, _, place in rows]
    table = table_of(jobs, [start for start, *_ in rows], 4 * NB_SITES)
    homes = [home for *_, home, _ in rows]
    table = make_grid(table, homes, [tuple(place) for *_, place in rows], "3x4")
    work, area = site_work(table), sum(table.area)
    strangers = sum(table.area[np.array(homes) < 0])
    assert sum(work.given) == pytest.approx(sum(work.taken))
    assert sum(work.work_done) == pytest.approx(area)
    assert sum(work.work_of_users) == pytest.approx(area - strangers)
    for site in range(NB_SITES):  # the slow twin
        given = taken = 0
        for _, run, home, place in rows:
            given += place[site] * run if home not in (site, -1) else 0
            taken += (sum(place) - place[site]) * run if home == site else 0
        assert (work.given[site], work.taken[site]) == pytest.approx((given, taken))
    shares = [values["utilisation"] for values in per_site(table).values()]
    assert np.mean(shares) == pytest.approx(utilisation_of(table))


def utilisation_of(table: JobTable) -> float:
    return METRICS["utilisation"].compute(table)
