"""Loads policies and user models by name, or as ``path/to/file.py:Class``.

A plug-in that does not fit fails when it is loaded, with the signature that was found and the
one that is expected.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_type_hints

from batsched_py.errors import BatschedError, PluginError
from batsched_py.options.checked_values import find_fault
from batsched_py.support.installation import find_entry_points
from batsched_py.support.json_values import copy_containers, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SCHEDULERS = "batsched_py.schedulers"
USERS = "batsched_py.users"

_METHODS: dict[str, dict[str, tuple[str, ...]]] = {
    SCHEDULERS: {"schedule": ("now", "queue", "machine")},
    USERS: {
        "next_submission": (),
        "jobs_to_submit": ("now",),
        "job_ended": ("now", "job", "state"),
    },
}
_OF_A_JOB = ("now", "job")
_OPTIONAL: dict[str, dict[str, tuple[str, ...]]] = {
    SCHEDULERS: dict.fromkeys(
        ("may_start", "job_started", "job_ended", "job_withdrawn", "job_hidden"), _OF_A_JOB
    ),
    USERS: {"job_started": _OF_A_JOB, "begin": ("site",)},
}
"""Methods that a plug-in may have; most are called long after the beginning."""
_KINDS = {SCHEDULERS: "scheduler", USERS: "user model"}
_IN_MEMORY = re.compile(r"(.+) \(source \w+\)")
"""What a run is named by that :func:`batsched_py.simulate` was given a class for."""
RIGID = "rigid"
"""Name of the replay without users: every job at its recorded time."""
EXTERNAL = "external"
"""Name of a scheduler in a program of its own, which no list of policies has."""
_UNLISTED = {(SCHEDULERS, EXTERNAL): "batsched_py.schedulers.external:External"}
_FURTHER_NAMES = {SCHEDULERS: (), USERS: (RIGID,)}
"""Names that stand for no plug-in."""


def list_names(group: str) -> Mapping[str, EntryPoint]:
    """Return the registered plug-ins of a group by name, sorted."""
    return find_entry_points(group)


def names_file(name: str) -> bool:
    """Return whether a name is ``path/to/file.py:Class``, not that of a registered plug-in."""
    return ".py:" in name or name.endswith(".py")


def load(group: str, name: str) -> type[Any]:
    """Return the plug-in class ``name``; raises :class:`PluginError` if it lacks methods."""
    if in_memory := _IN_MEMORY.fullmatch(name):
        raise PluginError(
            f"{_KINDS[group]} {name!r} was in no file, only in the program that made the run: "
            f"write it into one and give path/to/file.py:{in_memory[1]}"
        )
    if ".py:" in name:
        from batsched_py.plugins.plugin_files import load_file

        plugin = load_file(name)
    elif (place := _UNLISTED.get((group, name))) is not None:
        plugin = resolve_name(place)
    else:
        plugin = _load_registered(group, name)
    if not inspect.isclass(plugin):
        raise PluginError(f"{_KINDS[group]} {name!r} is {plugin!r}, expected a class")
    check_methods(group, plugin, name)
    return plugin


def check_methods(group: str, plugin: type[Any], name: str) -> None:
    """Raise :class:`PluginError` for a class without the methods of a policy or user model."""
    optional = {
        method: parameters
        for method, parameters in _OPTIONAL[group].items()
        if callable(getattr(plugin, method, None))
    }
    for method, parameters in (_METHODS[group] | optional).items():
        _check_method(plugin, method, parameters, f"{_KINDS[group]} {name!r}")


def find_misspelt(group: str, plugin: type[Any]) -> dict[str, str]:
    """Return methods of a class that nobody calls, each with the optional method it resembles.

    Only methods of classes outside this package count.
    """
    known = {*_METHODS[group], *_OPTIONAL[group], "held", "statistics"}
    theirs = [kind for kind in plugin.__mro__ if not kind.__module__.startswith("batsched_")]
    own = {name for kind in theirs for name, value in vars(kind).items() if callable(value)}
    found = {}
    for name in sorted(own - known):
        if name.startswith("_"):
            continue
        if close := get_close_matches(name, known - own, n=1, cutoff=0.85):
            found[name] = close[0]
    return found


def has_methods(group: str, plugin: type[Any]) -> bool:
    """Return whether a class has the methods of a policy or of a user model."""
    return all(callable(getattr(plugin, method, None)) for method in _METHODS[group])


def make(
    plugin: Callable[..., Any], name: str, arguments: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """Make an object of a plug-in class; raises :class:`PluginError` for wrong options."""
    _check_names(plugin, name, options)
    missing = [
        parameter.name
        for parameter in find_option_parameters(plugin)
        if parameter.default is inspect.Parameter.empty and parameter.name not in options
    ]
    if missing:
        raise PluginError(f"{name!r} needs the option {missing[0]!r}")
    wrong = _wrong_kind(plugin, name, options)
    try:
        made = plugin(*arguments, **copy_containers(dict(options)))
    except BatschedError:  # it says itself what is wrong with its options
        raise
    except SystemExit as error:
        raise PluginError(f"{name!r} cannot be made: it left by SystemExit({error})") from error
    except Exception as error:
        if wrong is not None:
            raise PluginError(wrong) from error
        if not isinstance(error, TypeError):
            raise
        raise PluginError(
            f"{name!r} cannot be made: {error}; expected a class to be called with "
            f"{len(arguments)} positional argument(s) and keyword options"
        ) from error
    if wrong is not None:
        raise PluginError(wrong)
    return made


def check_options(plugin: Callable[..., Any], name: str, options: Mapping[str, Any]) -> None:
    """Raise :class:`PluginError` for an unknown option of a plug-in, or one of a wrong type."""
    _check_names(plugin, name, options)
    if wrong := _wrong_kind(plugin, name, options):
        raise PluginError(wrong)


def _check_names(plugin: Callable[..., Any], name: str, options: Mapping[str, Any]) -> None:
    accepted = find_accepted_options(plugin)
    for option in options:
        if accepted is not None and option not in accepted:
            raise PluginError(_unknown(option, accepted, f"option of {name!r}"))


def _wrong_kind(plugin: Callable[..., Any], name: str, options: Mapping[str, Any]) -> str | None:
    """Say which option is not of its type, None if all are."""
    for option in find_option_parameters(plugin):
        if option.name in options:
            value, kind = options[option.name], resolve_type(plugin, option)
            fault = find_fault(value, kind, f"{name!r}: {option.name}", sign="=")
            if fault is not None:
                hint = f" (as in {option.name}='\"{value}\"')" if kind is str else ""
                return f"{fault}{hint}"
    return None


def resolve_type(plugin: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the type that a parameter of a plug-in is annotated with, Any if it is not known.

    Without an annotation that of a default which is a number, or true or false.
    """
    if parameter.annotation is inspect.Parameter.empty:
        if isinstance(parameter.default, bool):
            return bool
        return float if isinstance(parameter.default, int | float) else Any
    annotated = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    try:
        known: Any = inspect.unwrap(plugin.__init__ if inspect.isclass(plugin) else plugin)
        hints = get_type_hints(annotated, known.__globals__, include_extras=True)
        return hints[parameter.name]
    except Exception:  # a name that only type checkers see, or whatever the author wrote
        return Any


def make_users(
    model: Callable[..., Any], name: str, workload: Any, options: Mapping[str, Any], seed: Any
) -> Any:
    """Make a user model of a workload; ``seed`` is passed if the model takes one and has none.

    ``seed`` is a whole number or a :class:`numpy.random.SeedSequence`. A model whose parameter has
    another type, such as that of a default 0, gets a whole number below 2**32 made from the latter.

    ``model`` may be a function, whose first parameter is no option either. Raises
    :class:`PluginError` for options that do not fit, and for a model without profiles.
    """
    maker: Callable[..., Any] = model
    arguments: tuple[Any, ...] = (workload,)
    if not inspect.isclass(model):
        maker, arguments = partial(model, workload), ()
    accepted = find_accepted_options(maker)
    given = dict(options)
    if "seed" not in given and (accepted is None or "seed" in accepted):
        given["seed"] = seed
        if not isinstance(seed, int) and _wrong_kind(maker, name, {"seed": seed}):
            given["seed"] = int(seed.generate_state(1)[0])
    users = make(maker, name, arguments, given)
    if not isinstance(getattr(users, "profiles", None), Mapping):
        raise PluginError(
            f"user model {name!r} has no profiles: expected those of its jobs by name, such as "
            "self.profiles = workload.profiles"
        )
    return users


def find_accepted_options(plugin: Callable[..., Any]) -> list[str] | None:
    """Return the names of the options of a plug-in, None if it takes any."""
    parameters = _parameters(plugin)
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return None
    return [parameter.name for parameter in find_option_parameters(plugin)]


def find_option_parameters(plugin: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters that are options: all that have a name, but a model's workload."""
    positional = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = _parameters(plugin)
    if hasattr(plugin, "job_ended") and parameters and parameters[0].kind in positional:
        del parameters[0]
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return [parameter for parameter in parameters if parameter.kind in named]


def _parameters(plugin: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(plugin).parameters.values())


def _load_registered(group: str, name: str) -> Any:
    registered = list_names(group)
    if name not in registered and name.endswith(".py"):
        from batsched_py.plugins.plugin_files import load_file

        return load_file(f"{name}:")  # says which classes it has
    if name not in registered:
        file, colon, name_of_class = name.partition(":")
        path = f"{file}.py:{name_of_class}" if colon else "path/to/file.py:Class"
        hint = f"; a class of your own is given as {path}"
        choices = sorted([*registered, *_FURTHER_NAMES[group]])
        raise PluginError(_unknown(name, choices, _KINDS[group]) + hint)
    from batsched_py.plugins.plugin_files import forget_package

    forget_package(registered[name].module.partition(".")[0])
    try:
        return registered[name].load()
    except (Exception, SystemExit) as error:  # whatever the author's code raises
        from batsched_py.plugins.code_places import describe_exception

        raise PluginError(
            f"{_KINDS[group]} {name!r} ({registered[name].value}) cannot be loaded: "
            f"{describe_exception(error)}"
        ) from error


def _unknown(name: str, registered: list[str], what: str) -> str:
    there = ", ".join(registered) or "none"
    return f"there is no {what} called {name!r}{did_you_mean(name, registered)}; there are: {there}"


def _check_method(plugin: type[Any], method: str, expected: tuple[str, ...], what: str) -> None:
    wanted = f"def {method}({', '.join(('self', *expected))})"
    function = getattr(plugin, method, None)
    if function is None:
        raise PluginError(f"{what} has no method {method!r}: expected {wanted}")
    signature = inspect.signature(function)
    try:
        signature.bind("self", *expected)
    except TypeError:
        raise PluginError(f"{what}: found def {method}{signature}, expected {wanted}") from None
