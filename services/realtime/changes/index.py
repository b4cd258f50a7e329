"""Which subscriptions may be concerned by a row, without looking at each of them.

Nodes are found by the table's patterns, then by one value: that which an equality filter wants, or that which the rule of
the role compares with a claim. So a thousand subscribers who each see their own rows cost one look-up a change. What is
found is a little more than what matches (`evaluate.py` judges it), never less.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from schemas.numbers import parse_whole_number
from schemas.realtime import AllOf, AnyOf, IsClaim, Nobody, Rule
from schemas.realtime_rules import canonical_uuid, claim_text
from services.realtime.changes.asking import Place
from services.realtime.changes.filters import Key, Row, value_key, wanted_keys
from services.realtime.changes.groups import Group
from services.realtime.changes.interest import Pattern, patterns_of
from services.realtime.changes.seats import Binding, Node, Seat

Nodes = dict[Node, None]
_NULL = b"null"
_FARTHEST = 10**18
"""Claims beyond it are left to SQL."""


class Index:
    """All seats of a pipeline."""

    def __init__(self) -> None:
        self.seats: dict[Seat, None] = {}
        self._by_pattern: dict[Pattern, _Patterned] = {}

    @property
    def patterns(self) -> list[Pattern]:
        """Give the tables that are subscribed to."""
        return list(self._by_pattern)

    def add(self, seat: Seat) -> None:
        """Take in a seat."""
        self.seats[seat] = None
        for binding in seat.bindings:
            patterned = self._by_pattern.setdefault(binding.pattern, _Patterned())
            node = patterned.node(seat.group, binding)
            (node.single if len(seat.bindings) == 1 else node.several)[seat] = None

    def remove(self, seat: Seat) -> None:
        """Forget a seat, if it is known."""
        if self.seats.pop(seat, seat) is seat:
            return
        for binding in seat.bindings:
            patterned = self._by_pattern.get(binding.pattern)
            if patterned is not None and patterned.leave(seat, binding):
                del self._by_pattern[binding.pattern]

    def roles(self, place: Place) -> set[str]:
        """Give the roles that subscribe to a table."""
        found = (self._by_pattern.get(pattern) for pattern in patterns_of(*place))
        return {role for each in found if each is not None for role in each.by_role}

    def size_of(self, place: Place) -> int:
        """Return how many nodes subscribe to a table, of all roles."""
        found = (self._by_pattern.get(pattern) for pattern in patterns_of(*place))
        return sum(len(nodes) for each in found if each is not None for nodes in each.by_role.values())

    def seats_of(self, place: Place) -> set[Seat]:
        """Give all seats that subscribe to a table."""
        patterns = set(patterns_of(*place))
        return {seat for seat in self.seats if any(each.pattern in patterns for each in seat.bindings)}

    def by_rule(self, place: Place, role: str, rule: Rule, row: Row) -> Iterator[Node]:
        """Give the nodes of a role that may match a row by their filter, and to which its rule may show the row."""
        for pattern in patterns_of(*place):
            if (found := self._by_pattern.get(pattern)) is not None:
                yield from found.by_filter(role, row)
                yield from found.by_rule(place, role, rule, row)

    def all_of(self, place: Place, role: str) -> Iterator[Node]:
        """Give all nodes of a role that subscribe to a table."""
        for pattern in patterns_of(*place):
            if (found := self._by_pattern.get(pattern)) is not None:
                yield from found.by_role.get(role, ())

    def by_filter(self, place: Place, role: str, row: Row) -> Iterator[Node]:
        """Give the nodes of a role that may match a row by their filter, whatever its rule is."""
        for pattern in patterns_of(*place):
            if (found := self._by_pattern.get(pattern)) is not None:
                yield from found.by_filter(role, row)
                yield from found.free(role)


class _Patterned:
    """The nodes of one pattern. Each has one place: by the value its filter wants, or free of that."""

    def __init__(self) -> None:
        self.by_role: defaultdict[str, Nodes] = defaultdict(dict)
        self._nodes: dict[tuple[Group, Binding], Node] = {}
        self._filtered: defaultdict[str, _Keyed] = defaultdict(_Keyed)
        self._free: defaultdict[str, Nodes] = defaultdict(dict)
        self._ruled: dict[tuple[Place, str], _Ruled] = {}

    def node(self, group: Group, binding: Binding) -> Node:
        """Give the node of a group and a binding."""
        found = self._nodes.get((group, binding))
        if found is None:
            found = self._nodes[group, binding] = Node(group, binding)
            self._place(found)
        return found

    def leave(self, seat: Seat, binding: Binding) -> bool:
        """Take a seat from its node; tell whether nothing is left."""
        node = self._nodes.get((seat.group, binding))
        if node is not None:
            node.single.pop(seat, None)
            node.several.pop(seat, None)
            if not node.single and not node.several:
                del self._nodes[seat.group, binding]
                self._displace(node)
        return not self._nodes

    def by_filter(self, role: str, row: Row) -> Iterator[Node]:
        if (keyed := self._filtered.get(role)) is not None:
            yield from keyed.find(row, is_missing_unsure=False)

    def free(self, role: str) -> Iterator[Node]:
        yield from self._free.get(role, ())

    def by_rule(self, place: Place, role: str, rule: Rule, row: Row) -> Iterator[Node]:
        ruled = self._ruled.get((place, role))
        if ruled is None or ruled.rule is not rule:
            ruled = self._ruled[place, role] = _Ruled(rule)
            for node in self._free.get(role, ()):
                ruled.add(node)
        yield from ruled.find(row)

    def _place(self, node: Node) -> None:
        role = node.group.role
        self.by_role[role][node] = None
        for condition in node.binding.filters:
            if (keys := wanted_keys(condition)) is not None:
                for key in keys:
                    self._filtered[role].add((condition.column, condition.local), key, node)
                return
        self._free[role][node] = None
        for (_, other), ruled in self._ruled.items():
            if other == role:
                ruled.add(node)

    def _displace(self, node: Node) -> None:
        role = node.group.role
        self.by_role[role].pop(node, None)
        if not self.by_role[role]:
            del self.by_role[role]
        if self._free[role].pop(node, node) is node:
            for condition in node.binding.filters:
                if (keys := wanted_keys(condition)) is not None:
                    for key in keys:
                        self._filtered[role].remove((condition.column, condition.local), key, node)
                    return
        for (_, other), ruled in self._ruled.items():
            if other == role:
                ruled.remove(node)


class _Keyed:
    """Nodes by a value of a column."""

    def __init__(self) -> None:
        self._by_column: dict[tuple[str, str], dict[Key, Nodes]] = {}

    def add(self, column: tuple[str, str], key: Key, node: Node) -> None:
        """Put a node where the column (its name, and how it is compared) has a value."""
        self._by_column.setdefault(column, {}).setdefault(key, {})[node] = None

    def remove(self, column: tuple[str, str], key: Key, node: Node) -> None:
        """Take it away."""
        by_key = self._by_column.get(column, {})
        if key in by_key:
            by_key[key].pop(node, None)
            if not by_key[key]:
                del by_key[key]
                if not by_key:
                    del self._by_column[column]

    def find(self, row: Row, *, is_missing_unsure: bool) -> Iterator[Node]:
        """Give the nodes that a row may concern. A value that is not plain concerns all of its column."""
        for (column, kind), by_key in self._by_column.items():
            value = row.get(column)
            if value == _NULL or (value is None and not is_missing_unsure):
                continue
            key = None if value is None else value_key(kind, value)
            if key is not None:
                yield from by_key.get(key, ())
            else:
                for nodes in by_key.values():
                    yield from nodes


class _Ruled:
    """Nodes without a filter to go by, under one rule of their role: by the claim that it compares."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._claims = claims_of(rule)
        self._keyed = _Keyed()
        self._loose: Nodes = {}

    def add(self, node: Node) -> None:
        for column, key in self._keys(node):
            self._keyed.add(column, key, node)

    def remove(self, node: Node) -> None:
        self._loose.pop(node, None)
        for column, key in self._keys(node):
            self._keyed.remove(column, key, node)
        self._loose.pop(node, None)

    def find(self, row: Row) -> Iterator[Node]:
        yield from self._loose
        yield from self._keyed.find(row, is_missing_unsure=True)

    def _keys(self, node: Node) -> list[tuple[tuple[str, str], Key]]:
        """Give where a node is found; one that cannot be found by a value is put among the loose ones."""
        if self._claims is None or node.group.claims is None:
            self._loose[node] = None
            return []
        keys: list[tuple[tuple[str, str], Key]] = []
        for claim in self._claims:
            key = _claim_key(claim, node.group.claims)
            if key is False:
                self._loose[node] = None
                return []
            if key is not None:
                keys.append(((claim.column, claim.kind), key))
        return keys


def claims_of(rule: Rule) -> list[IsClaim] | None:
    """Give comparisons of which one must not fail for a row to be seen; None if there are none to go by."""
    match rule:
        case Nobody():
            return []
        case IsClaim():
            return [rule]
        case AllOf(rules):
            return next((found for each in rules if (found := claims_of(each)) is not None), None)
        case AnyOf(rules):
            parts = [claims_of(each) for each in rules]
            return None if None in parts else [claim for part in parts for claim in part or ()]
    return None


def _claim_key(claim: IsClaim, claims: Mapping[str, object]) -> Key | bool | None:
    """Give the value that a claim asks for; None where no row can have it, False where only SQL knows."""
    text = claim_text(claims, claim.path)
    if text is None or text is False:
        return text
    match claim.kind:
        case "uuid":
            return canonical_uuid(text)
        case "number":
            number = parse_whole_number(text, least=-_FARTHEST, most=_FARTHEST)
            return False if number is None else number
    return text
