"""Decides which subscriptions match each change of a batch: here at once where possible, the rest by queries to the pool.

A subscription matches by its event, its filter, and under row security by the rule of its role. If the table
lacks a primary key, or the role may not select it, all subscribers whose event matches receive an error instead of the row.

DELETE under row security cannot be judged by the rule, for the row is gone: it goes to all subscribers, with its key alone. Its
filter must not reveal more than that, or a subscriber could guess the values of hidden rows, one filter a guess. So conditions
on other columns than the key match only if the rule shows the old row (`may_see`, as far as the log has its columns); where
only SQL could tell, they do not match. With the option `deletes_are_checked` a DELETE goes only to subscribers to whom the rule
shows the old row.

INSERT and UPDATE that only SQL can judge are judged by the current row. So the row must still have the values that would be
delivered (`workers/realtime/visibility.py`). If it has others, an UPDATE is left out, because the change that superseded it
comes later in the log; of an INSERT the key alone is delivered, unless the filter reads other columns.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from broker.codec import encode
from schemas.changes import ChangeBatch, ChangeColumn, ChangeKind, RowChange, Values
from schemas.realtime import SUPERSEDED, EveryRow, NoRow, Rule, TableGrant
from schemas.realtime_rules import may_see
from schemas.row_filters import Row, passes
from services.realtime.changes.claims_groups import ClaimsGroup
from services.realtime.changes.pool_queries import ComparedColumns, FeedQueries, LoggedRow, TableName
from services.realtime.changes.subscribers import SharedSubscription
from services.realtime.changes.subscription_index import SubscriptionIndex

_NULL = b"null"
_STEP = 1000
"""Shared subscriptions that are evaluated between two loop iterations: a few milliseconds."""


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A change and a shared subscription for which only SQL can tell whether they match."""

    number: int
    shared: SharedSubscription
    by_filter: bool
    by_rule: bool


@dataclass(slots=True)
class JudgedBatch:
    """A batch and the subscriptions that match each of its changes; complete when `doubts` is empty."""

    batch: ChangeBatch
    grants: Mapping[str, TableGrant]
    matched: list[list[SharedSubscription]]
    doubts: list[_Doubt] = field(default_factory=list)
    bare: set[tuple[int, SharedSubscription]] = field(default_factory=set)
    """Changes and subscriptions that receive the key alone, because the row has other values by now."""

    @property
    def table(self) -> TableName:
        """Return schema and table."""
        return self.batch.schema, self.batch.table


def judge(
    batch: ChangeBatch,
    grants: Mapping[str, TableGrant],
    index: SubscriptionIndex,
    *,
    deletes_are_checked: bool = False,
) -> JudgedBatch:
    """Return the matching subscriptions, by the grants of all roles that subscribe to the table. Pure."""
    judged = JudgedBatch(batch, grants, [])
    for _ in _steps(judged, index, deletes_are_checked):
        pass
    return judged


async def judge_in_steps(
    batch: ChangeBatch,
    grants: Mapping[str, TableGrant],
    index: SubscriptionIndex,
    *,
    deletes_are_checked: bool = False,
) -> JudgedBatch:
    """Do the same as `judge` in steps of `_STEP`, yielding to the event loop between them: for tables with many subscribers.

    Subscribers that are added meanwhile do not receive this batch: `PipelineSubscriber.after` is above its number.
    """
    judged = JudgedBatch(batch, grants, [])
    for _ in _steps(judged, index, deletes_are_checked):
        await asyncio.sleep(0)
    return judged


def _steps(judged: JudgedBatch, index: SubscriptionIndex, deletes_are_checked: bool) -> Iterator[None]:
    batch, grants = judged.batch, judged.grants
    names = [column.name for column in batch.columns]
    has_key = any(column.is_key for column in batch.columns)
    for number, change in enumerate(batch.changes):
        matched: dict[SharedSubscription, None] = {}
        values = change.old if change.kind is ChangeKind.DELETE else change.new
        if values is not None and change.kind is not ChangeKind.TRUNCATE:
            row = dict(zip(names, values, strict=True))
            for role, grant in grants.items():
                if not grant.is_published and (grant.columns or grant.key):
                    continue  # in the log for shapes alone (workers/sync): a subscription to all tables does not cover it
                if change.kind is ChangeKind.DELETE:
                    has_rule = deletes_are_checked and grant.row_security
                    keys = key_columns(batch.columns, grant) if grant.row_security else None
                    yield from _judge_role(judged, matched, index, number, role, row, has_rule, keys)
                    continue
                elif not (grant.can_see_key and (has_key or grant.key)):
                    matched.update(_of_kind(index.all_of(judged.table, role), change.kind))
                    continue
                else:
                    has_rule = grant.row_security
                yield from _judge_role(judged, matched, index, number, role, row, has_rule, None)
        judged.matched.append(list(matched))


async def settle(judged: JudgedBatch, queries: FeedQueries) -> None:
    """Query the pool about all doubts, and add the subscriptions that match."""
    doubts, judged.doubts = judged.doubts, []
    doubts = await _settle_filters(judged, doubts, queries)
    visible = await _settle_rules(judged, doubts, queries)
    for number, shared in visible:
        judged.matched[number].append(shared)


def sees_old_row(
    judged: JudgedBatch, shared: SharedSubscription, change: RowChange, row: Row, *, are_deletes_checked: bool
) -> bool:
    """Return whether the complete old row may be visible, and not its key alone. `row` is the old row."""
    grant = judged.grants[shared.group.role]
    if not grant.row_security:
        return True
    if change.kind is ChangeKind.DELETE:
        return are_deletes_checked  # then only subscriptions to which the rule shows the old row were matched
    if judged.batch.identity != "f" or shared.group.claims is None:
        return False
    return may_see(grant.rule, row, shared.group.claims) is True


def _judge_role(
    judged: JudgedBatch,
    matched: dict[SharedSubscription, None],
    index: SubscriptionIndex,
    number: int,
    role: str,
    row: Row,
    has_rule: bool,
    open_columns: frozenset[str] | None,
) -> Iterator[None]:
    """Add the matching subscriptions of a role. `open_columns`: the columns that a filter may read without a check of the
    rule (the key of a deleted row under row security); None: all columns.
    """
    grant, change = judged.grants[role], judged.batch.changes[number]
    if has_rule:
        candidates = index.by_rule(judged.table, role, grant.rule, row)
    else:
        candidates = index.by_filter(judged.table, role, row)
    granted = {name for name, _ in grant.columns}
    for count, shared in enumerate(_of_kind(candidates, change.kind), 1):
        if count % _STEP == 0:
            yield
        if any(condition.column not in granted for condition in shared.subscription.filters):
            continue  # the right was revoked since the filter was checked
        if open_columns is not None and not _is_open(shared, grant.rule, row, open_columns):
            continue
        by_filter = passes(shared.subscription.filters, row)
        if by_filter is False:
            continue
        by_rule: bool | None = True
        if has_rule:
            claims = shared.group.claims
            by_rule = may_see(grant.rule, row, claims) if claims is not None else _without_claims(grant.rule)
            if by_rule is False or (by_rule is None and change.kind is ChangeKind.DELETE):
                continue
        if by_filter and by_rule:
            matched[shared] = None
        else:
            judged.doubts.append(_Doubt(number, shared, by_filter is None, by_rule is None))


def key_columns(columns: Iterable[ChangeColumn], grant: TableGrant) -> frozenset[str]:
    """Return the columns that all subscribers receive of a deleted row."""
    return frozenset(column.name for column in columns if column.is_key) or frozenset(grant.key)


def _is_open(shared: SharedSubscription, rule: Rule, row: Row, open_columns: frozenset[str]) -> bool:
    """Return whether a filter may read a row: it reads the open columns only, or the rule shows the row."""
    if all(condition.column in open_columns for condition in shared.subscription.filters):
        return True
    claims = shared.group.claims
    if claims is None:
        return _without_claims(rule) is True
    return may_see(rule, row, claims) is True


def _of_kind(candidates: Iterable[SharedSubscription], kind: ChangeKind) -> dict[SharedSubscription, None]:
    return {
        shared: None
        for shared in candidates
        if shared.subscription.kind is None or shared.subscription.kind is kind
    }


def _without_claims(rule: Rule) -> bool | None:
    """Evaluate a rule for claims that only Postgres can read."""
    match rule:
        case EveryRow():
            return True
        case NoRow():
            return False
    return None


async def _settle_filters(judged: JudgedBatch, doubts: list[_Doubt], queries: FeedQueries) -> list[_Doubt]:
    """Send MATCH once for each filter; return the doubts without those whose filter did not match."""
    by_filter: defaultdict[bytes, list[_Doubt]] = defaultdict(list)
    for doubt in doubts:
        if doubt.by_filter:
            by_filter[encode(doubt.shared.subscription.filters)].append(doubt)
    failed: set[int] = set()

    async def query(same: list[_Doubt]) -> None:
        numbers = list(dict.fromkeys(doubt.number for doubt in same))
        filters = list(same[0].shared.subscription.filters)
        columns = {condition.column for condition in filters}
        rows = [_object(judged.batch, number, columns) for number in numbers]
        flags = dict(zip(numbers, await queries.matches(judged.table, filters, rows), strict=True))
        failed.update(id(doubt) for doubt in same if not flags[doubt.number])

    await _all(query(same) for same in by_filter.values())
    return [doubt for doubt in doubts if id(doubt) not in failed]


async def _settle_rules(
    judged: JudgedBatch, doubts: list[_Doubt], queries: FeedQueries
) -> list[tuple[int, SharedSubscription]]:
    """Send VISIBLE once for each set of columns (roles with equal rights have the same); return what is visible."""
    visible = [(doubt.number, doubt.shared) for doubt in doubts if not doubt.by_rule]
    by_key: defaultdict[ComparedColumns, list[_Doubt]] = defaultdict(list)
    for doubt in doubts:
        if doubt.by_rule:
            by_key[_compared(judged, doubt.shared.group.role)].append(doubt)

    async def query(compared: ComparedColumns, same: list[_Doubt]) -> None:
        rows: dict[int, LoggedRow] = {}
        for number in dict.fromkeys(doubt.number for doubt in same):
            if (row := _row_of(judged.batch, number, compared)) is not None:
                rows[number] = row
        if not rows:
            return
        groups = list(dict.fromkeys(doubt.shared.group for doubt in same))
        flags = await queries.visible(judged.table, compared, list(rows.values()), groups)
        by_group: dict[ClaimsGroup, bytes] = dict(zip(groups, flags, strict=True))
        at = {number: place for place, number in enumerate(rows)}
        for doubt in same:
            flag = by_group[doubt.shared.group][at[doubt.number]] if doubt.number in at else 0
            if flag == 1 or (flag == SUPERSEDED and _is_bare(judged, doubt)):
                visible.append((doubt.number, doubt.shared))

    await _all(query(compared, same) for compared, same in by_key.items())
    return visible


def _compared(judged: JudgedBatch, role: str) -> ComparedColumns:
    """Return the key of a table, and the other columns that may be delivered to a role."""
    grant = judged.grants[role]
    granted = {name for name, _ in grant.columns} - set(grant.key)
    columns = tuple(column.name for column in judged.batch.columns if column.name in granted)
    return ComparedColumns(tuple(grant.key), columns)


def _row_of(batch: ChangeBatch, number: int, compared: ComparedColumns) -> LoggedRow | None:
    """Return the compared values of a row; None if the log does not have its key."""
    values = batch.changes[number].new or []
    places = _key_places(batch, compared.key)
    cells = [values[place] for place in places] if places and values else []
    if not cells or any(cell in (None, _NULL) for cell in cells):
        return None
    names = {column.name: place for place, column in enumerate(batch.columns)}
    return [*cells, *(values[names[name]] for name in compared.columns)]


def _is_bare(judged: JudgedBatch, doubt: _Doubt) -> bool:
    """Return whether a subscription receives the key of a superseded change, and note that it receives the key alone."""
    keys = key_columns(judged.batch.columns, judged.grants[doubt.shared.group.role])
    is_bare = judged.batch.changes[doubt.number].kind is ChangeKind.INSERT and all(
        condition.column in keys for condition in doubt.shared.subscription.filters
    )
    if is_bare:
        judged.bare.add((doubt.number, doubt.shared))
    return is_bare


async def _all(queries: Iterable[Awaitable[None]]) -> None:
    await asyncio.gather(*queries)


def _key_places(batch: ChangeBatch, key: tuple[str, ...]) -> list[int]:
    """Return the indexes of the key in a row. A single key column that was renamed since is found by its mark."""
    names = {column.name: place for place, column in enumerate(batch.columns)}
    if all(name in names for name in key):
        return [names[name] for name in key]
    marked = [place for place, column in enumerate(batch.columns) if column.is_key]
    return marked if len(marked) == len(key) == 1 else []


def _object(batch: ChangeBatch, number: int, columns: set[str]) -> bytes:
    change = batch.changes[number]
    values: Values = (change.old if change.kind is ChangeKind.DELETE else change.new) or []
    members = [
        msgspec.json.encode(column.name) + b":" + (value or _NULL)
        for column, value in zip(batch.columns, values, strict=True)
        if column.name in columns
    ]
    return b"{%b}" % b",".join(members)
