"""Files of accounts: who has how many shares of the machine.

A TOML file with tables of accounts below the root or each other, and of users in them::

    [[accounts]]
    name = "physics"
    number = 3        # as which it stands in logs, if not by its name
    shares = 40

    [[accounts]]
    name = "optics"
    parent = "physics"
    shares = 30

    [[users]]
    name = "17"
    account = "optics"
    shares = 2        # 1 unless said
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from batsched_py.errors import InputError
from batsched_py.support.file_readers import read_toml
from batsched_py.support.json_values import did_you_mean, is_integer
from batsched_py.support.toml_tables import TomlTable

ROOT = ""
_MOST = 1e12


class Account(msgspec.Struct, frozen=True):
    """An account: ``shares`` are its part of what its parent has, beside its siblings."""

    name: str
    parent: str = ROOT
    shares: float = 1.0
    priority: float = 0.0
    """For the association factor."""
    number: int | None = None


class User(msgspec.Struct, frozen=True):
    """A user in an account (an association, in Slurm's words)."""

    name: str
    account: str
    shares: float = 1.0
    priority: float | None = None
    """None: that of the account."""


class Accounts(msgspec.Struct, frozen=True):
    """What such a file says; parents come before their children."""

    accounts: tuple[Account, ...] = ()
    users: tuple[User, ...] = ()


def read_accounts(path: str | Path) -> Accounts:
    """Read such a file.

    Raises :class:`InputError` for unknown keys, values of the wrong kind, names given twice,
    parents and accounts that are not there, and accounts below themselves.
    """
    top = TomlTable(str(path), read_toml(path), ("accounts", "users"))
    accounts = [_account(table) for table in top.tables("accounts", Account.__struct_fields__)]
    users = [_user(table) for table in top.tables("users", User.__struct_fields__)]
    _check_names(path, accounts, users)
    return Accounts(_parents_first(path, accounts), tuple(users))


def _account(table: TomlTable) -> Account:
    return Account(
        name=_name(table, "name"),
        parent=ROOT if table.get("parent") is None else _name(table, "parent"),
        shares=table.number("shares", 1.0, 0, _MOST) or 0.0,
        priority=table.number("priority", 0.0, 0, _MOST) or 0.0,
        number=table.whole("number", None, least=-1),
    )


def _user(table: TomlTable) -> User:
    return User(
        name=_name(table, "name"),
        account=_name(table, "account"),
        shares=table.number("shares", 1.0, 0, _MOST) or 0.0,
        priority=table.number("priority", None, 0, _MOST),
    )


def _name(table: TomlTable, key: str) -> str:
    value = table.get(key)
    if is_integer(value):  # as users of logs are
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise table.wrong(key, "expected a name or a number")
    return value


def _check_names(path: str | Path, accounts: list[Account], users: list[User]) -> None:
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


def _parents_first(path: str | Path, accounts: list[Account]) -> tuple[Account, ...]:
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
