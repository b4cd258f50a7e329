"""Assembles the messages of transactions into drafts: what one transaction did to one table, in pieces of bounded size.

Pure, and the same for the same log: where a piece ends depends on nothing but the messages, so that after a crash the same
pieces get the same numbers again. All tables of a transaction are cut at the same time: when they have `MAX_CHANGES` changes or
`MAX_BYTES` bytes of log together. Values are converted later (tables.py), and not at all for what was published before.

Whether the schema changed in a transaction is known at its end. Pieces that are complete before are marked as if it had: then
the edges query the schema once more, which is always correct.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from schemas.causes import LONGEST_MESSAGE, SETTING
from schemas.changes import ChangeKind
from workers.replication.pgoutput import (
    UNCHANGED,
    BeginMessage,
    CommitMessage,
    Decoded,
    DeleteMessage,
    InsertMessage,
    LoggedRelation,
    LogicalMessage,
    Row,
    TruncateMessage,
    UpdateMessage,
)

MAX_CHANGES = 500
MAX_BYTES = 128 * 1024
MARK_PREFIX, MARK, FENCE = "headwater", b"schema", b"fence"
"""Messages that mark a change of the schema, and that ask for a tick (workers/sync)."""
MESSAGES_TABLE = ("realtime", "messages")
"""The table whose rows are broadcasts."""
HISTORY_SCHEMA = "headwater_history"
"""Its tables are written by a consumer of the stream (workers/history). A publication of all tables would have each of its writes
published, read and written again, so their changes are left out here."""
_MOST_CAUSES = 16
"""Causes of one draft, which is cut when it has as many: a transaction may write another message of the log for each change."""


@dataclass(slots=True)
class LoggedChange:
    """One change of one row, before its values are converted."""

    kind: ChangeKind
    new: Row | None
    old: Row | None
    size: int


@dataclass(slots=True)
class TableDraft:
    """What one transaction did to one table, or a piece of it."""

    relation: LoggedRelation
    lsn: int
    committed_at: int
    xid: int = 0
    number: int = 0
    schema_lsn: int = 0
    ends: bool = False
    """It was cut at the commit: only drafts that were cut there too follow in this transaction."""
    changes: list[LoggedChange] = field(default_factory=list)
    causes: list[tuple[int, bytes]] = field(default_factory=list)
    """As in `ChangeBatch.causes`."""

    def needs_cut_for(self, cause: bytes) -> bool:
        """Return whether a change with this cause needs another draft."""
        return len(self.causes) >= _MOST_CAUSES and self.causes[-1][1] != cause


@dataclass(frozen=True, slots=True)
class LoggedTransactionEnd:
    """The end of a transaction: `end` may be confirmed once everything before it is published. `is_marked`: the transaction
    changed the schema."""

    end: int
    is_marked: bool
    is_fence: bool = False
    """It asks for a tick: that everything before it is in the stream."""


class TransactionAssembler:
    """Assembles messages. `schema_lsn` is a position at or after the last known change of the schema."""

    def __init__(self, schema_lsn: int) -> None:
        self._schema_lsn = schema_lsn
        self._relations: dict[int, LoggedRelation] = {}
        self._keys: dict[int, list[int]] = {}
        """Places of the columns of the replica identity, by relation."""
        self._begin: BeginMessage | None = None
        self._is_marked = self._is_fence = False
        self._cause = b""
        self._number = 0
        self._open: dict[int, TableDraft] = {}
        self._count = self._bytes = 0

    @property
    def is_inside(self) -> bool:
        """Whether a transaction has started and not ended."""
        return self._begin is not None

    def take(self, message: Decoded, size: int) -> Sequence[TableDraft | LoggedTransactionEnd]:
        """Add the next message, of `size` bytes; return what is complete with it. Hot path: rows come first."""
        match message:
            case InsertMessage() | UpdateMessage() | DeleteMessage():
                relation = self._relations[message.relation]
                return self._add(relation, _change(message, relation, self._keys[relation.oid], size))
            case BeginMessage():
                self._begin, self._is_marked, self._is_fence, self._number = message, False, False, 0
                self._cause = b""
            case CommitMessage():
                return self._end(message)
            case LoggedRelation():
                return self._learn(message)
            case LogicalMessage(is_transactional=True, prefix=prefix, content=content) if prefix == SETTING:
                self._cause = content if len(content) <= LONGEST_MESSAGE else b""
            case LogicalMessage(is_transactional=True, prefix=prefix, content=content):
                self._is_marked |= prefix == MARK_PREFIX and content == MARK
                self._is_fence |= prefix == MARK_PREFIX and content == FENCE
            case TruncateMessage():
                change = LoggedChange(ChangeKind.TRUNCATE, None, None, size)
                return [
                    draft for oid in message.relations for draft in self._add(self._relations[oid], change)
                ]
        return ()

    def _learn(self, relation: LoggedRelation) -> Sequence[TableDraft]:
        """Remember a table; cut first if an ALTER in the same transaction changed its columns."""
        before = self._relations.get(relation.oid)
        self._relations[relation.oid] = relation
        self._keys[relation.oid] = [
            place for place, column in enumerate(relation.columns) if column.is_identity
        ]
        return self._cut() if before != relation and relation.oid in self._open else ()

    def _add(self, relation: LoggedRelation, change: LoggedChange) -> Sequence[TableDraft]:
        assert self._begin is not None
        if relation.schema == HISTORY_SCHEMA:
            return ()
        complete: list[TableDraft] = []
        draft = self._open.get(relation.oid)
        is_full = self._count and self._bytes + change.size > MAX_BYTES
        if is_full or (draft is not None and draft.needs_cut_for(self._cause)):
            complete += self._cut()
            draft = None
        if draft is None:
            draft = TableDraft(relation, self._begin.lsn, self._begin.committed_at, self._begin.xid)
            self._open[relation.oid] = draft
        if self._cause != (draft.causes[-1][1] if draft.causes else b""):
            draft.causes.append((len(draft.changes), self._cause))
        draft.changes.append(change)
        self._count += 1
        self._bytes += change.size
        if self._count >= MAX_CHANGES:
            complete += self._cut()
        return complete

    def _cut(self, schema_lsn: int | None = None) -> list[TableDraft]:
        assert self._begin is not None
        drafts, self._open = list(self._open.values()), {}
        self._count = self._bytes = 0
        for draft in drafts:
            draft.number = self._number
            draft.schema_lsn = self._begin.lsn if schema_lsn is None else schema_lsn
            draft.ends = schema_lsn is not None
            self._number += (
                1 if (draft.relation.schema, draft.relation.name) != MESSAGES_TABLE else len(draft.changes)
            )
        return drafts

    def _end(self, commit: CommitMessage) -> Sequence[TableDraft | LoggedTransactionEnd]:
        if self._is_marked:
            self._schema_lsn = commit.lsn
        drafts = self._cut(self._schema_lsn)
        self._begin = None
        return [*drafts, LoggedTransactionEnd(commit.end, self._is_marked, self._is_fence)]


def _change(
    message: InsertMessage | UpdateMessage | DeleteMessage,
    relation: LoggedRelation,
    key: Sequence[int],
    size: int,
) -> LoggedChange:
    """Return the change of a message. `key` are the places of the columns of the replica identity."""
    match message:
        case InsertMessage():
            return LoggedChange(ChangeKind.INSERT, message.new, None, size)
        case DeleteMessage():
            old = message.old if message.is_whole else _identity_of(key, message.old)
            return LoggedChange(ChangeKind.DELETE, None, old, size)
    if message.old is None:
        old_key = _identity_of(key, message.new) if relation.identity in "di" else None
        return LoggedChange(ChangeKind.UPDATE, message.new, old_key, size)
    if message.is_whole:
        new = [
            before if cell is UNCHANGED else cell
            for cell, before in zip(message.new, message.old, strict=True)
        ]
        return LoggedChange(ChangeKind.UPDATE, new, message.old, size)
    old, new = _identity_of(key, message.old), list(message.new)
    for place in key:
        if new[place] is UNCHANGED:
            new[place] = old[place]
    return LoggedChange(ChangeKind.UPDATE, new, old, size)


def _identity_of(key: Sequence[int], row: Row) -> Row:
    """Return a row with the columns of the replica identity only: the others are not in the log, and read as NULL."""
    identity: Row = [UNCHANGED] * len(row)
    for place in key:
        identity[place] = row[place]
    return identity
