"""Locates the files that a campaign file names, which are relative to its folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.campaign.campaign_file import Campaign
from batsched_py.files.readers import is_file
from batsched_py.run.settings import SETTINGS, Settings
from batsched_py.support.installation import platforms_folder
from batsched_py.workload.grid_sites import is_platform

_OPTIONS = tuple(name for name, field in SETTINGS.items() if field.is_table)


def locate_files(settings: Settings, campaign: Campaign) -> Settings:
    """Return the settings of a run with each file name as a path from the working folder.

    Files are looked for in the folder of the campaign file, then in the working directory, with a
    note of the campaign for each that is taken from there. Platforms may also be among those that
    come with the project. Names of logs, policies and models stay.
    """
    folder = campaign.path.parent
    if folder.resolve() == Path.cwd():
        return settings
    place = partial(_place, campaign, folder)
    found: dict[str, Any] = {}
    for name in ("scheduler", "users"):
        if ".py:" in (value := getattr(settings, name)):
            found[name] = place(value)
    for name in ("platform", "machine"):
        if (value := getattr(settings, name)) is not None:
            found[name] = place(str(value))
    if settings.platform is not None and not is_file(found["platform"]):
        shipped = platforms_folder() / settings.platform
        found["platform"] = str(shipped) if is_file(shipped) else found["platform"]
    if settings.sites is not None and is_platform(settings.sites):
        found["sites"] = place(settings.sites)
    if settings.log not in campaign.given_logs:
        found["log"] = place(settings.log, perhaps=True)
    for name in _OPTIONS:
        options = getattr(settings, name).items()
        found[name] = {
            key: place(value, perhaps=True) if isinstance(value, str) else value
            for key, value in options
        }
    return msgspec.structs.replace(settings, **found)


def _place(campaign: Campaign, folder: Path, text: str, *, perhaps: bool = False) -> str:
    """Return the path from here of the file that ``text`` names, a class in it still behind it.

    What is ``perhaps`` a file stays as it is if there is none.
    """
    file, python, name = text.partition(".py:")
    path = Path(file + python.removesuffix(":"))
    if _is_there(folder / path, text):
        return f"{folder / path}{python and ':'}{name}"
    if _is_there(path, text):
        note = f"{campaign.path}: {path} is not in its folder, but in the working directory"
        if note not in campaign.notes:
            campaign.notes.append(note)
        return text
    return text if perhaps else f"{folder / path}{python and ':'}{name}"


def _is_there(path: Path, text: str) -> bool:
    """Return whether the file, or the folder that the text means, exists."""
    try:
        return path.is_file() or ("/" in text and path.is_dir())
    except (OSError, ValueError):  # a long text is not a path
        return False
