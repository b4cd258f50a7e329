"""Batches whose values are long only as JSON."""

import pytest

from broker.codec import decoder
from schemas.changes import ChangeBatch, ChangeColumn, ChangeKind, RowChange
from workers.replication import values
from workers.replication.column_types import ColumnType
from workers.replication.messages import LONGEST, batch_of
from workers.replication.pgoutput import LoggedRelation, RelationColumn
from workers.replication.tables import LoggedTable, TableCatalog
from workers.replication.transactions import LoggedChange, TableDraft

_NAMES = ("id", "word")
_RELATION = LoggedRelation(
    1, "public", "t", "d", tuple(RelationColumn(name, 25, -1, name == "id") for name in _NAMES)
)
_TABLE = LoggedTable(
    _RELATION,
    [ChangeColumn(name, "text", name == "id") for name in _NAMES],
    [ColumnType("text", values.string)] * 2,
    [values.string] * 2,
    (),
)


def _draft(changes: int) -> TableDraft:
    made = [LoggedChange(ChangeKind.INSERT, [b"1", b"x"], None, 10) for _ in range(changes)]
    return TableDraft(_RELATION, 100, 0, changes=made)


@pytest.mark.parametrize(
    ("changes", "word", "limit", "kept"),
    [
        (1, b'"' + b"x" * 9000 + b'"', 4000, [b"1", None]),
        (100, b'"' + b"x" * 300 + b'"', 20_000, [None, None]),
    ],
    ids=["one long value", "many short values"],
)
def test_short_texts_whose_json_is_long_are_left_out(
    changes: int, word: bytes, limit: int, kept: list[bytes | None]
) -> None:
    """A cast to json of a project's own type may make anything of a short text."""
    rows = [[b"1", word] for _ in range(changes)]

    message, is_cut = batch_of(_draft(changes), _TABLE, rows, [None] * changes, limit)

    batch = decoder(ChangeBatch)(message.payload)
    assert is_cut
    assert len(message.payload) <= limit
    assert batch.changes == [RowChange(ChangeKind.INSERT, kept, None, LONGEST + 1)] * changes


async def test_a_cast_to_json_that_returns_null_is_null() -> None:
    """Postgres answers NULL for it, and the changes that follow wait for this one."""

    async def convert(statement: str, texts: list[str]) -> list[tuple[str | None]]:
        del statement
        return [(None if text == "nothing" else '"some"',) for text in texts]

    catalog = TableCatalog(convert, convert)
    kinds = [ColumnType("text", values.string), ColumnType("mood", None, "public.mood")]
    table = LoggedTable(_RELATION, _TABLE.columns, kinds, [values.string, None], (1,))

    found = await catalog.convert(table, [[b"1", b"nothing"], [b"2", b"other"]])

    assert found == [[b'"1"', b"null"], [b'"2"', b'"some"']]
