"""Collections: campaign files that name other campaigns, whose claims are shown on one page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import msgspec

from batsched_py.campaign.campaign_file import check_head, find_campaign, locate_mistake
from batsched_py.errors import CampaignError, CampaignFileError, UsageError
from batsched_py.files.readers import is_file, parse_toml, read_text
from batsched_py.support.json_values import did_you_mean

KEYS = ("name", "title", "campaigns")
FORM = '"FILE" or { campaign = "FILE", log = ["LOG", ...], replications = N }'


class Member(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename={"name": "campaign", "logs": "log"},
):
    """One campaign of a collection of campaigns."""

    name: str
    """The name or path with which it is run alone."""
    logs: tuple[str, ...] = ()
    """Instead of the file's."""
    replications: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Instead of the file's."""

    @property
    def label(self) -> str:
        """The name of the campaign, with the logs and the number of replications."""
        repeated = [] if self.replications is None else [f"{self.replications} replications"]
        return ", ".join((self.name, *self.logs, *repeated))

    @property
    def folder(self) -> str:
        """The name of the campaign's folder, in that of the collection."""
        logs = (Path(log).name for log in self.logs)
        repeated = [] if self.replications is None else [str(self.replications)]
        return "_".join((self.name.removesuffix(".toml").replace("/", "_"), *logs, *repeated))

    def command(self, *, quick: bool = False) -> str:
        """Return the command line that runs this campaign alone."""
        options = [word for log in self.logs for word in ("--log", log)]
        if self.replications is not None:
            options += ["--replications", str(self.replications)]
        return shlex.join(["batsched-py", "campaign", self.name, *options, *["--quick"] * quick])


class Collection(msgspec.Struct):
    """The content of a file that lists several campaigns."""

    name: str
    title: str
    campaigns: dict[Member, Path]
    """The files, in the order of this one."""


def read_collection(path: Path) -> Collection | None:
    """Read a file that lists campaigns; None if it is a campaign file itself.

    ``campaigns`` lists files in its folder, or studies that come with the project; with logs or
    replications instead of theirs as ``{ campaign = "FILE", log = ["LOG"], replications = 10 }``.

    Raises :class:`CampaignFileError` naming the file and the line.
    """
    text = read_text(path, CampaignFileError)
    content = parse_toml(text, path, CampaignFileError)
    if "campaigns" not in content:
        return None
    try:
        _check(content)
        found = {of: _found(path, of.name) for of in _members(content["campaigns"])}
    except CampaignError as mistake:
        raise CampaignFileError(locate_mistake(path, {str(path): text}, mistake)) from None
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


def _members(named: object) -> list[Member]:
    if not isinstance(named, list) or not named:
        message = f"campaigns = {named!r}: expected a list of campaign files or studies"
        raise CampaignError((), "campaigns", message)
    members = [_read_member(of) for of in named]
    if len({member.folder for member in members}) < len(members):
        raise CampaignError((), "campaigns", f"campaigns = {named!r}: one is listed twice")
    return members


def _read_member(of: object) -> Member:
    try:
        return Member(of) if isinstance(of, str) else msgspec.convert(of, Member)
    except msgspec.ValidationError as error:
        message = f"campaigns: {of!r}: {error}; expected {FORM}"
        raise CampaignError((), "campaigns", message) from None


def _found(path: Path, name: str) -> Path:
    sibling = path.parent / name
    try:
        file = sibling if is_file(sibling) else find_campaign(name)
    except UsageError as error:
        raise CampaignError((), "campaigns", f"campaigns: {error}") from None
    if "campaigns" in parse_toml(read_text(file, CampaignFileError), file, CampaignFileError):
        message = f"campaigns: {name} lists campaigns itself: list its campaigns here instead"
        raise CampaignError((), "campaigns", message)
    return file
