"""Measure the rows of docs/validation/performance.md: see benchmarks/README.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import campaign_rows  # noqa: F401
import environment_rows  # noqa: F401
import history
import loop_rows  # noqa: F401
import planning_rows  # noqa: F401
import process_rows  # noqa: F401
import site_rows  # noqa: F401
import socket_rows  # noqa: F401
from measuring import ROWS, Bench, Measured, Row, SkippedError


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", help="names of rows, or how they begin (default: all)")
    parser.add_argument("--quick", action="store_true", help="on the sample log, small sizes")
    parser.add_argument("--rounds", type=int, help="measure each row this often")
    parser.add_argument("--list", action="store_true", help="list the rows")
    parser.add_argument("--check", action="store_true", help="fail if a row became slower")
    parser.add_argument("--keep", metavar="FILE", type=Path, help="add the run to this history")
    parser.add_argument("--version", help="name of the measured version (default: commit)")
    parser.add_argument("--page", type=Path, help="write the table into this page")
    parser.add_argument("--table", action="store_true", help="show the table of the history")
    parser.add_argument("--where", action="store_true", help="show the time of each module per job")
    parser.add_argument("--figures", type=Path, help="draw how times grow, into this folder")
    return parser.parse_args()


def choose_rows(names: list[str]) -> list[Row]:
    """Return the rows that are asked for."""
    unknown = [name for name in names if not any(row.startswith(name) for row in ROWS)]
    if unknown:
        sys.exit(f"no row {unknown[0]}; rows are {', '.join(ROWS)}")
    return [row for row in ROWS.values() if not names or row.name.startswith(tuple(names))]


def measure_rows(rows: list[Row], bench: Bench) -> dict[str, Measured]:
    """Measure rows and print each."""
    found = {}
    for row in rows:
        try:
            one = found[row.name] = row.measure(bench)
        except SkippedError as reason:
            print(f"{row.name:22} skipped: {reason}", flush=True)
        else:
            aim = "" if row.wanted is None else f", wanted {row.wanted:.2f}"
            print(
                f"{row.name:22} {one.ratio:8.2f} +- {one.spread:.2f}{aim}  {one.note}", flush=True
            )
    return found


def show_table(runs: list[history.Entry], log: str, page: Path | None) -> None:
    """Write the table into a page and its data next to it, or print the table."""
    if page is None:
        print(history.make_table(runs, log))
    else:
        history.write_table(page, runs, log)


def main() -> int:
    asked = parse_arguments()
    if asked.list:
        print("\n".join(f"{row.name:22} {row.what}" for row in ROWS.values()))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), asked.rounds or (2 if asked.quick else 5), quick=asked.quick)
        if asked.figures:
            import scaling

            scaling.draw(bench, asked.figures)
            return 0
        if asked.table:
            runs = history.read_entries()
            show_table(runs, runs[-1].log, asked.page)
            return 0
        if asked.where:
            import where

            print(where.where(bench))
            return 0
        print(f"on {bench.log.name}, {bench.yardstick:.2f} us a job in the floor's loop")
        found = measure_rows(choose_rows(asked.rows), bench)
    runs = history.read_entries(asked.keep or history.FILE)
    became_slower = history.list_slower(found, runs, bench.log.name)
    print("\n".join(became_slower))
    if asked.keep:
        run = history.make_entry(bench, found, asked.version)
        history.add_entry(run, asked.keep)
        runs.append(run)
    if asked.page:
        show_table(runs, bench.log.name, asked.page)
    return 1 if asked.check and became_slower else 0


if __name__ == "__main__":
    sys.exit(main())
