"""Index of subscriptions: finds those that a row may concern, without a look at each.

Theory. A change must not cost time for each subscriber: thousands subscribe to one table, and each may see a few rows. A shared
subscription is found in two steps. First by the pattern of its table (schema and table, either may be `*`). Then by one value:
the value that an equality condition of its filter requires, or, if its filter has none, the claim with which the rule of its
role compares a column. So a thousand subscribers who each see their own rows cost one lookup a change. A subscription without
such a value is found for every row. The result may contain subscriptions that do not match (`evaluate.py` decides), and never
misses one that does.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from schemas.numbers import parse_whole_number
from schemas.realtime import AllOf, AnyOf, ClaimRule, NoRow, Rule
from schemas.realtime_rules import canonical_uuid, claim_text
from schemas.row_filters import ComparableValue, Row, required_values, value_key
from services.realtime.changes.claims_groups import ClaimsGroup
from services.realtime.changes.pool_queries import TableName
from services.realtime.changes.stream_subjects import Pattern, patterns_of
from services.realtime.changes.subscribers import (
    PipelineSubscriber,
    ResolvedSubscription,
    SharedSubscription,
)

SharedSet = dict[SharedSubscription, None]
ComparedColumn = tuple[str, str]
"""Name of a column, and how its values are compared."""
_NULL = b"null"
_FARTHEST = 10**18
"""Numbers in claims beyond this are left to SQL."""


class SubscriptionIndex:
    """All subscribers of a pipeline."""

    def __init__(self) -> None:
        self.subscribers: dict[PipelineSubscriber, None] = {}
        self._by_pattern: dict[Pattern, _PatternIndex] = {}

    @property
    def patterns(self) -> list[Pattern]:
        """Return the patterns of tables that are subscribed to."""
        return list(self._by_pattern)

    def add(self, subscriber: PipelineSubscriber) -> None:
        """Add a subscriber."""
        self.subscribers[subscriber] = None
        for subscription in subscriber.subscriptions:
            index = self._by_pattern.setdefault(subscription.pattern, _PatternIndex())
            shared = index.share(subscriber.group, subscription)
            (shared.single if len(subscriber.subscriptions) == 1 else shared.several)[subscriber] = None

    def remove(self, subscriber: PipelineSubscriber) -> None:
        """Remove a subscriber, if it is in the index."""
        if self.subscribers.pop(subscriber, subscriber) is subscriber:
            return
        for subscription in subscriber.subscriptions:
            index = self._by_pattern.get(subscription.pattern)
            if index is not None:
                index.leave(subscriber, subscription)
                if index.is_empty:
                    del self._by_pattern[subscription.pattern]

    def roles(self, table: TableName) -> set[str]:
        """Return the roles of the subscribers of a table."""
        return {role for index in self._indexes(table) for role in index.by_role}

    def size_of(self, table: TableName) -> int:
        """Return how many shared subscriptions there are to a table, of all roles."""
        return sum(len(shared) for index in self._indexes(table) for shared in index.by_role.values())

    def subscribers_of(self, table: TableName) -> set[PipelineSubscriber]:
        """Return all subscribers of a table."""
        patterns = set(patterns_of(*table))
        return {
            subscriber
            for subscriber in self.subscribers
            if any(subscription.pattern in patterns for subscription in subscriber.subscriptions)
        }

    def by_rule(self, table: TableName, role: str, rule: Rule, row: Row) -> Iterator[SharedSubscription]:
        """Yield the subscriptions of a role whose filter may match a row, and for which its rule may show the row."""
        for index in self._indexes(table):
            yield from index.by_filter(role, row)
            yield from index.by_rule(table, role, rule, row)

    def all_of(self, table: TableName, role: str) -> Iterator[SharedSubscription]:
        """Yield all subscriptions of a role to a table."""
        for index in self._indexes(table):
            yield from index.by_role.get(role, ())

    def by_filter(self, table: TableName, role: str, row: Row) -> Iterator[SharedSubscription]:
        """Yield the subscriptions of a role whose filter may match a row, whatever its rule is."""
        for index in self._indexes(table):
            yield from index.by_filter(role, row)
            yield from index.without_value(role)

    def _indexes(self, table: TableName) -> list["_PatternIndex"]:
        """Return the indexes of the patterns that match a table."""
        return [
            index for pattern in patterns_of(*table) if (index := self._by_pattern.get(pattern)) is not None
        ]


class _PatternIndex:
    """The shared subscriptions of one pattern: each either by the value that its filter requires, or without a value."""

    def __init__(self) -> None:
        self.by_role: defaultdict[str, SharedSet] = defaultdict(dict)
        self._shared: dict[tuple[ClaimsGroup, ResolvedSubscription], SharedSubscription] = {}
        self._filtered: defaultdict[str, _ValueIndex] = defaultdict(_ValueIndex)
        self._without_value: defaultdict[str, SharedSet] = defaultdict(dict)
        self._by_rule: dict[tuple[TableName, str], _RuleIndex] = {}

    @property
    def is_empty(self) -> bool:
        return not self._shared

    def share(self, group: ClaimsGroup, subscription: ResolvedSubscription) -> SharedSubscription:
        """Return the shared subscription of a group; create it if there is none."""
        shared = self._shared.get((group, subscription))
        if shared is None:
            shared = self._shared[group, subscription] = SharedSubscription(group, subscription)
            self._add(shared)
        return shared

    def leave(self, subscriber: PipelineSubscriber, subscription: ResolvedSubscription) -> None:
        """Remove a subscriber from its shared subscription, and that if it was the last one."""
        shared = self._shared.get((subscriber.group, subscription))
        if shared is not None:
            shared.single.pop(subscriber, None)
            shared.several.pop(subscriber, None)
            if not shared.single and not shared.several:
                del self._shared[subscriber.group, subscription]
                self._remove(shared)

    def by_filter(self, role: str, row: Row) -> Iterator[SharedSubscription]:
        if (values := self._filtered.get(role)) is not None:
            yield from values.find(row, is_missing_unsure=False)

    def without_value(self, role: str) -> Iterator[SharedSubscription]:
        yield from self._without_value.get(role, ())

    def by_rule(self, table: TableName, role: str, rule: Rule, row: Row) -> Iterator[SharedSubscription]:
        index = self._by_rule.get((table, role))
        if index is None or index.rule is not rule:  # built on the first change after a change of the rule
            index = self._by_rule[table, role] = _RuleIndex(rule)
            for shared in self._without_value.get(role, ()):
                index.add(shared)
        yield from index.find(row)

    def _add(self, shared: SharedSubscription) -> None:
        role = shared.group.role
        self.by_role[role][shared] = None
        if (required := _required(shared)) is not None:
            column, values = required
            for value in values:
                self._filtered[role].add(column, value, shared)
            return
        self._without_value[role][shared] = None
        for (_, indexed_role), index in self._by_rule.items():
            if indexed_role == role:
                index.add(shared)

    def _remove(self, shared: SharedSubscription) -> None:
        role = shared.group.role
        self.by_role[role].pop(shared, None)
        if not self.by_role[role]:
            del self.by_role[role]
        if (required := _required(shared)) is not None:
            column, values = required
            for value in values:
                self._filtered[role].remove(column, value, shared)
            return
        self._without_value[role].pop(shared, None)
        for (_, indexed_role), index in self._by_rule.items():
            if indexed_role == role:
                index.remove(shared)


class _ValueIndex:
    """Shared subscriptions by a value of a column."""

    def __init__(self) -> None:
        self._by_column: dict[ComparedColumn, dict[ComparableValue, SharedSet]] = {}

    def add(self, column: ComparedColumn, value: ComparableValue, shared: SharedSubscription) -> None:
        """Add a subscription under a value of a column."""
        self._by_column.setdefault(column, {}).setdefault(value, {})[shared] = None

    def remove(self, column: ComparedColumn, value: ComparableValue, shared: SharedSubscription) -> None:
        """Remove it again."""
        by_value = self._by_column.get(column, {})
        if value in by_value:
            by_value[value].pop(shared, None)
            if not by_value[value]:
                del by_value[value]
                if not by_value:
                    del self._by_column[column]

    def find(self, row: Row, *, is_missing_unsure: bool) -> Iterator[SharedSubscription]:
        """Yield the subscriptions that a row may concern. A value that cannot be compared here concerns all of its column.

        `is_missing_unsure`: so does a value that is not in the log.
        """
        for (column, kind), by_value in self._by_column.items():
            value = row.get(column)
            if value == _NULL or (value is None and not is_missing_unsure):
                continue
            key = None if value is None else value_key(kind, value)
            if key is not None:
                yield from by_value.get(key, ())
            else:
                for shared in by_value.values():
                    yield from shared


class _RuleIndex:
    """Shared subscriptions without a value in their filter, under one rule of their role: by the claim that it compares."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._claims = claims_of(rule)
        self._values = _ValueIndex()
        self._unindexed: SharedSet = {}

    def add(self, shared: SharedSubscription) -> None:
        places = self._places(shared)
        if places is None:
            self._unindexed[shared] = None
        for column, value in places or ():
            self._values.add(column, value, shared)

    def remove(self, shared: SharedSubscription) -> None:
        self._unindexed.pop(shared, None)
        for column, value in self._places(shared) or ():
            self._values.remove(column, value, shared)

    def find(self, row: Row) -> Iterator[SharedSubscription]:
        yield from self._unindexed
        yield from self._values.find(row, is_missing_unsure=True)

    def _places(self, shared: SharedSubscription) -> list[tuple[ComparedColumn, ComparableValue]] | None:
        """Return the columns and values under which a subscription is found; None if it must be found for every row."""
        if self._claims is None or shared.group.claims is None:
            return None
        places: list[tuple[ComparedColumn, ComparableValue]] = []
        for claim in self._claims:
            value = _claim_value(claim, shared.group.claims)
            if value is False:
                return None
            if value is not None:
                places.append(((claim.column, claim.kind), value))
        return places


def claims_of(rule: Rule) -> list[ClaimRule] | None:
    """Return the claim comparisons of which at least one must be true for a row to be visible.

    None if the policy cannot be indexed by claims.
    """
    match rule:
        case NoRow():
            return []
        case ClaimRule():
            return [rule]
        case AllOf(rules):
            return next((claims for part in rules if (claims := claims_of(part)) is not None), None)
        case AnyOf(rules):
            parts = [claims_of(part) for part in rules]
            return None if None in parts else [claim for part in parts for claim in part or ()]
    return None


def _required(shared: SharedSubscription) -> tuple[ComparedColumn, list[ComparableValue]] | None:
    """Return the first column of the filter that must have one of some values, and these; None if there is none."""
    for condition in shared.subscription.filters:
        if (values := required_values(condition)) is not None:
            return (condition.column, condition.local), values
    return None


def _claim_value(claim: ClaimRule, claims: Mapping[str, object]) -> ComparableValue | bool | None:
    """Return the value that a claim requires; None if no row can have it, False if only SQL can tell."""
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
