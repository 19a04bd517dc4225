"""The command ``python -m batsched_studies.gpu_site``, which writes the records of a GPU site."""

from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from pathlib import Path

from batsched_py.files.writers import write_whole
from batsched_studies.gpu_site.jobs import POPULATIONS, draw_site, make_nodes, plain_jobs
from batsched_studies.gpu_site.packing import mean_waits, pack
from batsched_studies.gpu_site.records import loads, nodes_toml, sacct_text, schedule


def main(arguments: list[str] | None = None) -> None:
    """Draw a site, schedule it, and write ``sacct.txt`` and ``nodes.toml``; or compare waits."""
    parser = ArgumentParser(
        "python -m batsched_studies.gpu_site", formatter_class=ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="of all random numbers")
    parser.add_argument("--jobs", type=int, default=200_000, help="number of records")
    parser.add_argument("--load", type=float, default=0.8, help="share of GPU-hours or core-hours")
    parser.add_argument("--population", choices=POPULATIONS, default="site", help="of the users")
    parser.add_argument("--output", type=Path, default=Path("out/site"), help="folder")
    parser.add_argument(
        "--compare", action="store_true", help="print mean waits, exact and with whole reservations"
    )
    chosen = parser.parse_args(arguments)
    if chosen.jobs < 1 or not 0 < chosen.load < 2:
        parser.error("expected at least one of --jobs, and a --load above 0 and below 2, as 0.8")
    options = (chosen.seed, chosen.jobs, chosen.load, chosen.population)
    if chosen.compare:
        jobs = plain_jobs(draw_site(*options, plain=True))
        exact, whole = (mean_waits(jobs, pack(jobs, make_nodes(), whole=w)) for w in (False, True))
        for name, wait in exact.items():
            print(f"{name}: {wait / 3600:.2f} h, whole / exact = {whole[name] / wait:.2f}")
        return
    site = draw_site(*options)
    packing = schedule(site)
    write_whole(chosen.output / "sacct.txt", "".join(sacct_text(site, packing)))
    write_whole(chosen.output / "nodes.toml", nodes_toml())
    shares = ", ".join(f"{name} {share:.0%}" for name, share in loads(site, packing).items())
    print(f"wrote {len(site.runs):,} records of {site.span / 86400:.0f} days to {chosen.output}")
    print(f"in use: {shares}")


if __name__ == "__main__":
    main()
