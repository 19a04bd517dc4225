"""The rules that switch processors off cost about what batsched's variants cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from batsched_studies.batsched_shutdown.page import DATA, VARIANTS, Numbers, compare, make_page
from batsched_studies.filled_page import DOCS, read_data


@pytest.fixture(scope="module")
def compared(shared: Path) -> dict[str, tuple[Numbers, Numbers]]:
    if not (shared / "power_cases" / "peers").is_dir():
        pytest.skip("no folder power_cases/peers")
    return compare(shared)


def test_energy_is_near(compared):
    """Within 10 %: what differs is which processors are woken, and when; see the page."""
    for peer, here in compared.values():
        assert here.megajoules == pytest.approx(peer.megajoules, rel=0.1)
    without = compared["easy_bf"]
    assert without[1].megajoules == pytest.approx(without[0].megajoules, rel=1e-12)
    assert [each[1:] for each in without] == [(0, 0)] * 2


def test_only_the_first_wake_up_differs_from_one_job_at_a_time(compared):
    peer, here = compared["sleeper"]
    assert peer.wait - here.wait == pytest.approx(151.52, abs=1e-3)


def test_wake_ups_of_jobs_that_batsched_lets_wait(compared):
    """Here jobs wake what they need, so they wait less and switch more."""
    for variant in ("inertial", "proportional", "energy_bf"):
        peer, here = compared[variant]
        assert here.wait < peer.wait / 2
        assert here.switches > peer.switches


def test_processors_that_batsched_wakes_twice(compared):
    """Waiting jobs wake processors again at each event, which costs energy and saves waits."""
    for variant in ("opportunistic", "inertial, T = 0"):
        peer, here = compared[variant]
        assert here.megajoules < peer.megajoules
        assert peer.wait < here.wait < peer.wait + 40


def test_the_page_has_these_numbers(compared):
    page = make_page(compared)
    assert page.text == (DOCS / "validation" / "shutdown.md").read_text()
    assert [[*map(str, row)] for row in page.tables[DATA][1:]] == read_data(DATA)
    assert len(read_data(DATA)) == 2 * len(VARIANTS)
