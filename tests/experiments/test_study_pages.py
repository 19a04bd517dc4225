"""The pages of studies: their tables have the recorded numbers, and their figures can be drawn."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal

import pytest

from batsched_studies.page_figures import FIGURES, HERE, INFRASTRUCTURES

MOST_WORDS = 900
FROM_REPORTS = {"dynp": "load", "grid_users": "waits", "site": "answer"}
"""The figures that reports draw; the others are drawn from the CSV files of the study."""
Row = dict[str, str]


def numbers(study: str, name: str) -> list[Row]:
    """Return the lines of a CSV file of a study."""
    with (HERE / study / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def page(study: str) -> str:
    return (HERE / study / "README.md").read_text()


def interval(row: Row, name: str, low: str, high: str) -> str:
    return f"{row[name]} ({row[low]} to {row[high]})"


def grouped(value: str) -> str:
    """Return a number with a comma after each thousand."""
    return f"{int(value):,}" if value.isdigit() else value


def rows_of_replay_feedback() -> Iterator[str]:
    usual = {"size": "requested", "events": "instant", "rejection": "at_once"}
    here = {
        (row["infrastructure"], row["replay"]): row
        for row in numbers("replay_feedback", "interpretations")
        if row["log"].startswith("KTH") and usual.items() <= row.items()
    }
    for name in INFRASTRUCTURES:
        cells = [
            "/".join(
                f"{float(here[name, replay][of]):.2f}" for of in (metric, f"{metric}_published")
            )
            for replay, metric in (
                ("rigid", "mean_waiting_time"),
                ("a60", "mean_waiting_time"),
                ("a60", "mean_lateness"),
            )
        ]
        yield f"| {name} | {' | '.join(cells)} |"


def rows_of_dynamic_think_times() -> Iterator[str]:
    cases: dict[str, dict[str, Row]] = {}
    for row in numbers("dynamic_think_times", "medians"):
        if row["think"] == "lin":
            name = f"{row['scheduler'].upper()} {row['nodes']} lin"
            cases.setdefault(name, {})[row["metric"]] = row
    digits = {"workload": ".3f", "AWRT": ",.0f", "ART": ",.0f", "AWT": ",.0f", "ASD": ".0f"}
    for name, metrics in cases.items():
        cells = [
            " / ".join(format(float(metrics[metric][of]), form) for of in ("median", "published"))
            for metric, form in digits.items()
        ]
        yield f"| {name} | {' | '.join(cells)} |"
    for row in numbers("dynamic_think_times", "backfilling"):
        if row["measured"] == "weeks 2 to 9":
            yield f"{row['reading']} {float(row['squares']):.0f}"


def rows_of_creasy() -> Iterator[str]:
    changes: dict[str, list[Row]] = {}
    for row in numbers("creasy", "changes"):
        changes.setdefault(row["quantity"], []).append(row)
    for name in ("throughput", "mean turnaround time", "mean slowdown"):
        yield " | ".join(f"{signed(interval(row, *CHANGE))}" for row in changes[name])
    for run_time in ("up to 1 min", "1 to 10 min", "over 10 min"):
        of_class = changes[f"turnaround time, {run_time}"]
        yield " | ".join(f"{signed(interval(row, *CHANGE))}" for row in of_class)


CHANGE = ("change", "low", "high")


def signed(text: str) -> str:
    return text if text.startswith("-") else f"+{text}"


def rows_of_tbuos_ups() -> Iterator[str]:
    gains = {row["log"]: row for row in numbers("tbuos_ups", "ups")}
    easy, ups = "throughput_easy_to_fcfs", "1_to_easy"
    for row in numbers("tbuos_ups", "logs"):
        of_easy = interval(row, easy, f"{easy}_low", f"{easy}_high")
        of_ups = interval(gains[row["log"]], ups, f"{ups}_low", f"{ups}_high")
        yield f"| {row['log']} ({row['pairs']}) | {of_easy} | {of_ups} |"


def rows_of_resampling() -> Iterator[str]:
    for row in numbers("resampling", "positions"):
        if row["metric"] == "wait (h)":
            share, of_variants = row["below_percent"], interval(row, "median", "low", "high")
            cells = [row["log"], grouped(row["variants"]), row["recorded"], of_variants]
            yield f"| {' | '.join(cells)} | {share if share == '0' else f'{share} %'} |"


def rows_of_league() -> Iterator[str]:
    skills: dict[str, list[str]] = {}
    for row in numbers("league", "skills"):
        if row["case"] == "all logs":
            text = interval(row, "skill", "low", "high")
            is_clear = float(row["low"]) > 0 or float(row["high"]) < 0
            skills.setdefault(row["model"], []).append(f"**{text}**" if is_clear else text)
    for model, cells in skills.items():
        if model not in ("a0", "adjusted"):
            yield f"| `{model}` | {' | '.join(cells)} |"


def rows_of_dynp() -> Iterator[str]:
    gains: dict[str, list[str]] = {}
    for row in numbers("dynp", "gains"):
        if row["factor"] == "average":
            cells = [interval(row, "gain", "low", "high"), row["gain_thesis"]]
            gains.setdefault(row["log"], []).extend(cells)
    for log, cells in gains.items():
        yield f"| {log} | {' | '.join(cells)} |"
    for policy, name in (("FCFS", ""), ("SJF", ""), ("advanced, full", "sorted")):
        of_policy = [
            f"{of_three(row['SLDwA'])} / {of_three(row['SLDwA_thesis'])}"
            for row in numbers("dynp", "single")
            if (row["policy"], row["fcfs_list"]) == (policy, name) and row["log"] != "SDSC"
        ]
        yield f"| {policy} | {' | '.join(of_policy)} |"


def of_three(value: str) -> str:
    """Return a number with three decimals."""
    return str(Decimal(value).quantize(Decimal("0.001"), ROUND_HALF_UP))


def rows_of_grid() -> Iterator[str]:
    cases: dict[str, list[str]] = {}
    for row in numbers("grid", "changes"):
        cases.setdefault(row["case"], []).append(f"{int(float(row['change_percent'])):+d}")
    for case, end in (
        ("m128 against m64-8, overhead over 35 %", " and"),
        ("m256 against m128, overhead over 35 %", " |"),
        ("sharing against local processing", " |"),
        ("m384, adaptive, overhead 300 %, against m512", " |"),
    ):
        *recorded, synthetic = cases[case]
        text = f"{', '.join(recorded)}; {synthetic}{end}"
        yield text.replace("-", "") if case.startswith("sharing") else text


def rows_of_grid_users() -> Iterator[str]:
    for row in numbers("grid_users", "waits"):
        cells = [row["wait_local_h"], row["wait_sharing_h"], interval(row, *CHANGE_PERCENT)]
        cells.append(row["wait_several_h"])
        yield f"| {row['log']}, {row['processors']} | {row['users']} | {' | '.join(cells)} |"


CHANGE_PERCENT = ("change_percent", "low", "high")


def bold_if_clear(row: Row, *names: str) -> str:
    """Return an interval, in bold if it leaves out 0."""
    text = interval(row, *names)
    low, high = (float(row[name]) for name in names[1:])
    return f"**{text}**" if low > 0 or high < 0 else text


def rows_of_reservations() -> Iterator[str]:
    rows = numbers("reservations", "cost")
    for soon, late in zip(rows[::3], rows[2::3], strict=True):
        if soon["policy"].startswith("FCFS") or soon["width_percent"] == "50":
            cells = [bold_if_clear(row, *CHANGE_PERCENT) for row in (soon, late)]
            cells += [row["admitted_percent"] for row in (soon, late)]
            width = "half" if soon["width_percent"] == "50" else "eighth"
            yield f"| {soon['policy']} | {width} | {' | '.join(cells)} |"
    rows = numbers("reservations", "limit_waits")
    for sample, kth in zip(rows[:6], rows[6:], strict=True):
        cells = [bold_if_clear(row, *CHANGE_PERCENT) for row in (sample, kth)]
        cells.append(bold_if_clear(kth, "wide_percent", "wide_low", "wide_high"))
        yield f"| {kth['policy']}, {kth['limits']} | {' | '.join(cells)} |"


def rows_of_sufficiency() -> Iterator[str]:
    for row in numbers("sufficiency", "rebound"):
        if row["log"] == "KTH-SP2" or (row["lever"], row["hours"]) != ("renounce", "red"):
            lost = bold_if_clear(row, "lost_points", "low", "high")
            cells = [row[name] for name in ("hours", "users", "open_save_percent", "saved_percent")]
            yield f"| {' | '.join(cells)} | {lost} |"
    for row in numbers("sufficiency", "work_taken_back"):
        if row["lever"] == "renounce":
            back = bold_if_clear(row, "taken_back_points", "low", "high")
            cells = [row[name] for name in ("users", "to_be_saved_percent", "less_work_percent")]
            yield f"| KTH | {' | '.join(cells)} | {back} |"


def rows_of_impatience() -> Iterator[str]:
    """Each cell has the values of FCFS, EASY and UPS; SP2 only."""
    cases: dict[tuple[str, str], list[Row]] = {}
    for row in numbers("impatience", "cases"):
        if row["log"] == "SDSC-SP2":
            cases.setdefault((row["loop"], row["users"]), []).append(row)
    columns = ("jobs_percent", "requested_percent", "work_percent", "km_wait_h", "served_wait_h")
    for place, policies in cases.items():
        cells = ["/".join(row[name] for row in policies) for name in columns]
        yield f"| {', '.join(place)} | {' | '.join(cells)} |"
    pairs: dict[tuple[str, str], list[str]] = {}
    for row in numbers("impatience", "pairs"):
        is_shown = row["users"] != "resubmitting" and row["policies"] != "UPS - FCFS"
        if row["log"] == "SDSC-SP2" and is_shown:
            cells = pairs.setdefault((row["loop"], row["users"]), [])
            cells.append(bold_if_clear(row, "work_points", "work_low", "work_high"))
            if row["policies"] == "UPS - EASY":
                cells.append(bold_if_clear(row, "km_wait_h", "km_wait_low", "km_wait_high"))
    for place, cells in pairs.items():
        yield f"| {', '.join(place)} | {' | '.join(cells)} |"
    for row in numbers("impatience", "pilot"):
        cells = [f"{row[name]}/{row[f'{name}_pilot']}" for name in PILOT]
        if row["users"] == "impatient" or (row["users"], row["policy"]) == ("patient", "EASY"):
            yield f"| {row['users']}, {row['policy']} | {' | '.join(cells)} |"


PILOT = ("jobs_percent", "requested_percent", "km_wait_h", "served_wait_h", "all_work_percent")


def rows_of_shutdown() -> Iterator[str]:
    """Savings and waits of rigid users, then how users who react differ."""
    for row in numbers("shutdown", "cases"):
        place, end = (row["log"], row["node_factor"]), "" if row["keep"] == "0" else ", reserve"
        shown = ("0", "212", "7200") if place == ("KTH-SP2", "2") else ("212",)
        is_shown = place[1] != "1.5" and (not end or place[1] == "2")
        if row["loop"] == "rigid" and is_shown and row["idle_time"] in shown:
            added = bold_if_clear(row, "added", "added_low", "added_high")
            cells = [row[name] for name in ("saved", "of_possible", "switches_day")]
            cells = [row["idle_time"] + end, *cells, added, row["waking"]]
            yield f"| {' x'.join(place)} | {' | '.join(cells)} |"
    for row in numbers("shutdown", "reacting"):
        place = (row["log"], row["node_factor"])
        if (row["idle_time"], row["keep"]) == ("212", "0") and place[1] != "1.5":
            names = ("saved", "of_idle", "waking")
            found = [bold_if_clear(row, name, f"{name}_low", f"{name}_high") for name in names]
            yield f"| {' x'.join(place)} | {row['loop']} | {' | '.join(found)} |"


def rows_of_other_schedulers() -> Iterator[str]:
    rows: dict[tuple[str, str], list[str]] = {}
    for row in numbers("other_schedulers", "waits"):
        if row["program"] not in ("easy", "fcfs"):
            cells = rows.setdefault((row["program"], row["users"]), [])
            cells.append(bold_if_clear(row, *CHANGE_PERCENT))
    for (program, users), cells in rows.items():
        yield f"| {program} | {users} | {' | '.join(cells)} |"


def rows_of_site() -> Iterator[str]:
    """Bold is another matter here: changes within the error of the replay are not."""
    changes: dict[tuple[str, str], list[str]] = {}
    for row in numbers("site", "changes"):
        if row["log"] == "sample" or row["quantity"] == "wait":
            cells = changes.setdefault((row["log"], row["change"]), [])
            cells.append(interval(row, *CHANGE_PERCENT))
    for (_, change), cells in changes.items():
        if change != "perfect requests":
            yield f"| {change.removesuffix(' (9 h)')} | {' | '.join(cells)} |"


ROWS: dict[str, Callable[[], Iterator[str]]] = {
    "creasy": rows_of_creasy,
    "dynamic_think_times": rows_of_dynamic_think_times,
    "dynp": rows_of_dynp,
    "grid": rows_of_grid,
    "grid_users": rows_of_grid_users,
    "impatience": rows_of_impatience,
    "league": rows_of_league,
    "other_schedulers": rows_of_other_schedulers,
    "replay_feedback": rows_of_replay_feedback,
    "reservations": rows_of_reservations,
    "resampling": rows_of_resampling,
    "shutdown": rows_of_shutdown,
    "site": rows_of_site,
    "sufficiency": rows_of_sufficiency,
    "tbuos_ups": rows_of_tbuos_ups,
}


@pytest.mark.parametrize("study", ROWS)
def test_the_page_has_the_recorded_numbers(study: str) -> None:
    text = page(study)
    if study == "site":
        text = text.replace("**", "")
    rows = list(ROWS[study]())
    assert len(rows) >= 4
    assert [row for row in rows if row not in text] == []


@pytest.mark.parametrize("study", ROWS)
def test_the_page_has_one_figure_and_few_words(study: str) -> None:
    text = page(study)
    assert text.count(f"]({FROM_REPORTS.get(study, 'results')}.png)") == text.count("![") == 1
    assert len(text.split()) <= MOST_WORDS


@pytest.mark.parametrize("study", FIGURES)
def test_the_figure_can_be_drawn(study: str) -> None:
    assert FIGURES[study]().to_dict()
