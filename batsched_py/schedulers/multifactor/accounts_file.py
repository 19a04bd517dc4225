"""Files of accounts, which list the shares of the machine that accounts and users have.

A TOML file with tables of accounts below the root or each other, and of users in them::

    [[accounts]]
    name = "physics"
    number = 3        # its number in logs that do not use the name
    shares = 40

    [[accounts]]
    name = "optics"
    parent = "physics"
    shares = 30

    [[users]]
    name = "17"
    account = "optics"
    shares = 2        # default: 1
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from batsched_py.errors import InputError
from batsched_py.files.readers import read_toml
from batsched_py.options.checked_values import Name, convert
from batsched_py.support.json_values import did_you_mean

ROOT = Name("")


Amount = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class Account(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An account with its shares, which divide the parent's usage among its children."""

    name: Name
    parent: Name = ROOT
    shares: Amount = 1.0
    priority: Amount = 0.0
    """For the association factor."""
    number: Annotated[int, msgspec.Meta(ge=-1)] | None = None


class User(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A user in an account (an association, in Slurm's words)."""

    name: Name
    account: Name
    shares: Amount = 1.0
    priority: Amount | None = None
    """None: that of the account."""


class Accounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of an accounts file; parents come before their children."""

    accounts: tuple[Account, ...] = ()
    users: tuple[User, ...] = ()


def read_accounts(path: str | Path) -> Accounts:
    """Read a file of accounts and their shares.

    Raises :class:`InputError` for unknown keys, values of the wrong kind, names given twice,
    parents and accounts that are not there, and accounts below themselves.
    """
    given = convert(read_toml(path), Accounts, str(path))
    _check_names(path, given.accounts, given.users)
    return Accounts(_parents_first(path, given.accounts), given.users)


def _check_names(path: str | Path, accounts: Sequence[Account], users: Sequence[User]) -> None:
    names: dict[str, str] = {}
    for account in accounts:
        for name in {account.name, *([] if account.number is None else [str(account.number)])}:
            if name in names:
                raise InputError(
                    f"{path}: {name!r} is both account {names[name]!r} and {account.name!r}"
                    if names[name] != account.name
                    else f"{path}: account {name!r} is there twice"
                )
            names[name] = account.name
    known = {account.name for account in accounts}
    for owner, key, name in [
        *((f"account {account.name!r}", "parent", account.parent) for account in accounts),
        *((f"user {user.name!r}", "account", user.account) for user in users),
    ]:
        if name != ROOT and name not in known:
            hint = did_you_mean(name, known)
            raise InputError(f"{path}: the {key} of {owner} is {name!r}{hint}: no such account")
    seen = set()
    for user in users:
        if (user.name, user.account) in seen:
            raise InputError(f"{path}: user {user.name!r} is twice in account {user.account!r}")
        seen.add((user.name, user.account))


def _parents_first(path: str | Path, accounts: Sequence[Account]) -> tuple[Account, ...]:
    """Return the accounts from the root downwards; those of a level as they were given."""
    ordered: list[Account] = []
    placed, rest = {ROOT}, accounts
    while rest:
        level = [account for account in rest if account.parent in placed]
        if not level:
            raise InputError(f"{path}: account {rest[0].name!r} is below itself")
        ordered += level
        placed |= {account.name for account in level}
        rest = [account for account in rest if account.name not in placed]
    return tuple(ordered)
