"""Claims of several campaigns on one page: how often each holds, by study."""

from __future__ import annotations

from batsched_py.report.collected_claims import Judged, collect_claims
from batsched_py.report.document import Report, Table, Verdict


def of(name: str, title: str, **holds: bool | None) -> Judged:
    """A campaign, and whether each of its claims holds."""
    verdicts = tuple(Verdict(claim, answer, "", effect="1") for claim, answer in holds.items())
    return Judged(name, f"run {name}", 5, 5, title, "A. Author", verdicts)


def rows(report: Report, name: str) -> list[list[object]]:
    (table,) = [
        part for part in report.sections[0].parts if isinstance(part, Table) and part.name == name
    ]
    return table.frame.to_numpy().tolist()


def test_claims_are_counted_by_study_and_by_claim() -> None:
    """Sun holds twice; rain on one log only; snow cannot be told; frost does not hold.

    Studies are called by what is before the colon of their campaigns' titles.
    """
    made = collect_claims(
        "All",
        [
            of("a", "Weather: one log", sun=True, rain=True, snow=None),
            of("b", "Weather: another", sun=True, rain=False, frost=False),
            of("c", "Tides", flood=True),
        ],
    )
    assert rows(made, "studies") == [["Weather", 4, 1, 1, 1, 1], ["Tides", 1, 1, 0, 0, 0]]
    assert rows(made, "claims") == [
        ["Weather", "sun", 2, 0, 0],
        ["Weather", "rain", 1, 1, 0],
        ["Weather", "snow", 0, 0, 1],
        ["Weather", "frost", 0, 1, 0],
        ["Tides", "flood", 1, 0, 0],
    ]
