"""Who gets which change of a batch: as far as it can be told here at once, the rest by questions to the pool.

For each change the nodes that match it (`Node`: subscribers who want and may see the same). An entry matches by its event,
its filter, and under row security by the rule of its role; errors that are told instead of a row (no primary key, no right
to it) go to all whose event matches. DELETE is not judged by the rule, for the row is gone: its key alone is told. With the
option `deletes_are_checked` it is told only to whom the rule shows the old row, as far as the log has that.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from broker.codec import encode
from schemas.changes import Batch, Kind, RowChange, Values
from schemas.realtime import Everybody, Nobody, Rule, Table
from schemas.realtime_rules import may_see
from services.realtime.changes.asking import Asking, Place
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
                elif not (grant.can_see_key and (has_key or grant.key)):
                    found.update(_of_kind(index.all_of(judged.place, role), change.kind))
                    continue
                else:
                    has_rule = grant.row_security
                yield from _judge_role(judged, found, index, number, role, row, has_rule)
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
    judged: Judged, found: dict[Node, None], index: Index, number: int, role: str, row: Row, has_rule: bool
) -> Iterator[None]:
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
    """Ask VISIBLE once for each key (all roles have the same but in odd moments); give what may be seen."""
    shown = [(doubt.number, doubt.node) for doubt in doubts if not doubt.by_rule]
    by_key: defaultdict[tuple[str, ...], list[_Doubt]] = defaultdict(list)
    for doubt in doubts:
        if doubt.by_rule:
            by_key[tuple(judged.grants[doubt.node.group.role].key)].append(doubt)

    async def ask(key: tuple[str, ...], same: list[_Doubt]) -> None:
        places = _key_places(judged.batch, key)
        rows: dict[int, list[bytes]] = {}
        for doubt in same:
            values = judged.batch.changes[doubt.number].new or []
            cells = [values[place] for place in places] if places else []
            if cells and all(cell not in (None, _NULL) for cell in cells):
                rows[doubt.number] = [cell for cell in cells if cell is not None]
        if not rows:
            return
        groups = list(dict.fromkeys(doubt.node.group for doubt in same))
        flags = await asking.visible(judged.place, key, list(rows.values()), groups)
        by_group: dict[Group, bytes] = dict(zip(groups, flags, strict=True))
        at = {number: place for place, number in enumerate(rows)}
        shown.extend(
            (doubt.number, doubt.node)
            for doubt in same
            if doubt.number in at and by_group[doubt.node.group][at[doubt.number]] == 1
        )

    await _all(ask(key, same) for key, same in by_key.items())
    return shown


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
