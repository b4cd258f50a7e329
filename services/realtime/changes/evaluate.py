"""Who gets which change of a batch: as far as it can be told here at once, the rest by questions to the pool.

For each change the nodes that match it (`Node`: subscribers who want and may see the same). An entry matches by its event,
its filter, and under row security by the rule of its role; errors that are told instead of a row (no primary key, no right
to it) go to all whose event matches.

DELETE under row security is not judged by the rule, for the row is gone: it goes to all, with its key alone. Its filter must
not tell more than that, or a subscriber could guess the values of hidden rows, one filter a guess. So conditions on columns
other than the key match only where the rule shows the old row here (`may_see`, as far as the log has its columns); where only
SQL knows, they match nothing. With the option `deletes_are_checked` a DELETE goes only to those whom the rule shows the old row.

INSERT and UPDATE that only SQL can judge are judged by the row as it is now, so the row must still have the values that would
be delivered (`workers/realtime/visibility.py`). Where it has others, an UPDATE is left out, for the change that superseded it
comes later in the log; of an INSERT the key alone is delivered, unless a filter looks at other columns.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from broker.codec import encode
from schemas.changes import Batch, Column, Kind, RowChange, Values
from schemas.realtime import SUPERSEDED, Everybody, Nobody, Rule, Table
from schemas.realtime_rules import may_see
from services.realtime.changes.asking import Asking, Compared, LoggedRow, Place
from services.realtime.changes.filters import Row, passes
from services.realtime.changes.groups import Group
from services.realtime.changes.index import Index
from services.realtime.changes.seats import Node

_NULL = b"null"
_STEP = 1000
"""Nodes of a step: a few milliseconds."""


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A node of which only SQL knows whether it gets a change."""

    number: int
    node: Node
    by_filter: bool
    by_rule: bool


@dataclass(slots=True)
class Judged:
    """A batch and the nodes that get each of its changes; complete when there are no doubts."""

    batch: Batch
    grants: Mapping[str, Table]
    matched: list[list[Node]]
    doubts: list[_Doubt] = field(default_factory=list)
    bare: set[tuple[int, Node]] = field(default_factory=set)
    """Changes and nodes that get the key alone, for the row has other values by now."""

    @property
    def place(self) -> Place:
        """Give schema and table."""
        return self.batch.schema, self.batch.table


def judge(
    batch: Batch, grants: Mapping[str, Table], index: Index, *, deletes_are_checked: bool = False
) -> Judged:
    """Find the nodes that match, with the grants of all roles that subscribe to the table. Pure."""
    judged = Judged(batch, grants, [])
    for _ in _steps(judged, index, deletes_are_checked):
        pass
    return judged


async def judge_in_steps(
    batch: Batch, grants: Mapping[str, Table], index: Index, *, deletes_are_checked: bool = False
) -> Judged:
    """Find what `judge` finds, with an iteration of the event loop after each step: for tables with many subscribers.

    Subscribers that come meanwhile are none of this batch's, whatever the index says: a seat knows from where on it is served.
    """
    judged = Judged(batch, grants, [])
    for _ in _steps(judged, index, deletes_are_checked):
        await asyncio.sleep(0)
    return judged


def _steps(judged: Judged, index: Index, deletes_are_checked: bool) -> Iterator[None]:
    batch, grants = judged.batch, judged.grants
    names = [column.name for column in batch.columns]
    has_key = any(column.is_key for column in batch.columns)
    for number, change in enumerate(batch.changes):
        found: dict[Node, None] = {}
        values = change.old if change.kind is Kind.DELETE else change.new
        if values is not None and change.kind is not Kind.TRUNCATE:
            row = dict(zip(names, values, strict=True))
            for role, grant in grants.items():
                if change.kind is Kind.DELETE:
                    has_rule = deletes_are_checked and grant.row_security
                    keys = key_columns(batch.columns, grant) if grant.row_security else None
                    yield from _judge_role(judged, found, index, number, role, row, has_rule, keys)
                    continue
                elif not (grant.can_see_key and (has_key or grant.key)):
                    found.update(_of_kind(index.all_of(judged.place, role), change.kind))
                    continue
                else:
                    has_rule = grant.row_security
                yield from _judge_role(judged, found, index, number, role, row, has_rule, None)
        judged.matched.append(list(found))


async def settle(judged: Judged, asking: Asking) -> None:
    """Ask for all that is in doubt, and take in those that match."""
    doubts, judged.doubts = judged.doubts, []
    doubts = await _settle_filters(judged, doubts, asking)
    shown = await _settle_rules(judged, doubts, asking)
    for number, node in shown:
        judged.matched[number].append(node)


def sees_old_row(
    judged: Judged, node: Node, change: RowChange, row: Row, *, are_deletes_checked: bool
) -> bool:
    """Tell whether all that the log has of the old row may be shown, and not its key alone. `row` is the old row."""
    grant = judged.grants[node.group.role]
    if not grant.row_security:
        return True
    if change.kind is Kind.DELETE:
        return are_deletes_checked  # else it would not have come here
    if judged.batch.identity != "f" or node.group.claims is None:
        return False
    return may_see(grant.rule, row, node.group.claims) is True


def _judge_role(
    judged: Judged,
    found: dict[Node, None],
    index: Index,
    number: int,
    role: str,
    row: Row,
    has_rule: bool,
    open_columns: frozenset[str] | None,
) -> Iterator[None]:
    """Find the nodes of a role. `open_columns` are those of a row under row security that all may know; None: no limit."""
    grant, change = judged.grants[role], judged.batch.changes[number]
    if has_rule:
        candidates = index.by_rule(judged.place, role, grant.rule, row)
    else:
        candidates = index.by_filter(judged.place, role, row)
    granted = {name for name, _ in grant.columns}
    for count, node in enumerate(_of_kind(candidates, change.kind), 1):
        if count % _STEP == 0:
            yield
        if any(condition.column not in granted for condition in node.binding.filters):
            continue  # the right was taken away since the filter was checked
        if open_columns is not None and not _is_open(node, grant.rule, row, open_columns):
            continue
        by_filter = passes(node.binding.filters, row)
        if by_filter is False:
            continue
        by_rule: bool | None = True
        if has_rule:
            claims = node.group.claims
            by_rule = may_see(grant.rule, row, claims) if claims is not None else _without_claims(grant.rule)
            if by_rule is False or (by_rule is None and change.kind is Kind.DELETE):
                continue
        if by_filter and by_rule:
            found[node] = None
        else:
            judged.doubts.append(_Doubt(number, node, by_filter is None, by_rule is None))


def key_columns(columns: Iterable[Column], grant: Table) -> frozenset[str]:
    """Return the columns of which everybody is told when a row is deleted."""
    return frozenset(column.name for column in columns if column.is_key) or frozenset(grant.key)


def _is_open(node: Node, rule: Rule, row: Row, open_columns: frozenset[str]) -> bool:
    """Return whether a filter may look at a row: by the open columns alone, or because the rule shows the row."""
    if all(condition.column in open_columns for condition in node.binding.filters):
        return True
    claims = node.group.claims
    if claims is None:
        return _without_claims(rule) is True
    return may_see(rule, row, claims) is True


def _of_kind(nodes: Iterable[Node], kind: Kind) -> dict[Node, None]:
    return {node: None for node in nodes if node.binding.kind is None or node.binding.kind is kind}


def _without_claims(rule: Rule) -> bool | None:
    """Judge by a rule for claims that only Postgres can read."""
    match rule:
        case Everybody():
            return True
        case Nobody():
            return False
    return None


async def _settle_filters(judged: Judged, doubts: list[_Doubt], asking: Asking) -> list[_Doubt]:
    """Ask MATCH once for each filter; give the doubts that are left, or none for a node whose filter failed."""
    by_filter: defaultdict[bytes, list[_Doubt]] = defaultdict(list)
    for doubt in doubts:
        if doubt.by_filter:
            by_filter[encode(doubt.node.binding.filters)].append(doubt)
    failed: set[int] = set()

    async def ask(same: list[_Doubt]) -> None:
        numbers = list(dict.fromkeys(doubt.number for doubt in same))
        filters = list(same[0].node.binding.filters)
        columns = {condition.column for condition in filters}
        rows = [_object(judged.batch, number, columns) for number in numbers]
        flags = dict(zip(numbers, await asking.matches(judged.place, filters, rows), strict=True))
        failed.update(id(doubt) for doubt in same if not flags[doubt.number])

    await _all(ask(same) for same in by_filter.values())
    return [doubt for doubt in doubts if id(doubt) not in failed]


async def _settle_rules(judged: Judged, doubts: list[_Doubt], asking: Asking) -> list[tuple[int, Node]]:
    """Ask VISIBLE once for each key and set of columns (roles with equal rights have the same); give what may be seen."""
    shown = [(doubt.number, doubt.node) for doubt in doubts if not doubt.by_rule]
    by_key: defaultdict[Compared, list[_Doubt]] = defaultdict(list)
    for doubt in doubts:
        if doubt.by_rule:
            by_key[_compared(judged, doubt.node.group.role)].append(doubt)

    async def ask(compared: Compared, same: list[_Doubt]) -> None:
        rows: dict[int, LoggedRow] = {}
        for number in dict.fromkeys(doubt.number for doubt in same):
            if (row := _row_of(judged.batch, number, compared)) is not None:
                rows[number] = row
        if not rows:
            return
        groups = list(dict.fromkeys(doubt.node.group for doubt in same))
        flags = await asking.visible(judged.place, compared, list(rows.values()), groups)
        by_group: dict[Group, bytes] = dict(zip(groups, flags, strict=True))
        at = {number: place for place, number in enumerate(rows)}
        for doubt in same:
            flag = by_group[doubt.node.group][at[doubt.number]] if doubt.number in at else 0
            if flag == 1 or (flag == SUPERSEDED and _is_bare(judged, doubt)):
                shown.append((doubt.number, doubt.node))

    await _all(ask(compared, same) for compared, same in by_key.items())
    return shown


def _compared(judged: Judged, role: str) -> Compared:
    """Return the key of a table, and the other columns that may be delivered to a role."""
    grant = judged.grants[role]
    granted = {name for name, _ in grant.columns} - set(grant.key)
    columns = tuple(column.name for column in judged.batch.columns if column.name in granted)
    return Compared(tuple(grant.key), columns)


def _row_of(batch: Batch, number: int, compared: Compared) -> LoggedRow | None:
    """Return a row of the log as it is compared; None if its key is not there."""
    values = batch.changes[number].new or []
    places = _key_places(batch, compared.key)
    cells = [values[place] for place in places] if places and values else []
    if not cells or any(cell in (None, _NULL) for cell in cells):
        return None
    names = {column.name: place for place, column in enumerate(batch.columns)}
    return [*cells, *(values[names[name]] for name in compared.columns)]


def _is_bare(judged: Judged, doubt: _Doubt) -> bool:
    """Note that a node gets the key alone of a superseded change, if it gets that at all; return whether it does."""
    keys = key_columns(judged.batch.columns, judged.grants[doubt.node.group.role])
    is_bare = judged.batch.changes[doubt.number].kind is Kind.INSERT and all(
        condition.column in keys for condition in doubt.node.binding.filters
    )
    if is_bare:
        judged.bare.add((doubt.number, doubt.node))
    return is_bare


async def _all(asked: Iterable[Awaitable[None]]) -> None:
    await asyncio.gather(*asked)


def _key_places(batch: Batch, key: tuple[str, ...]) -> list[int]:
    """Give where the key stands in a row; a single key column that was renamed since is known by its mark."""
    names = {column.name: place for place, column in enumerate(batch.columns)}
    if all(name in names for name in key):
        return [names[name] for name in key]
    marked = [place for place, column in enumerate(batch.columns) if column.is_key]
    return marked if len(marked) == len(key) == 1 else []


def _object(batch: Batch, number: int, columns: set[str]) -> bytes:
    change = batch.changes[number]
    values: Values = (change.old if change.kind is Kind.DELETE else change.new) or []
    members = [
        msgspec.json.encode(column.name) + b":" + (value or _NULL)
        for column, value in zip(batch.columns, values, strict=True)
        if column.name in columns
    ]
    return b"{%b}" % b",".join(members)
