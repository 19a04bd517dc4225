"""``batsched-py users``: lists user models, learns and samples them, and studies users."""

from __future__ import annotations

import typer

from batsched_py.commands.help_text import CommandHelp, make_group
from batsched_py.commands.list import list_users, show_plugin
from batsched_py.plugins import plugins
from batsched_users.commands.compare import compare
from batsched_users.commands.learn import learn
from batsched_users.commands.sample import sample
from batsched_users.commands.studies import portrait, thresholds

app = make_group(
    help="User models: list them, learn them from logs, sample workloads, look at users."
)


@app.command("list", cls=CommandHelp)
def list_models(
    name: str = typer.Argument("", metavar="[NAME]", help="Only this one, with its options."),
) -> None:
    """List the user models; with NAME, say what it does and its options."""
    if name:
        show_plugin(plugins.USERS, name)
    else:
        list_users()


app.add_typer(learn, name="learn")
for command in (sample, compare, portrait, thresholds):
    app.command(command.__name__, cls=CommandHelp)(command)
