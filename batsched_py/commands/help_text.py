"""Lays out the help of a command: options under headings, and descriptions in full."""

from __future__ import annotations

from functools import partial
from typing import Any

from typer import Typer
from typer.core import TyperCommand, TyperGroup

from batsched_py.plugins.plugin_descriptions import join_first_paragraph


class _WithExamples:
    """A command whose description may end with a section "Examples:", shown as it is written."""

    examples: list[str]

    def __init__(self, *args: Any, help: str | None = None, **others: Any) -> None:
        text, _, examples = (help or "").partition("\n\nExamples:\n")
        self.examples = [line.strip() for line in examples.splitlines()]
        super().__init__(*args, help=text, **others)  # type: ignore[call-arg]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, a line each, so that they can be copied."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class CommandHelp(_WithExamples, TyperCommand):
    """A command whose help shows options in groups, each under a heading.

    The group of an option is its ``rich_help_panel``. Those without one come first, as "Options".
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options, a section for each heading."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
            heading = getattr(parameter, "rich_help_panel", None) or kind
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class GroupHelp(_WithExamples, TyperGroup):
    """A command with subcommands, whose help shows descriptions in full."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the subcommands and their descriptions to the help."""
        commands: dict[str, Any] = {
            name: self.get_command(ctx, name) for name in self.list_commands(ctx)
        }
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, join_first_paragraph(command.help)) for name, command in commands.items()]
            )


make_group = partial(
    Typer, cls=GroupHelp, no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
"""Makes a command with subcommands; ``help`` is its description."""
