"""Policies and user models that are given as classes, instances or factories, not by name."""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar
from weakref import ref

import msgspec

from batsched_py.errors import PluginError, UsageError, parameter
from batsched_py.model.user_model import UserModel
from batsched_py.plugins import plugins
from batsched_py.run.stored_values import EMBEDDED, ProcessSettings, Run
from batsched_py.schedulers.partitioned import unwrap_policy

S = TypeVar("S", bound=msgspec.Struct)


class Driver(Protocol):
    """Policy and users of a simulation that has ended."""

    @property
    def scheduler(self) -> Any:
        """The policy."""

    @property
    def users(self) -> UserModel | None:
        """The users, None if jobs came at their recorded times."""

    @property
    def nb_too_late(self) -> int:
        """Number of withdrawals without effect."""


class PluginObjects(msgspec.Struct, frozen=True):
    """The policy and the user model of a run, if they are objects; None: loaded by name."""

    scheduler: Any = None
    """A class, an instance, or what returns one when it is called with the options."""
    users: Any = None
    """A class, or what returns a user model when it is called with the workload and the options."""
    stay_here: ClassVar[bool] = False
    """Whether they are in this process even if the simulator is in another one."""

    def check(self, run: Run) -> None:
        """Raise :class:`UsageError` if an object does not fit the back end or the options."""
        for name, given in msgspec.structs.asdict(self).items():
            if given is not None and run.backend != EMBEDDED:
                raise UsageError(
                    f"{parameter('backend')} {run.backend} works in another process, which has no "
                    f"{getattr(run, name)}: write it into a file and give {parameter(name)} "
                    f"path/to/file.py:{_class_of(given).__name__}"
                )
        if _is_instance(plugins.SCHEDULERS, self.scheduler) and run.scheduler_options:
            option = next(iter(run.scheduler_options))
            raise UsageError(
                f"{parameter('scheduler')} is an object already, so the option {option!r} has "
                f"no effect: give {_class_of(self.scheduler).__name__} itself, or leave it out"
            )

    def find_scheduler(self, settings: ProcessSettings) -> Any:
        """Return the policy of a run, or its class or what makes it."""
        if self.scheduler is not None:
            return self.scheduler
        return plugins.load(plugins.SCHEDULERS, settings.scheduler)

    def make_scheduler(self, settings: ProcessSettings) -> Any:
        """Make the policy of a run; raises :class:`PluginError` if it is malformed."""
        name, options = settings.scheduler, settings.scheduler_options
        given = self.find_scheduler(settings)
        if self.scheduler is not None and _is_instance(plugins.SCHEDULERS, given):
            return given
        make = partial(plugins.make, given, name, (), options)
        return make() if self.scheduler is None else _made(plugins.SCHEDULERS, given, name, make)

    def make_users(self, settings: ProcessSettings, workload: Any, seed: Any) -> Any:
        """Make the users of a run; raises :class:`PluginError` if they are malformed."""
        name, options = settings.users, settings.user_options
        model = plugins.load(plugins.USERS, name) if self.users is None else self.users
        make = partial(plugins.make_users, model, name, workload, options, seed)
        return make() if self.users is None else _made(plugins.USERS, model, name, make)

    def named(self, run: Run, driver: Driver) -> tuple[Run, list[str]]:
        """Return the run with the names of objects that factories made, and notes on them.

        The notes warn of what a name cannot store, such as the arguments of an instance.
        """
        notes = []
        for name, made in (
            ("scheduler", unwrap_policy(driver.scheduler)),
            ("users", driver.users),
        ):
            given = getattr(self, name)
            if given is None or inspect.isclass(given):
                continue
            factory = () if given is made else (given,)
            run = msgspec.structs.replace(run, **{name: make_name(type(made), *factory)})
            how = "by a factory" if factory else "as an instance"
            kind = type(made).__name__
            notes.append(f"{name}: {kind} was given {how}, so the run does not store its options")
            if _was_used(made):
                notes.append(
                    f"{name}: this {kind} was in a run before, whose state may change this run; "
                    "give a new object"
                )
        return run, notes


BY_NAME = PluginObjects()
"""No objects: everything has a name."""


def without_objects(settings: S) -> tuple[S, PluginObjects]:
    """Return settings with names in place of objects, and the objects."""
    objects = {
        name: given
        for name in PluginObjects.__struct_fields__
        if not isinstance(given := getattr(settings, name), str)
    }
    for name, given in objects.items():
        if not callable(given) and not (
            name == "scheduler" and _is_instance(plugins.SCHEDULERS, given)
        ):
            also = " an instance," if name == "scheduler" else ""
            raise UsageError(
                f"{parameter(name)} {given!r}: expected a name, path/to/file.py:Class, a class,"
                f"{also} or what returns one when it is called"
            )
    names = {name: make_name(_class_of(given)) for name, given in objects.items()}
    return msgspec.structs.replace(settings, **names), PluginObjects(**objects)


def make_name(kind: Any, *further: Any) -> str:
    """Return a name for a class, which may be in no file: its own name and a hash of its source.

    The source of ``further`` objects, such as a factory, is part of the hash.
    """
    sources = [_source(part) for part in (kind, *further)]
    known = [source for source in sources if source is not None]
    text = "\n".join(known).encode()
    digest = hashlib.sha256(text).hexdigest()[:8] if len(known) == len(sources) else "unknown"
    return f"{kind.__name__} (source {digest})"


def _class_of(given: Any) -> Any:
    """Return what an object is called by: a class or a function itself, else its class."""
    if inspect.isclass(given) or inspect.isroutine(given):
        return given
    return _class_of(given.func) if isinstance(given, partial) else type(given)


def _is_instance(group: str, given: Any) -> bool:
    """Return whether an object is a plug-in already, and not what makes one."""
    return not inspect.isclass(given) and plugins.has_methods(group, type(given))


_USED: dict[int, ref[Any]] = {}
"""What was made already when it was given, by its id."""


def _was_used(made: Any) -> bool:
    """Return whether an object has been in a run before this one, as far as one can know."""
    earlier = _USED.get(id(made))
    with suppress(TypeError):  # of a class with slots
        _USED[id(made)] = ref(made)
    return earlier is not None and earlier() is made


def _made(group: str, given: Any, name: str, make: Callable[[], Any]) -> Any:
    """Return what a class or a factory makes; raises :class:`PluginError` if it does not fit."""
    if inspect.isclass(given):
        plugins.check_methods(group, given, name)
        return make()
    made = make()
    if made is None or inspect.isclass(made):
        raise PluginError(f"{name} returned {made!r}: expected an instance")
    plugins.check_methods(group, type(made), type(made).__name__)
    return made


def _source(thing: Any) -> str | None:
    """Return the source of a class or a function, None if there is none."""
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):  # a class of a cell, whose module has no file; or made by no text
        return _source_by_methods(thing) if inspect.isclass(thing) else None


def _source_by_methods(kind: type[Any]) -> str | None:
    """Return the source of a class by that of its methods, which know their cell."""
    for method in filter(inspect.isfunction, vars(kind).values()):
        try:
            lines, line = inspect.findsource(inspect.unwrap(method))
            tree = ast.parse("".join(lines))
        except (OSError, TypeError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
                end = node.end_lineno or 0
                if node.lineno <= line + 1 <= end:
                    first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                    return "".join(lines[first - 1 : end])
    return None
