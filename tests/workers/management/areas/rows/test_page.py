"""The segments behind a place are disjoint, in order, and all of what is behind it; cursors of other pages are refused."""

import itertools

import pytest

from workers.management.areas.rows.filters import SortKey
from workers.management.areas.rows.page import RowCursor, decode_cursor, encode_cursor, order_digest, segments
from workers.management.areas.rows.table import DescribedTable, TableColumn
from workers.management.interface.errors import ManagementError
from workers.sql.compose import render


def _column(name: str, *, is_nullable: bool) -> TableColumn:
    return TableColumn(name, "integer", "number", "integer", False, is_nullable, False, True)


_TABLE = DescribedTable(
    "public",
    "t",
    "table",
    False,
    28,
    ["k"],
    [_column("a", is_nullable=True), _column("k", is_nullable=False)],
)


def _matches(text: str, params: tuple[object, ...], row: dict[str, int | None]) -> bool:
    """Evaluate a segment, which is a conjunction of comparisons."""
    values = iter(params)
    for term in text.split(" and "):
        name, _, rest = term.removeprefix('"r"."').partition('"')
        value = row[name]
        if rest == " is null":
            holds = value is None
        elif rest == " is not null":
            holds = value is not None
        else:
            operand = next(values)
            assert isinstance(operand, bytes)
            other = int(operand)
            holds = (
                value is not None
                and {"=": value == other, "<": value < other, ">": value > other}[rest.split()[0]]
            )
        if not holds:
            return False
    return True


def _place(key: SortKey, value: int | None) -> tuple[int, int]:
    if value is None:
        return (-1 if key.nulls_first else 1, 0)
    return (0, -value if key.descending else value)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_segments(descending: bool, nulls_first: bool, backward: bool) -> None:
    keys = [
        SortKey(_TABLE.columns[0], descending, nulls_first),
        SortKey(_TABLE.columns[1], descending, descending),
    ]
    if backward:
        keys = [key.reversed() for key in keys]
    numbers = itertools.count()
    rows: list[dict[str, int | None]] = [{"a": a, "k": next(numbers)} for a in (None, 1, 2, None, 1, 3)]
    ordered = sorted(rows, key=lambda row: [_place(key, row[key.column.name]) for key in keys])

    for index, row in enumerate(ordered):
        cursor = [None if row["a"] is None else str(row["a"]), str(row["k"])]
        conditions = [render(segment) for segment in segments(keys, cursor)]
        behind = [match for text, params in conditions for match in ordered if _matches(text, params, match)]
        assert behind == ordered[index + 1 :]


def test_a_cursor_belongs_to_its_order() -> None:
    keys = [SortKey(_TABLE.columns[1], False, False)]
    cursor = RowCursor(order_digest(_TABLE, keys), ["5"])

    assert decode_cursor(encode_cursor(cursor), _TABLE, keys) == cursor
    for text in (
        "",
        "é",
        "x",
        encode_cursor(RowCursor("other", ["5"])),
        encode_cursor(RowCursor(order_digest(_TABLE, keys), ["5", "6"])),
        encode_cursor(RowCursor(order_digest(_TABLE, keys), ["\0"])),
    ):
        with pytest.raises(ManagementError) as refused:
            decode_cursor(text, _TABLE, keys)
        assert refused.value.status == 400
