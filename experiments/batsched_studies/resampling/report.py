"""The report of the study: figures 8 to 16 of the thesis as tables, figures and verdicts.

Any of the study's campaign files will do: what was not run is left out.
"""

from __future__ import annotations

import pandas as pd

from batsched_py.report import CampaignResults, Part, Report, Table
from batsched_studies.resampling import TEXTS, figures
from batsched_studies.resampling.claims import read, verdicts
from batsched_studies.resampling.loads import FLURRY_METRICS, flurries, sweep
from batsched_studies.resampling.parts import MARGINALS, PARTS, parts
from batsched_studies.resampling.positions import ABOUT, HIGHER, LOWER, QUANTITIES, positions


def report(results: CampaignResults) -> Report:
    """Return the tables, figures and verdicts that the runs of a campaign allow."""
    runs = read(results.runs)
    place, swept, flurry = positions(runs), sweep(runs), flurries(runs)
    part = parts(results, runs)
    sections: dict[str, list[Part | None]] = {
        "The log among its variants": [_positions(place), *figures.histograms(runs, place)],
        "Longer": [_parts(part)],
        "More and fewer users": [_sweep(swept), figures.success(swept), figures.clock(runs)],
        "Flurries": [_flurries(flurry), figures.flurries(flurry)],
    }
    of_claims = verdicts(place, part, swept, flurry)
    return TEXTS.report(sections.items(), of_claims, TEXTS["summary"])


def _positions(place: pd.DataFrame) -> Table | None:
    if place.empty:
        return None
    titles = {quantity.name: quantity.title for quantity in QUANTITIES}
    shown = place.assign(
        what=place["metric"].map(titles),
        **{
            f"{share}_percent": 100 * place[share] for share in ("below", "below_low", "below_high")
        },
        place=place["where"].map(ABOUT),
    )
    marks = [
        (at, "place") for at, at_end in enumerate(place["where"].isin((LOWER, HIGHER))) if at_end
    ]
    return TEXTS.table("positions", shown, marks=marks)


def _parts(part: pd.DataFrame) -> Table | None:
    if part.empty:
        return None
    rows = []
    for (log, name), of_one in part.groupby(["log", "of"], sort=False):
        own = of_one.loc[of_one["part"] == 0, "distance"]
        row = {"log": log, "what": MARGINALS[str(name)], "variants": len(own)}
        row |= {"own": own.median(), "own_most": own.max()}
        for number in PARTS:
            row[f"part_{number}"] = of_one.loc[of_one["part"] == number, "distance"].median()
        rows.append(row)
    return TEXTS.table("parts", rows)


def _sweep(swept: pd.DataFrame) -> Table | None:
    if swept.empty:
        return None
    shares = {
        "stable_percent": "stable",
        "hours_percent": "apart_hours",
        "days_percent": "apart_days",
    }
    return TEXTS.table(
        "sweep", swept.assign(**{name: 100 * swept[share] for name, share in shares.items()})
    )


def _flurries(flurry: pd.DataFrame) -> Table | None:
    if flurry.empty:
        return None
    return TEXTS.table("flurries", flurry.assign(what=flurry["metric"].map(FLURRY_METRICS)))
