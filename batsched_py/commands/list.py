"""``batsched-py list``: the policies and user models at hand, and the options of each."""

from __future__ import annotations

from textwrap import fill
from typing import Annotated

import typer

from batsched_py.plugins import plugins
from batsched_py.plugins.plugin_descriptions import REPLAY, find_description
from batsched_py.support.terminal_text import one_line, print_pairs

_FLAGS = {plugins.SCHEDULERS: ("--scheduler", "-O"), plugins.USERS: ("--users", "-U")}
_OWN = "Name a class of your own as path/to/file.py:Class."


def list_plugins(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Policy or user model to describe.")
    ] = "",
) -> None:
    """List the policies and user models, or describe one with its options.

    Examples:
        batsched-py list
        batsched-py list easy
        batsched-py list site
    """
    if name:
        show_plugin(_group_of(name), name)
        return
    print("Policies (--scheduler NAME)")
    print_pairs(_described(plugins.SCHEDULERS), indent="  ")
    print("\nUser models (--users NAME)")
    print_pairs(_described(plugins.USERS), indent="  ")
    print(f"\n`batsched-py list NAME` describes one with its options. {_OWN}")


def _group_of(name: str) -> str:
    if name == plugins.RIGID or name in plugins.list_names(plugins.USERS):
        return plugins.USERS
    if not plugins.names_file(name):
        return plugins.SCHEDULERS
    from batsched_py.plugins.plugin_files import load_file

    return plugins.SCHEDULERS if hasattr(load_file(name), "schedule") else plugins.USERS


def list_users() -> None:
    """Print the user models, a line each."""
    print_pairs(_described(plugins.USERS))
    print(f"\n`batsched-py users list NAME` describes one with its options. {_OWN}")


def _described(group: str) -> list[tuple[str, str]]:
    lines = {plugins.RIGID: REPLAY} if group == plugins.USERS else {}
    for name, entry in plugins.list_names(group).items():
        try:
            lines[name] = find_description(entry)
        except (Exception, SystemExit) as error:  # whatever the author's code raises
            lines[name] = f"(cannot be used: {type(error).__name__}: {error})"
    return sorted(lines.items())


def show_plugin(group: str, name: str) -> None:
    """Print what a policy or user model does, and its options."""
    if name == plugins.RIGID and group == plugins.USERS:
        print(REPLAY)
        return
    from batsched_py.plugins.plugin_options import describe_options, describe_plugin

    plugin = plugins.load(group, name)
    use, flag = _FLAGS[group]
    print(f"{use} {name}\n")
    print(describe_plugin(plugin))
    options = describe_options(plugin)
    if not options:
        print("\nNo options.")
        return
    print(f"\nOptions ({flag} OPTION=VALUE)")
    for option in options:
        parts = [
            option.meaning,
            option.values and f"Allowed: {option.values}.",
            "It must be given." if option.default is None else f"Default: {option.default}.",
        ]
        indent = " " * 6
        print(f"\n  {option.name}")
        text = one_line(" ".join(filter(None, parts)))
        print(fill(text, 80, initial_indent=indent, subsequent_indent=indent))
