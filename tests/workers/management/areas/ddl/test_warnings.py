"""Warnings of changes: what loses data, rewrites, reads all rows, or opens a table."""

from typing import Any

import msgspec
import pytest

from workers.management.areas.catalog.model import ColumnInfo, RelationInfo
from workers.management.areas.ddl.changes import Change
from workers.management.areas.ddl.warnings import loses_data, warnings_of

_COLUMN = ColumnInfo("v", 1, "character varying(5)", "pg_catalog", "varchar", "base", False, True)
_TABLE = RelationInfo(
    schema="public", name="t", kind="table", owner="postgres", has_row_security=False, forces_row_security=False, bytes=2**20, table_bytes=0,
    options=[], publications=[], parents=[], partitions={}, columns=[_COLUMN], constraints=[], referenced_by=[], indexes=[], triggers=[], policies=[],
    grants=[], rows=1234,
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({"change": "drop_table", "table": "t"}, {"data_loss", "lock"}),
        ({"change": "drop_column", "table": "t", "column": "v"}, {"data_loss", "lock"}),
        ({"change": "drop_schema", "schema": "s", "cascade": True}, {"data_loss"}),
        ({"change": "drop_schema", "schema": "s"}, set()),
        ({"change": "drop_view", "name": "v"}, set()),
        ({"change": "add_column", "table": "t", "column": {"name": "c", "type": "int"}}, {"lock"}),
        ({"change": "add_column", "table": "t", "column": {"name": "c", "type": "timestamptz", "default": "now()"}}, {"lock"}),
        ({"change": "add_column", "table": "t", "column": {"name": "c", "type": "uuid", "default": "gen_random_uuid()"}}, {"rewrite", "lock"}),
        ({"change": "add_column", "table": "t", "column": {"name": "c", "type": "int", "identity": "always"}}, {"rewrite", "lock"}),
        ({"change": "alter_column", "table": "t", "column": "v", "type": "text"}, {"lock"}),
        ({"change": "alter_column", "table": "t", "column": "v", "type": "varchar(10)"}, {"lock"}),
        ({"change": "alter_column", "table": "t", "column": "v", "type": "varchar(4)"}, {"rewrite", "lock"}),
        ({"change": "alter_column", "table": "t", "column": "v", "type": "int", "using": "length(V)"}, {"rewrite", "lock"}),
        ({"change": "alter_column", "table": "t", "column": "v", "type": "int", "using": "null"}, {"data_loss", "rewrite", "lock"}),
        ({"change": "alter_column", "table": "t", "column": "v", "type": "int", "using": "version()"}, {"data_loss", "rewrite", "lock"}),
        ({"change": "alter_column", "table": "t", "column": "v", "is_nullable": False}, {"scan", "lock"}),
        ({"change": "add_check", "table": "t", "check": "true"}, {"scan", "lock"}),
        ({"change": "add_check", "table": "t", "check": "true", "not_valid": True}, {"lock"}),
        ({"change": "create_index", "table": "t", "parts": [{"column": "v"}]}, {"scan"}),
        ({"change": "create_index", "table": "t", "parts": [{"column": "v"}], "concurrently": True}, {"not_transactional"}),
        ({"change": "create_index", "table": "new", "parts": [{"column": "v"}]}, set()),
        ({"change": "create_table", "table": "n", "columns": [], "row_security": False}, {"exposure"}),
        ({"change": "create_view", "name": "v", "query": "select 1", "security_invoker": False}, {"exposure"}),
        ({"change": "create_policy", "table": "t", "name": "p", "using": "true"}, {"hidden", "lock"}),
        ({"change": "set_row_security", "table": "t", "enabled": True}, {"hidden", "lock"}),
        ({"change": "rename_column", "table": "t", "column": "v", "to": "w"}, {"name", "lock"}),
    ],
)  # fmt: skip
def test_a_change_is_warned_of(change: dict[str, Any], codes: set[str]) -> None:
    warnings = warnings_of([msgspec.convert(change, Change)], {("public", "t"): _TABLE})

    assert {warning.code for warning in warnings} == codes
    assert loses_data(warnings) == ("data_loss" in codes)


_POLICY = {"change": "create_policy", "table": "t", "using": "true"}
_ON = {"change": "set_row_security", "table": "t", "enabled": True}


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ([_ON, _POLICY | {"name": "p"}, _POLICY | {"name": "q"}], ["lock"]),
        ([_POLICY | {"name": "p"}, _ON], ["lock"]),
        ([_POLICY | {"name": "p"}, {"change": "alter_policy", "table": "t", "name": "p", "to": "q"}, {"change": "drop_policy", "table": "t", "name": "q"}, _ON],
         ["lock", "hidden", "hidden"]),
        ([_ON, _POLICY | {"name": "p", "table": "other"}], ["hidden", "lock"]),
    ],
    ids=["policies-after", "policies-before", "policy-dropped", "other-table"],
)  # fmt: skip
def test_changes_are_judged_together_and_each_warning_comes_once(
    changes: list[dict[str, Any]], codes: list[str]
) -> None:
    warnings = warnings_of([msgspec.convert(change, Change) for change in changes], {("public", "t"): _TABLE})

    assert [warning.code for warning in warnings] == codes


def test_sizes_are_said() -> None:
    [loss, _] = warnings_of(
        [msgspec.convert({"change": "drop_table", "table": "t"}, Change)], {("public", "t"): _TABLE}
    )

    assert "about 1,234 rows, 1.0 MB" in loss.message
