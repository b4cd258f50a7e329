"""What is told of a change, and what is not."""

from typing import Any

import msgspec

from schemas.changes import ChangeBatch, ChangeKind, Position, RowChange
from schemas.realtime import EveryRow, TableGrant
from services.realtime.changes.record import LONGEST, data_of, shape_of
from tests.services.realtime.changes.log import ITEMS, MADE, item
from tests.services.realtime.changes.pool import COLUMNS, table

AT = Position(255, 0, 1)
NEW, OLD = item(1, "u", "new"), item(1, "u", "old")


def told(
    change: RowChange,
    grant: TableGrant | None = None,
    *,
    old_row: bool = True,
    select: list[str] | None = None,
    key: bool = True,
) -> dict[str, Any]:
    columns = ITEMS if key else [msgspec.structs.replace(column, is_key=False) for column in ITEMS]
    batch = ChangeBatch("public", "items", AT.lsn, AT.number, MADE, 0, columns, "d", [change])
    shape = shape_of("public", "items", columns, grant or table(), select)
    return msgspec.json.decode(data_of(shape, batch, change, AT, is_old_row_seen=old_row))  # type: ignore[no-any-return]


def test_an_insert_has_all_columns_and_its_moment() -> None:
    assert told(RowChange(ChangeKind.INSERT, NEW)) == {
        "schema": "public",
        "table": "items",
        "type": "INSERT",
        "commit_timestamp": "2026-01-01T00:00:00.123Z",
        "columns": [{"name": name, "type": type} for name, type in COLUMNS],
        "record": {"id": 1, "user_id": "u", "body": "new", "amount": 1},
        "errors": None,
        "position": "ff-0-1",
    }


def test_columns_that_the_role_may_not_select_are_not_told() -> None:
    data = told(RowChange(ChangeKind.UPDATE, NEW, OLD), table(columns=COLUMNS[:1]))

    assert data["columns"] == [{"name": "id", "type": "int8"}]
    assert (data["record"], data["old_record"]) == ({"id": 1}, {"id": 1})


def test_selected_columns_come_with_the_key() -> None:
    data = told(RowChange(ChangeKind.INSERT, NEW), select=["body"])

    assert data["record"] == {"id": 1, "body": "new"}


def test_values_that_are_not_in_the_log_are_missing() -> None:
    data = told(RowChange(ChangeKind.UPDATE, [b"1", b"null", None, b"2"], [b"1", None, None, None]))

    assert data["record"] == {"id": 1, "user_id": None, "amount": 2}
    assert data["old_record"] == {"id": 1}


def test_an_old_row_that_may_not_be_seen_is_its_key() -> None:
    assert told(RowChange(ChangeKind.UPDATE, NEW, OLD), old_row=False)["old_record"] == {"id": 1}
    assert told(RowChange(ChangeKind.DELETE, None, OLD), old_row=False)["old_record"] == {"id": 1}
    assert told(RowChange(ChangeKind.DELETE, None, OLD))["old_record"]["body"] == "old"


def test_a_table_without_a_key_is_an_error() -> None:
    grant = TableGrant(COLUMNS, [], True, False, EveryRow(), 0)
    data = told(RowChange(ChangeKind.INSERT, NEW), grant, key=False)

    assert data["errors"] == ["Error 400: Bad Request, no primary key"]
    assert not data.keys() & {"record", "columns", "commit_timestamp"}


def test_a_key_that_may_not_be_selected_is_an_error() -> None:
    grant = table(columns=COLUMNS[1:])

    assert told(RowChange(ChangeKind.UPDATE, NEW, OLD), grant)["errors"] == ["Error 401: Unauthorized"]
    assert told(RowChange(ChangeKind.DELETE, None, OLD), grant)["old_record"] == {
        "user_id": "u",
        "body": "old",
        "amount": 1,
    }


def test_a_change_that_is_too_large_says_so() -> None:
    data = told(RowChange(ChangeKind.INSERT, [b"1", None, None, b"2"], None, LONGEST + 1))

    assert data["errors"] == ["Error 413: Payload Too Large"]
    assert data["record"] == {"id": 1, "amount": 2}
