"""Fair share: factors of users by shares and usage, in a tree of accounts with users as leaves."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from batsched_py.model.queue.job_arrays import Floats
from batsched_py.options.checked_values import Name
from batsched_py.options.option_values import one_of
from batsched_py.schedulers.multifactor.accounts_file import ROOT, Account, Accounts, User

Algorithm = Literal["fair_tree", "classic"]
UNKNOWN = "\0unknown"
"""The account of all users and accounts that the file does not list."""
_EXACT = 2**53

Integers = NDArray[np.int64]


class FairShareTree:
    """A tree of accounts and users that ranks them by shares and past usage.

    Without ``accounts`` (from a file) each new name makes an account, all with equal shares, and
    users have equal shares of their account. With ``accounts``, an unlisted user gets one share of
    the account, and all unlisted accounts together are one, with one share of the machine.

    Sources: Slurm's pages "Fair Tree Fairshare Algorithm" (``fair_tree``) and "Classic Fairshare
    Algorithm" (``classic``, with the ``dampening`` factor).
    """

    def __init__(
        self,
        accounts: Accounts | None = None,
        algorithm: str = "fair_tree",
        dampening: float = 1.0,
    ) -> None:
        self._is_fair_tree = one_of("algorithm", algorithm, Algorithm) == "fair_tree"
        self._dampening = dampening
        self._listed = accounts is not None
        self._parent, self._shares, self._priority = [0], [1.0], [0.0]  # of nodes; 0: the root
        self._user_nodes: list[int] = []
        self._arrays: TreeArrays | None = None
        self._accounts: dict[str, int] = {ROOT: 0}
        self._users: dict[tuple[int, str], int] = {}
        self._first_account: dict[str, str] = {}
        for account in accounts.accounts if accounts else ():
            self._add_account(account)
        for user in accounts.users if accounts else ():
            self._first_account.setdefault(user.name, user.account)
            self._add_user(user)

    @property
    def nb_users(self) -> int:
        """Number of users in accounts so far; their numbers are below it."""
        return len(self._user_nodes)

    def get_user_number(self, name: str, account: str | None) -> int:
        """Return the number of the user ``name`` in ``account``, the names that a job has.

        If the account is None, it is the first in which the user is listed.
        """
        if account is None:
            known = self._first_account.get(name, UNKNOWN)
        else:
            known = account if account in self._accounts or not self._listed else UNKNOWN
        if known not in self._accounts:
            self._add_account(Account(Name(known)))
        number = self._users.get((self._accounts[known], name))
        return self._add_user(User(Name(name), Name(known))) if number is None else number

    def _add_account(self, account: Account) -> None:
        node = self._add_node(self._accounts[account.parent], account.shares, account.priority)
        self._accounts[account.name] = node
        if account.number is not None:
            self._accounts[str(account.number)] = node

    def _add_user(self, user: User) -> int:
        account = self._accounts[user.account]
        number = self._users[account, user.name] = self.nb_users
        priority = self._priority[account] if user.priority is None else user.priority
        self._user_nodes.append(self._add_node(account, user.shares, priority))
        return number

    def _add_node(self, parent: int, shares: float, priority: float) -> int:
        self._arrays = None
        self._parent.append(parent)
        self._shares.append(shares)
        self._priority.append(priority)
        return len(self._parent) - 1

    def priorities(self) -> Floats:
        """Return the association factor of each user: priority / highest priority, 0 to 1."""
        return self._tree().user_priority

    def compute_factors(self, usage: Floats) -> Floats:
        """Return the fair-share factor of each user, 0 to 1; users with larger ones go first.

        ``usage`` is what each has used, shape (nb_users,).
        """
        tree = self._tree()
        if not self._is_fair_tree:
            return classic(tree, tree.add_up_accounts(usage), self._dampening)
        if tree.are_siblings:
            return _ranked(tree.usage_per_share(usage))
        return fair_tree(tree, tree.add_up_accounts(usage))

    def _tree(self) -> TreeArrays:
        if self._arrays is None:
            self._arrays = TreeArrays(self._parent, self._shares, self._priority, self._user_nodes)
        return self._arrays


class TreeArrays:
    """A tree of accounts and users as arrays by node, the root first, and by user."""

    def __init__(
        self, parent: list[int], shares: list[float], priority: list[float], users: list[int]
    ) -> None:
        self.parent: Integers = np.array(parent, np.int64)
        self.shares: Floats = np.array(shares)
        self.users: Integers = np.array(users, np.int64)
        """The node of each user."""
        nb = len(parent)
        depth: Integers = np.zeros(nb, np.int64)
        for node in range(1, nb):  # parents come before their children
            depth[node] = depth[self.parent[node]] + 1
        self.levels = [np.flatnonzero(depth == level) for level in range(depth.max() + 1)]
        """The nodes of each level, the root's first."""
        sums: Floats = np.bincount(self.parent[1:], self.shares[1:], nb).astype(np.float64)
        self.level_shares = sums[self.parent]
        """The shares of each node and its siblings."""
        self.depth: Integers = depth[self.users]
        self.has_shares = self.shares > 0
        self.unused_level: Floats = np.where(self.has_shares, np.inf, 0.0)
        """The level fair share of nodes without usage."""
        paths = self._paths_of_users()
        differ = [(row != row[:1]).any() for row in paths]
        differ[-1] = True
        self.places: Integers = np.flatnonzero(differ)
        """The levels below the root at which not all users are below the same node, from 0."""
        self.paths = paths[self.places]
        """The nodes on the way to each user at these levels, shape (places, users); 0: none."""
        self.are_siblings = len(set(self.parent[self.users].tolist())) == 1
        """Whether all users are in one account."""
        self.is_even = len(set(self.depth.tolist())) <= 1 and nb ** len(self.paths) < _EXACT
        """Whether all users are equally deep, and their ranks by level are one exact float."""
        self.user_shares = self.shares[self.users]
        user_priority = np.array(priority)[self.users]
        highest = user_priority.max(initial=0.0)
        self.user_priority: Floats = user_priority / highest if highest else user_priority

    def _paths_of_users(self) -> Integers:
        paths = np.zeros((max(1, len(self.levels) - 1), len(self.users)), np.int64)
        node, depth = self.users.copy(), self.depth.copy()
        users = np.arange(len(self.users))
        while len(users):
            paths[depth[users] - 1, users] = node[users]
            node[users] = self.parent[node[users]]
            depth[users] -= 1
            users = users[depth[users] > 0]
        return paths

    def usage_per_share(self, usage: Floats) -> Floats:
        """Return usage / shares of each user, inf for a user without shares."""
        if self.user_shares.all():
            return usage / self.user_shares
        has_shares = self.user_shares > 0
        return np.where(has_shares, usage / np.where(has_shares, self.user_shares, 1), np.inf)

    def add_up_accounts(self, usage: Floats) -> Floats:
        """Return the usage of each node: of an account, the sum over all users below it."""
        of_nodes = np.zeros(len(self.parent))
        of_nodes[self.users] = usage
        for nodes in self.levels[:0:-1]:
            of_nodes += np.bincount(self.parent[nodes], of_nodes[nodes], len(of_nodes))
        return of_nodes


def fair_tree(tree: TreeArrays, usage: Floats) -> Floats:
    """Return the fair-share factors of the users by Slurm's Fair Tree: rank / number of users.

    The level fair share of a node is its part of the shares of its siblings and itself over that of
    their usage. Users are ranked by depth first, the children of a node by descending level fair
    share; accounts with the same are merged. So a user stands where the level fair shares on the
    way there say, compared one by one from the top. A user that ties with a sibling account has the
    rank of the first in it.
    """
    used = usage * tree.level_shares
    # Without shares it is 0 whatever was used; with some and no usage it is infinite.
    level = tree.unused_level.copy()
    has_both = (used > 0) & tree.has_shares
    np.divide(usage[tree.parent] * tree.shares, used, out=level, where=has_both)
    level[0] = np.inf  # in place of a missing node: users come before the accounts they tie with
    keys = level[tree.paths]
    if tree.is_even:
        ranks = np.zeros(keys.shape[1])
        for row in -keys:
            ranks = ranks * len(level) + np.searchsorted(np.sort(row), row)
        return _ranked(ranks)
    order = _descending(keys, tree.depth)
    keys, depth = keys[:, order], tree.depth[order]
    same = keys[:, 1:] == keys[:, :-1]
    if len(keys) > 1:  # the first in an account ties with a user of the same level before it
        same |= tree.places[:, np.newaxis] >= depth[:-1]
    place = np.arange(len(order))
    starts_group = np.append(True, ~same.all(axis=0))[: len(order)]
    factors = np.empty(len(order))
    factors[order] = 1 - np.maximum.accumulate(place * starts_group) / max(1, len(order))
    return factors


def _ranked(keys: Floats) -> Floats:
    """Return rank / number by ascending keys: 1 for the first, the same for equals."""
    return 1 - np.sort(keys).searchsorted(keys) / max(1, len(keys))


def _descending(keys: Floats, depth: Integers) -> Integers:
    """Return the order of columns by descending keys, of equal ones the least deep first."""
    if len(keys) == 1:
        return np.argsort(-keys[0])
    return np.lexsort((depth, *(-keys[::-1])))


def classic(tree: TreeArrays, usage: Floats, dampening: float) -> Floats:
    """Return the fair-share factors of the users by Slurm's classic formula, 2^(-U_E / S / d).

    S are normalised shares of the machine; U_E is the effective usage, to which that of the
    siblings contributes: U + (U_E of the parent - U) * shares / shares of the level. Just below the
    root it is the usage itself. Without shares the factor is 0.
    """
    normal, effective = np.ones(len(usage)), usage / usage[0] if usage[0] else usage.copy()
    part = tree.shares / np.where(tree.level_shares > 0, tree.level_shares, 1)
    for number, nodes in enumerate(tree.levels[1:], 1):
        parents = tree.parent[nodes]
        normal[nodes] = normal[parents] * part[nodes]
        if number > 1:
            own = effective[nodes]
            effective[nodes] = own + (effective[parents] - own) * part[nodes]
    shares, used = normal[tree.users], effective[tree.users]
    factors = np.zeros(len(tree.users))
    has = shares > 0
    factors[has] = 2 ** (-used[has] / shares[has] / dampening)
    return factors
