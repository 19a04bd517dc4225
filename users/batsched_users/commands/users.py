"""``batsched-py users``: what models there are, learning, sampling and looking at users."""

from __future__ import annotations

import inspect
import re

import typer

from batsched_py.errors import PluginError
from batsched_py.support import plugins
from batsched_users.commands.compare import compare
from batsched_users.commands.learn import learn
from batsched_users.commands.sample import sample
from batsched_users.commands.studies import portrait, thresholds

app = typer.Typer(
    help="User models: name them, learn them from logs, sample workloads, look at users.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.add_typer(learn, name="learn")
app.command("sample")(sample)
app.command("thresholds")(thresholds)
app.command("portrait")(portrait)
app.command("compare")(compare)


@app.command("list")
def list_models(
    name: str = typer.Argument("", metavar="[NAME]", help="Show this model with all options."),
) -> None:
    """Name the user models; with NAME, say what one does and what its options are."""
    if name:
        _show(name)
        return
    print(f"{plugins.RIGID:14}Nobody: every job is submitted at its recorded time.")
    for name in plugins.names(plugins.USERS):
        try:
            print(f"{name:14}{plugins.summary(plugins.load(plugins.USERS, name))}")
        except PluginError as error:
            print(f"{name:14}(cannot be used: {error})")
    print("\n`batsched-py users list NAME` shows a model's options; --users NAME -U OPTION=VALUE")


def _show(name: str) -> None:
    model = plugins.load(plugins.USERS, name)
    print(f"{name} ({model.__module__}.{model.__qualname__})\n")
    print(_plain(inspect.getdoc(model) or "(not described)"))
    options = [
        parameter
        for parameter in inspect.signature(model).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    print("\nOptions (-U OPTION=VALUE):" if options else "\nNo options.")
    for parameter in options:
        given = parameter.default
        if given is inspect.Parameter.empty:
            default = "must be given"
        else:
            default = getattr(given, "__qualname__", None) or f"{given}"
        print(f"  {parameter.name:16}{default}")


def _plain(text: str) -> str:
    """Return a docstring without the marks that are for a documentation generator."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)  # :class:`a.b.C` is `C`
    text = re.sub(r"\.\. code-block:: \w+\n\n?", "", text)
    return text.replace("``", "`")
