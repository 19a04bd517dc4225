"""The campaign files of all studies, and the page of all their claims."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.campaign.collection import read_collection
from batsched_py.errors import UsageError
from batsched_py.files.readers import read_toml
from batsched_py.report import Verdict
from batsched_py.report.campaign_report import make_campaign_report
from batsched_studies.claims.packed_results import PackedResults, encode, join, pack, read
from batsched_studies.claims.page import (
    AT_SIZE,
    FAILURES,
    PAGE,
    TEXT,
    describe_failures,
    judge_packed,
    judge_results,
    list_campaigns,
    make_page,
    merge_verdicts,
    read_kept,
    write_long_table,
)
from helpers.calling import command
from helpers.campaigns import in_this_process
from helpers.made_up_campaign import STUDIES as FOLDER
from helpers.made_up_campaign import MadeUpCampaign

STUDIES = sorted({path.parent.name for path in FOLDER.glob("*/campaign.toml")} - {"claims"})
CAMPAIGN = re.compile(r"^(\[run\]|extends)", re.MULTILINE)
FILES = {
    study: [
        path
        for path in sorted((FOLDER / study).glob("*.toml"))
        if CAMPAIGN.search(path.read_text())
    ]
    for study in STUDIES
}


@pytest.mark.parametrize("study", STUDIES)
def test_campaign_files_expand_to_different_runs(study: str) -> None:
    """Replications have the same seed in all runs, another one than each other."""
    for path in FILES[study]:
        runs = read_campaign(path).runs
        assert read_campaign(path, quick=True).runs
        assert len({tuple(run.labels.items()) for run in runs}) == len(runs), path
        seeds: dict[Any, set[int]] = {}
        for run in runs:
            if "replication" in run.labels:
                seeds.setdefault(run.labels["replication"], set()).add(run.settings.seed)
        assert all(len(equal) == 1 for equal in seeds.values()), path
        assert len(set().union(*seeds.values())) == len(seeds), path


@pytest.mark.parametrize("study", [of for of in STUDIES if (FOLDER / of / "report.py").exists()])
def test_a_campaign_that_has_just_begun_shows_that_nothing_is_known(study: str) -> None:
    module = importlib.import_module(f"batsched_studies.{study}.report")
    made = module.report(MadeUpCampaign([], study))
    assert not made.figures
    assert not any(verdict.holds for verdict in made.verdicts)


PART = """
from batsched_py.report import Report, Verdict


def report(results):
    claims = [Verdict("It holds", True, "seen"), Verdict("It does not", False, "seen")]
    return Report("A study", "nobody", (), tuple(claims), "Done.")
"""


def test_no_claim_holds_on_a_part_of_the_runs_of_a_study(tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (study / "report.py").write_text(PART)
    (study / "campaign.toml").write_text(
        'report = "report.py:report"\n[run]\nfirst = 20\nscheduler = ["easy", "fcfs"]\n'
    )
    for text, answers in {"": [True, False], 'scheduler = "easy"\n': [None, False]}.items():
        path = tmp_path / "ours.toml"
        path.write_text(f'extends = "{study}"\nname = "ours"\n[run]\n{text}')
        with in_this_process():
            called = command(tmp_path, "campaign", path, "-e", "out")
        assert called.returncode == 0, called.stderr
        made = make_campaign_report(open_results(tmp_path / "out"), f"{study / 'report.py'}:report")
        assert [verdict.holds for verdict in made.verdicts] == answers


# The page of all claims --------------------------------------------------------------------------


def test_the_page_has_what_is_there_and_names_what_is_not(tmp_path: Path) -> None:
    """Not judged: creasy; without a claim: creasy/generated; of the limits a run is missing."""
    ran = ("reservations/limits", "creasy/generated")
    for name, repeats in zip(ran, (["--replications", "2"], []), strict=True):
        options = ("--quick", "--no-report", "-e", name.replace("/", "_"), *repeats)
        with in_this_process():
            done = command(tmp_path, "campaign", name, *options)
        assert done.returncode == 0, done.stderr
    (tmp_path / "some.toml").write_text(f"campaigns = {[*ran, 'creasy']}\n")
    folder, file = tmp_path, str(tmp_path / "some.toml")
    next((folder / "reservations_limits/runs").glob("*/out_run.json")).unlink()
    judged = judge_results(folder, file, folder / "packed")
    campaigns = list_campaigns(judged, file)
    page = make_page(campaigns)
    assert "| creasy | not judged yet |" in page
    assert re.search(r"\| reservations/limits \| \d+ of \d+ runs \|", page)
    assert "| all | " in page
    write_long_table(campaigns, tmp_path / "claims.html")
    assert "batsched-py campaign reservations/limits" in (tmp_path / "claims.html").read_text()
    (table,) = (tmp_path / "claims_files").glob("claims_reservations_limits.csv")
    assert re.search(r",. (holds|does not hold|inconclusive),", table.read_text())
    assert judge_packed(file, folder / "packed") == judged
    with pytest.raises(UsageError, match="no campaign of"):
        judge_results(tmp_path / "none")


def test_packed_parts_of_a_campaign_are_joined(tmp_path: Path) -> None:
    """Two shards, each with the other's runs missing, are the whole campaign."""
    file = find_campaign("impatience")
    parts = []
    for part in ("1/2", "2/2", None):
        folder = tmp_path / f"part {part}".replace("/", " of ")
        shard = () if part is None else ("--shard", part)
        with in_this_process():
            options = ("--quick", "--no-report", "-e", str(folder), *shard)
            done = command(tmp_path, "campaign", "impatience", *options)
        assert done.returncode == 0, done.stderr
        results = open_results(folder)
        results.derive("numbers", lambda results: results.runs[["nb_jobs"]])
        (tmp_path / "packed").write_bytes(encode(pack(results, file.parent)))
        parts.append(read(tmp_path / "packed"))
    one, other, whole = parts
    assert 0 < len(one.finished) < len(whole.finished) == len(whole.stored.runs)
    joined = join(one, other)
    assert {folder: run.metrics for folder, run in joined.finished.items()} == {
        folder: run.metrics for folder, run in whole.finished.items()
    }
    assert join(whole, one) == whole
    there = PackedResults(whole, tmp_path)
    made, same = (
        make_campaign_report(of, f"{file.parent / 'report.py'}:report") for of in (there, results)
    )
    assert made.verdicts == same.verdicts
    stored = there.derive("numbers", pytest.fail)  # computed where the jobs were
    assert stored["nb_jobs"].to_list() == results.runs["nb_jobs"].to_list()


def test_the_campaigns_at_size_are_of_all_studies_and_in_no_small_size() -> None:
    collection = read_collection(find_campaign(AT_SIZE))
    assert collection is not None
    studies = {path.parent.name for path in collection.campaigns.values()}
    shipped = {path.parent.name for path in TEXT.parents[1].glob("*/published.toml")}
    # three have pages of their own, and the last one claims nothing
    pages = {"semi_open", "user_models", "rlscheduler", "site"}
    assert studies == shipped - pages
    worlds = {"league"}  # made from the sample log, of which it is known what is right
    for member, path in collection.campaigns.items():
        logs = {run.settings.log for run in read_campaign(path).runs}
        assert "sample" not in logs or member.logs or member.label in worlds


def test_what_is_kept_is_replaced_by_no_fewer_runs() -> None:
    """Verdicts of more runs stay; those of as many, or of fewer, give way to new ones."""
    of = next(iter(read_kept().values()))
    name, anew = of.name, {of.name: of}
    other = replace(of, name="other")
    for nb_runs, taken in ((of.nb_runs + 1, False), (of.nb_runs, True), (0, True)):
        before = {"other": other, name: replace(of, nb_runs=nb_runs, title="before")}
        told = merge_verdicts(before, anew)
        assert list(told) == list(before)
        assert told["other"] is other
        assert told[name] is (of if taken else before[name])
    assert merge_verdicts({}, anew) == anew


def test_the_page_of_the_documentation_is_of_what_is_kept() -> None:
    assert PAGE.read_text(encoding="utf-8") == make_page(list_campaigns(read_kept())), (
        "write it with: make claims"
    )


def test_a_failure_of_the_page_that_holds_somewhere_is_an_error() -> None:
    campaigns = list(read_kept().values())
    claim = read_toml(FAILURES)["failure"][0]["claim"]
    holds = replace(campaigns[0], verdicts=(Verdict(claim, True, ""),))
    with pytest.raises(ValueError, match="holds somewhere: With 250 users"):
        list(describe_failures([*campaigns, holds]))


def test_each_failure_of_the_page_is_judged() -> None:
    nb_failures = len(read_toml(FAILURES)["failure"])
    assert len(list(describe_failures(list(read_kept().values())))) == nb_failures
