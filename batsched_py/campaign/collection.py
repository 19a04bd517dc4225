"""Campaign files that name other campaigns: all of these are run, and their claims are one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from batsched_py.campaign.campaign_file import check_head, find_campaign, placed
from batsched_py.errors import CampaignError, CampaignFileError, UsageError
from batsched_py.support.file_readers import is_file, parse_toml, read_text
from batsched_py.support.json_values import did_you_mean

KEYS = ("name", "title", "campaigns")


class Collection(msgspec.Struct):
    """A file of campaigns, read."""

    name: str
    title: str
    campaigns: dict[str, Path]
    """The files, by the names with which each alone is run; in the order of the file."""


def read_collection(path: Path) -> Collection | None:
    """Read a file of campaigns; None if it is a campaign itself.

    ``campaigns`` lists files beside it, or studies that come with the project. Raises
    :class:`CampaignFileError` naming the file and the line.
    """
    text = read_text(path, CampaignFileError)
    content = parse_toml(text, path, CampaignFileError)
    if "campaigns" not in content:
        return None
    try:
        _check(content)
        found = {name: _found(path, name) for name in content["campaigns"]}
    except CampaignError as mistake:
        raise CampaignFileError(placed(path, {str(path): text}, mistake)) from None
    name = content.get("name", path.stem)
    return Collection(name, content.get("title", name), found)


def _check(content: dict[str, Any]) -> None:
    for key in content:
        if key not in KEYS:
            hint = f"{did_you_mean(key, KEYS)}; a file of campaigns has: {', '.join(KEYS)}"
            raise CampaignError((), key, f"there is no key {key!r}{hint}")
    for key in ("name", "title"):
        if key in content:
            check_head(key, content[key])
    named = content["campaigns"]
    if not isinstance(named, list) or not named or not all(isinstance(of, str) for of in named):
        message = f"campaigns = {named!r}: expected a list of campaign files or studies"
        raise CampaignError((), "campaigns", message)
    if len(set(named)) < len(named):
        raise CampaignError((), "campaigns", f"campaigns = {named!r}: one is there twice")


def _found(path: Path, name: str) -> Path:
    beside = path.parent / name
    if is_file(beside):
        return beside
    try:
        return find_campaign(name)
    except UsageError as error:
        raise CampaignError((), "campaigns", f"campaigns: {error}") from None
