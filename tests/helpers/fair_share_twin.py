"""Fair share, slow and plain: all past jobs each time, recursion, fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, log

from batsched_py.schedulers.multifactor.accounts_file import Accounts

INFINITE = Fraction(10**18)


def slow_usage(
    runs: Sequence[tuple[int, int, int, int]], user: int, now: float, half_life: float
) -> float:
    """Return the usage of a user at ``now``: runs are (user, processors, start, length)."""
    total = 0.0
    for who, size, start, length in runs:
        begin, end = start, min(start + length, now)
        if who != user or end <= begin:
            continue
        if half_life == inf:
            total += size * (end - begin)
        else:  # the integral of 2^(-(now - s) / half_life) over s from begin to end
            weight = half_life / log(2)
            total += size * weight * 2 ** (-(now - end) / half_life)
            total -= size * weight * 2 ** (-(now - begin) / half_life)
    return total


class Node:
    """An account or a user."""

    def __init__(self, shares: int, parent: Node | None, user: int | None = None) -> None:
        self.shares, self.parent, self.user = Fraction(shares), parent, user
        self.children: list[Node] = []
        self.usage = Fraction(0)
        if parent:
            parent.children.append(self)


class SlowTree:
    """The tree of ``accounts``, whose users have used ``usage``."""

    def __init__(self, accounts: Accounts, usage: Sequence[int]) -> None:
        self.root = Node(1, None)
        nodes = {"": self.root}
        for account in accounts.accounts:
            nodes[account.name] = Node(int(account.shares), nodes[account.parent])
        self.users = []
        for number, (user, used) in enumerate(zip(accounts.users, usage, strict=True)):
            node: Node | None = Node(int(user.shares), nodes[user.account], number)
            self.users.append(node)
            while node:
                node.usage += used
                node = node.parent

    # Fair Tree, as its page describes it ----------------------------------------------------------

    def fair_tree(self) -> list[float]:
        """Return rank / number of users, of each."""
        self.rank = self.next_rank = len(self.users)
        self.factors = [0.0] * len(self.users)
        self._visit(self.root.children, tied=False)
        return self.factors

    def _visit(self, siblings: list[Node], tied: bool) -> None:
        """Rank the users below; ``tied``: the first has the rank of whoever came before."""
        ranked = [node for node in siblings if has_users(node)]
        rest = sorted(ranked, key=lambda node: (-level_fair_share(node), node.user is None))
        before: Fraction | None = None
        while rest:
            node = rest.pop(0)
            tie = tied if before is None else level_fair_share(node) == before
            before = level_fair_share(node)
            if node.user is not None:
                if not tie:
                    self.rank = self.next_rank
                self.factors[node.user] = self.rank / len(self.users)
                self.next_rank -= 1
                continue
            merged = node.children[:]
            while rest and level_fair_share(rest[0]) == before:
                merged += rest.pop(0).children
            self._visit(merged, tie)

    # The classic algorithm ------------------------------------------------------------------------

    def classic(self) -> list[float]:
        """Return 2^(-U_E / S) of each user."""
        factors = []
        for user in self.users:
            assert user is not None
            shares = self._shares(user)
            factors.append(2 ** -float(self._effective(user) / shares) if shares else 0.0)
        return factors

    def _shares(self, node: Node) -> Fraction:
        if node.parent is None:
            return Fraction(1)
        return self._shares(node.parent) * part(node)

    def _effective(self, node: Node) -> Fraction:
        actual = node.usage / self.root.usage if self.root.usage else Fraction(0)
        parent = node.parent
        if parent is None or parent.parent is None:
            return actual
        return actual + (self._effective(parent) - actual) * part(node)


def has_users(node: Node) -> bool:
    """Tell whether there is anybody to be ranked."""
    return node.user is not None or any(has_users(child) for child in node.children)


def part(node: Node) -> Fraction:
    """Return the part of the shares of its level that a node has."""
    assert node.parent is not None
    total = sum(sibling.shares for sibling in node.parent.children)
    return node.shares / total if total else Fraction(0)


def level_fair_share(node: Node) -> Fraction:
    """Return S / U, both by what it and its siblings have."""
    assert node.parent is not None
    if not node.shares:
        return Fraction(0)
    if not node.usage:
        return INFINITE
    return part(node) / (node.usage / node.parent.usage)
