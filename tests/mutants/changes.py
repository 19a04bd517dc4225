"""Finds the small faults that can be put into source code, and writes code that can switch them on.

A fault replaces one expression in a function: a comparison, an operator, a constant, a condition,
an argument or a result. All faults chosen for a file are written into it at once; each asks
:func:`mutants.switch.is_on` whether it is the one to be tried.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
UNUSABLE = (":=", "yield", "await")
"""An expression with one of these cannot stand beside another."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORT = "; from mutants.switch import is_on as _is_on"


@dataclass(frozen=True)
class Mutant:
    """A fault: where it is, the expression that is there, and the one that replaces it."""

    path: str
    function: str
    old: str
    new: str
    start: tuple[int, int]
    """Line and column (in bytes) of the expression."""
    end: tuple[int, int]
    nth: int
    """Its number among the same replacements in the function."""

    @property
    def name(self) -> str:
        """What it is called in results; edits elsewhere in the file do not change it."""
        nth = f" #{self.nth}" if self.nth else ""
        return f"{self.path}::{self.function}: {self.old} -> {self.new}{nth}"


def choose(root: Path, places: list[str], count: int, seed: int) -> list[Mutant]:
    """Return ``count`` mutants of the Python files in ``places``, files or folders of ``root``.

    The choice depends on the seed and the mutants alone: an edit of one function leaves the choice
    in others as it is. No two mutants share an expression.
    """
    paths = [path for place in places for path in _python_files(root / place)]
    mutants = [found for path in paths for found in find_mutants(path, root)]
    mutants.sort(key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())
    chosen: list[Mutant] = []
    for mutant in mutants:
        if not any(_overlap(mutant, other) for other in chosen):
            chosen.append(mutant)
        if len(chosen) == count:
            break
    return chosen


def _python_files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    # numba cannot compile a function that asks for the switch
    return [path for path in sorted(place.rglob("*.py")) if "compiled" not in path.parts]


def _overlap(a: Mutant, b: Mutant) -> bool:
    return a.path == b.path and a.start < b.end and b.start < a.end


def find_mutants(path: Path, root: Path) -> list[Mutant]:
    """Return all mutants of a file."""
    found: list[Mutant] = []
    counts: dict[tuple[str, str, str], int] = {}
    for function, node, new in _replacements(ast.parse(path.read_bytes()), ""):
        old, text = ast.unparse(node), ast.unparse(new)
        key = (function, old, text)
        counts[key] = counts.get(key, -1) + 1
        end = (node.end_lineno or 0, node.end_col_offset or 0)
        start = (node.lineno, node.col_offset)
        name = path.relative_to(root).as_posix()
        if not any(word in old for word in UNUSABLE):
            found.append(Mutant(name, function, old, text, start, end, counts[key]))
    return found


def _replacements(node: ast.AST, outer: str) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Yield function, expression and replacement for everything inside functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _replacements(child, f"{outer}{child.name}.")
        elif isinstance(child, FUNCTIONS):
            for statement in child.body:
                yield from _of_statement(statement, outer + child.name)


def _of_statement(node: ast.AST, function: str) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Yield the replacements in one statement and what it contains."""
    if isinstance(node, FUNCTIONS):
        for statement in node.body:
            yield from _of_statement(statement, f"{function}.{node.name}")
        return
    # messages are wording; the positions inside a formatted string are not those of the file
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.pattern, ast.ClassDef, ast.arguments)):
        return
    for new in (*_in_statement(node), *_in_expression(node)):
        yield function, *new
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _of_statement(child, function)


def _in_statement(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield a condition, a result, a call or a step of a statement, with its replacement."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if _is_simple(test):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, ast.Constant(None)
        case ast.Expr(value=ast.Call() as call):
            yield call, ast.Constant(None)
        case ast.AugAssign(op=ast.Add() | ast.Sub(), value=value):
            yield value, ast.UnaryOp(ast.USub(), value)


def _in_expression(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield an expression with its replacement."""
    match node:
        case ast.Compare(left=left, ops=[op, *ops], comparators=comparators):
            if type(op) in COMPARISONS:
                yield node, ast.Compare(left, [COMPARISONS[type(op)](), *ops], comparators)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            yield node, ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.BoolOp(op=op, values=values):
            yield node, ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, operand
        case ast.Constant(value=bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int() | float() as number):
            yield node, ast.Constant(number + 1)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=words) if name in CALLS:
            yield node, ast.Call(ast.Name(CALLS[name], ast.Load()), args, words)


def _is_simple(test: ast.expr) -> bool:
    return not isinstance(test, (ast.Compare, ast.BoolOp, ast.UnaryOp))


def with_switches(source: str, mutants: list[tuple[int, Mutant]]) -> str:
    """Return the source with these mutants in it, each under its number."""
    lines = source.encode().split(b"\n")
    for number, mutant in sorted(mutants, key=lambda pair: pair[1].start, reverse=True):
        (first, begin), (last, end) = mutant.start, mutant.end
        text = b"\n".join(lines[first - 1 : last])
        cut = len(text) - (len(lines[last - 1]) - end)
        old = text[begin:cut]
        new = b"((%b) if _is_on(%d) else (%b))" % (mutant.new.encode(), number, old)
        lines[first - 1 : last] = [text[:begin] + new + text[cut:]]
    future = "from __future__ import annotations"
    return b"\n".join(lines).decode().replace(future, future + IMPORT, 1)
