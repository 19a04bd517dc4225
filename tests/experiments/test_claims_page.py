"""The page of all claims: from results that are there, and what docs/claims.md is made of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from batsched_py.campaign.campaign_file import find_campaign, read_campaign
from batsched_py.campaign.campaign_folder import open_results
from batsched_py.campaign.collection import Collection, read_collection
from batsched_py.commands.campaign import command_of
from batsched_py.errors import UsageError
from batsched_studies.claims.page import AT_SIZE, PAGE, TEXT, page
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
    made = page(tmp_path, str(file))
    head, _, limits, dynp = made.split("\n## ")
    assert "Not run at this size, or not yet: creasy." in head
    assert "`batsched-py campaign reservations/limits`" in limits
    assert "`batsched-py campaign dynp`" in dynp
    assert re.search(r"\| [✓✗?] (holds|does not hold|cannot be told) \|", limits)


def test_a_campaign_of_which_runs_are_missing_is_told(tmp_path: Path) -> None:
    file = collection_of(tmp_path, "reservations/limits", ran=("reservations/limits",))
    next((tmp_path / "reservations_limits/runs").glob("*/out_run.json")).unlink()
    made = page(tmp_path, str(file))
    assert "Run in part: reservations/limits." in made
    assert re.search(r"\| reservations/limits \|.*\| 14 of 90 \|", made)


def test_a_campaign_without_claims_and_the_revision_of_the_others_are_told(tmp_path: Path) -> None:
    names = ("creasy/generated", "dynp")
    made = page(tmp_path, str(collection_of(tmp_path, *names, ran=names)))
    assert "Without a claim: creasy/generated." in made
    revision = open_results(tmp_path / "dynp").provenance["git_revision"]
    shown = re.search(r"\| dynp \|.*\| ([0-9a-f]+(-dirty)?) \|", made)
    assert (shown and shown[1]) == revision  # None: this is no checkout


def test_there_is_no_page_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no campaign of claims/at_size is there"):
        page(tmp_path)


def test_the_campaigns_at_size_are_of_all_studies_and_in_no_small_size() -> None:
    collection = at_size()
    studies = {path.parent.name for path in collection.campaigns.values()}
    shipped = {path.parent.name for path in TEXT.parents[1].glob("*/published.toml")}
    pages = {"semi_open", "user_models"}  # pages of their own, without campaigns
    assert studies == shipped - pages
    for member, path in collection.campaigns.items():
        assert "sample" not in {run.settings.log for run in read_campaign(path).runs} or member.logs


def test_the_page_of_the_documentation_is_of_these_campaigns_and_this_text() -> None:
    written = PAGE.read_text(encoding="utf-8")
    text = TEXT.read_text(encoding="utf-8").partition(" {{missing}}")[0]
    assert written.startswith(text), "it is made anew by: make claims"
    commands = re.findall(r"Repeat it by `(.*?)`", written)
    assert commands
    known = [command_of(member) for member in at_size().campaigns]
    assert commands == [of for of in known if of in commands]
