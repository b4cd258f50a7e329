"""The messages of transactions become drafts: what one transaction did to one table, cut in pieces of bounded size.

Pure, and the same for the same log: cuts depend on nothing but the messages, so that after a crash the same pieces get
the same numbers again. All tables of a transaction are cut at the same time: when they have `MAX_CHANGES` changes or
`MAX_BYTES` bytes of log together. Values are converted later (tables.py), and not at all for what was published before.

Whether the schema changed in a transaction is known at its end. Pieces that leave before it are told as if it did: then
who reads them looks at the schema once more, which is never wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from schemas.changes import Kind
from workers.replication.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    Decoded,
    Delete,
    Insert,
    Message,
    Relation,
    Row,
    Truncate,
    Update,
)

MAX_CHANGES = 500
MAX_BYTES = 128 * 1024
MARK_PREFIX, MARK = "headwater", b"schema"
ROOMS = ("realtime", "messages")
"""The table whose rows are messages to rooms."""


@dataclass(slots=True)
class Change:
    """One change of one row, not converted."""

    kind: Kind
    new: Row | None
    old: Row | None
    size: int


@dataclass(slots=True)
class Draft:
    """What one transaction did to one table, or a piece of it."""

    relation: Relation
    lsn: int
    committed_at: int
    number: int = 0
    schema_lsn: int = 0
    changes: list[Change] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ended:
    """A transaction is over: with everything before it, `end` may be confirmed. `is_marked`: it changed the schema."""

    end: int
    is_marked: bool


class Rows:
    """Puts messages together. `schema_lsn` is where the schema is known to have changed last, at the latest."""

    def __init__(self, schema_lsn: int) -> None:
        self._schema_lsn = schema_lsn
        self._relations: dict[int, Relation] = {}
        self._begin: Begin | None = None
        self._is_marked = False
        self._number = 0
        self._open: dict[int, Draft] = {}
        self._count = self._bytes = 0

    @property
    def is_inside(self) -> bool:
        """Whether a transaction has begun that has not ended."""
        return self._begin is not None

    def take(self, message: Decoded, size: int) -> Iterator[Draft | Ended]:
        """Take the next message, of `size` bytes; give what is complete with it."""
        match message:
            case Begin():
                self._begin, self._is_marked, self._number = message, False, 0
            case Commit():
                yield from self._end(message)
            case Relation():
                yield from self._learn(message)
            case Message(is_transactional=True, prefix=prefix, content=content):
                self._is_marked |= prefix == MARK_PREFIX and content == MARK
            case Insert() | Update() | Delete():
                relation = self._relations[message.relation]
                yield from self._add(relation, _change(message, relation, size))
            case Truncate():
                for oid in message.relations:
                    yield from self._add(self._relations[oid], Change(Kind.TRUNCATE, None, None, size))

    def _learn(self, relation: Relation) -> Iterator[Draft]:
        """Changes of a table before and after an ALTER in the same transaction have different columns."""
        before = self._relations.get(relation.oid)
        self._relations[relation.oid] = relation
        if before != relation and relation.oid in self._open:
            yield from self._cut()

    def _add(self, relation: Relation, change: Change) -> Iterator[Draft]:
        assert self._begin is not None
        if self._count and self._bytes + change.size > MAX_BYTES:
            yield from self._cut()
        draft = self._open.get(relation.oid)
        if draft is None:
            draft = Draft(relation, self._begin.lsn, self._begin.committed_at)
            self._open[relation.oid] = draft
        draft.changes.append(change)
        self._count += 1
        self._bytes += change.size
        if self._count >= MAX_CHANGES:
            yield from self._cut()

    def _cut(self, schema_lsn: int | None = None) -> Iterator[Draft]:
        assert self._begin is not None
        drafts, self._open = list(self._open.values()), {}
        self._count = self._bytes = 0
        for draft in drafts:
            draft.number = self._number
            draft.schema_lsn = self._begin.lsn if schema_lsn is None else schema_lsn
            self._number += 1 if (draft.relation.schema, draft.relation.name) != ROOMS else len(draft.changes)
            yield draft

    def _end(self, commit: Commit) -> Iterator[Draft | Ended]:
        if self._is_marked:
            self._schema_lsn = commit.lsn
        yield from self._cut(self._schema_lsn)
        self._begin = None
        yield Ended(commit.end, self._is_marked)


def _change(message: Insert | Update | Delete, relation: Relation, size: int) -> Change:
    match message:
        case Insert():
            return Change(Kind.INSERT, message.new, None, size)
        case Delete():
            old = message.old if message.is_whole else _identity_of(relation, message.old)
            return Change(Kind.DELETE, None, old, size)
    if message.old is None:
        kept = _identity_of(relation, message.new) if relation.identity in "di" else None
        return Change(Kind.UPDATE, message.new, kept, size)
    if message.is_whole:
        new = [
            before if cell is UNCHANGED else cell
            for cell, before in zip(message.new, message.old, strict=True)
        ]
        return Change(Kind.UPDATE, new, message.old, size)
    old = _identity_of(relation, message.old)
    new = [
        before if cell is UNCHANGED and column.is_identity else cell
        for cell, before, column in zip(message.new, old, relation.columns, strict=True)
    ]
    return Change(Kind.UPDATE, new, old, size)


def _identity_of(relation: Relation, row: Row) -> Row:
    """Give the columns of the replica identity; the others, which such a row has as NULL, are not in the log."""
    return [
        cell if column.is_identity else UNCHANGED for cell, column in zip(row, relation.columns, strict=True)
    ]
