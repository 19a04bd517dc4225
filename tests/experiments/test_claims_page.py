"""The page of all claims: from results that are there, and what docs/claims.md is made of."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.campaign.collection import Collection, read_collection
from batsched_py.errors import UsageError
from batsched_studies.claims.page import (
    AT_SIZE,
    KEPT,
    PAGE,
    TEXT,
    encode_verdicts,
    judge_results,
    make_page,
    merge_verdicts,
    read_kept,
)
from helpers.calling import command


def at_size() -> Collection:
    collection = read_collection(find_campaign(AT_SIZE))
    assert collection is not None
    return collection


def collection_of(folder: Path, *names: str, ran: tuple[str, ...]) -> Path:
    """Return a file of some campaigns, of which some have been run, in their small size."""
    for name in ran:
        options = ("--quick", "--no-report", "-e", name.replace("/", "_"))
        done = command(folder, "campaign", name, *options)
        assert done.returncode == 0, done.stderr
    file = folder / "some.toml"
    file.write_text(f"campaigns = {list(names)}\n")
    return file


def test_the_page_has_what_is_there_and_names_what_is_not(tmp_path: Path) -> None:
    there = ("reservations/limits", "dynp")
    file = collection_of(tmp_path, "reservations/limits", "creasy", "dynp", ran=there)
    made = make_page(judge_results(tmp_path, str(file)), str(file))
    head, _, limits, dynp = made.split("\n## ")
    assert "Not judged yet: creasy." in head
    assert "`batsched-py campaign reservations/limits`" in limits
    assert "`batsched-py campaign dynp`" in dynp
    assert re.search(r"\| [✓✗?] (holds|does not hold|cannot be told) \|", limits)


def test_a_campaign_of_which_runs_are_missing_is_told(tmp_path: Path) -> None:
    file = collection_of(tmp_path, "reservations/limits", ran=("reservations/limits",))
    next((tmp_path / "reservations_limits/runs").glob("*/out_run.json")).unlink()
    made = make_page(judge_results(tmp_path, str(file)), str(file))
    assert "Run in part: reservations/limits." in made
    assert re.search(r"\| reservations/limits \|.*\| 14 of 90 \|", made)


def test_a_campaign_without_claims_and_the_revision_of_the_others_are_told(tmp_path: Path) -> None:
    names = ("creasy/generated", "dynp")
    file = str(collection_of(tmp_path, *names, ran=names))
    made = make_page(judge_results(tmp_path, file), file)
    assert "Without a claim: creasy/generated." in made
    revision = open_results(tmp_path / "dynp").provenance["git_revision"]
    shown = re.search(r"\| dynp \|.*\| ([0-9a-f]+(-dirty)?) \| \1 \|", made)
    assert (shown and shown[1]) == revision  # None: this is no checkout


def test_there_is_no_page_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no campaign of claims/at_size is there"):
        judge_results(tmp_path)


def test_the_campaigns_at_size_are_of_all_studies_and_in_no_small_size() -> None:
    collection = at_size()
    studies = {path.parent.name for path in collection.campaigns.values()}
    shipped = {path.parent.name for path in TEXT.parents[1].glob("*/published.toml")}
    pages = {"semi_open", "user_models", "site"}  # pages of their own, and one that claims nothing
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


def test_what_is_kept_is_read_as_it_was_written(tmp_path: Path) -> None:
    kept = read_kept()
    (tmp_path / "judged.json").write_bytes(encode_verdicts(kept))
    assert read_kept(tmp_path / "judged.json") == kept
    assert set(kept) <= {member.label for member in at_size().campaigns}
    assert all(kept[m.label].command == m.command() for m in at_size().campaigns if m.label in kept)


def test_results_of_a_folder_replace_what_is_kept_of_them(tmp_path: Path) -> None:
    """A small size is of fewer runs, and does not; where nothing is kept, it is told as in part."""
    collection_of(tmp_path, "creasy/alphas", ran=("creasy/alphas",))
    written, kept = tmp_path / "claims.md", tmp_path / "judged.json"
    call = [sys.executable, "-m", "batsched_studies.claims", "--results", tmp_path]
    call += ["--kept", kept, "--output", written]
    for before, said in (("[]", "judged anew"), (KEPT.read_text(), "as before: here are fewer")):
        kept.write_text(before)
        done = subprocess.run(call, capture_output=True, text=True, check=True)
        assert f"creasy/alphas: 9 runs, {said}" in done.stdout
        assert written.read_text() == make_page(read_kept(kept))
    assert written.read_text() == PAGE.read_text()


def test_the_page_of_the_documentation_is_of_what_is_kept() -> None:
    assert PAGE.read_text(encoding="utf-8") == make_page(read_kept()), (
        "it is made anew by: make claims"
    )
