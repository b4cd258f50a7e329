"""Every change makes SQL that the parser of Postgres reads as the statement it is meant to be."""

from typing import Any, get_args

import msgspec
import pglast
import pytest

from workers.management.areas.ddl.changes import Change, migration_text, statements_of
from workers.management.interface.errors import ManagementError

T = {"schema": "a b", "table": 't"x'}
KEY = {
    "target_table": "other",
    "target_schema": "s",
    "target_columns": ["id"],
    "on_delete": "set null",
    "on_update": "cascade",
    "is_deferrable": True,
}
CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({"change": "create_table", **T, "columns": [{"name": "id", "type": "uuid", "default": "gen_random_uuid()", "is_nullable": False, "is_unique": True,
      "check": "id is not null", "references": KEY, "comment": "c"}, {"name": "g", "type": "int", "generated": "1 + 1", "is_stored": False},
      {"name": "i", "type": "int", "identity": "by default"}], "primary_key": ["id"], "unique": [["id", "g"]], "checks": ["g > 0"],
      "foreign_keys": [{"columns": ["g"], "references": KEY, "name": "fk"}], "comment": "it's"},
     ["CreateStmt", "CommentStmt", "CommentStmt", "AlterTableStmt"]),
    ({"change": "create_table", **T, "columns": [], "row_security": False}, ["CreateStmt"]),
    ({"change": "rename_table", **T, "to": "y"}, ["RenameStmt"]),
    ({"change": "move_table", **T, "to": "y"}, ["AlterObjectSchemaStmt"]),
    ({"change": "drop_table", **T, "cascade": True}, ["DropStmt"]),
    ({"change": "add_column", **T, "column": {"name": "c", "type": "text", "comment": "x"}}, ["AlterTableStmt", "CommentStmt"]),
    ({"change": "rename_column", **T, "column": "c", "to": "d"}, ["RenameStmt"]),
    ({"change": "alter_column", **T, "column": "c", "type": "int", "using": "c::int", "default": "5", "is_nullable": False}, ["AlterTableStmt"]),
    ({"change": "alter_column", **T, "column": "c", "default": "", "is_nullable": True, "identity": ""}, ["AlterTableStmt"]),
    ({"change": "drop_column", **T, "column": "c", "cascade": True}, ["AlterTableStmt"]),
    ({"change": "add_primary_key", **T, "columns": ["a", "b"], "name": "n"}, ["AlterTableStmt"]),
    ({"change": "add_unique", **T, "columns": ["a"], "nulls_not_distinct": True}, ["AlterTableStmt"]),
    ({"change": "add_foreign_key", **T, "columns": ["a"], "references": KEY, "not_valid": True}, ["AlterTableStmt"]),
    ({"change": "add_check", **T, "check": "a > 1", "name": "n", "not_valid": True}, ["AlterTableStmt"]),
    ({"change": "validate_constraint", **T, "constraint": "n"}, ["AlterTableStmt"]),
    ({"change": "drop_constraint", **T, "constraint": "n", "cascade": True}, ["AlterTableStmt"]),
    ({"change": "create_index", **T, "parts": [{"column": "a", "is_descending": True, "nulls": "last"}, {"expression": "lower(b)",
      "operator_class": "extensions.gin_trgm_ops"}], "name": "n", "method": "gin", "is_unique": True, "include": ["c"], "where": "a > 1"}, ["IndexStmt"]),
    ({"change": "create_index", **T, "parts": [{"column": "a"}], "concurrently": True}, ["IndexStmt"]),
    ({"change": "drop_index", "schema": "s", "index": "i", "concurrently": True}, ["DropStmt"]),
    ({"change": "create_schema", "schema": "s"}, ["CreateSchemaStmt"]),
    ({"change": "drop_schema", "schema": "s", "cascade": True}, ["DropStmt"]),
    ({"change": "create_enum", "name": "e", "values": ["a'b", ""]}, ["CreateEnumStmt"]),
    ({"change": "add_enum_value", "name": "e", "value": "c", "after": "a'b"}, ["AlterEnumStmt"]),
    ({"change": "rename_enum_value", "name": "e", "value": "c", "to": "d"}, ["AlterEnumStmt"]),
    ({"change": "drop_type", "name": "e", "cascade": True}, ["DropStmt"]),
    ({"change": "create_view", "name": "v", "query": "select 1 as a", "replace": True}, ["ViewStmt"]),
    ({"change": "create_view", "name": "v", "query": "table x", "is_materialized": True}, ["CreateTableAsStmt"]),
    ({"change": "drop_view", "name": "v", "is_materialized": True}, ["DropStmt"]),
    ({"change": "create_function", "definition": "create or replace function f() returns int language sql begin atomic select 1; end"}, ["CreateFunctionStmt"]),
    ({"change": "drop_function", "name": "f", "arguments": 'int, "My T"[]'}, ["DropStmt"]),
    ({"change": "create_trigger", **T, "name": "n", "timing": "before", "events": ["insert", "update"], "function": "f", "update_of": ["a", "b"],
      "when": "new.a > 1", "arguments": ["x'y"]}, ["CreateTrigStmt"]),
    ({"change": "switch_trigger", **T, "name": "n", "enabled": False}, ["AlterTableStmt"]),
    ({"change": "drop_trigger", **T, "name": "n"}, ["DropStmt"]),
    ({"change": "create_extension", "name": "pg_trgm", "schema": "extensions"}, ["CreateExtensionStmt"]),
    ({"change": "drop_extension", "name": "pg_trgm", "cascade": True}, ["DropStmt"]),
    ({"change": "set_comment", "on": "column", "schema": "s", "of": "t", "name": "c", "comment": None}, ["CommentStmt"]),
    ({"change": "set_comment", "on": "policy", "schema": "s", "of": "t", "name": "c", "comment": "x"}, ["CommentStmt"]),
    ({"change": "rename_object", "on": "view", "schema": "s", "name": "v", "to": 'w "x"'}, ["RenameStmt"]),
    ({"change": "rename_object", "on": "schema", "name": "s", "to": "t"}, ["RenameStmt"]),
    ({"change": "rename_object", "on": "constraint", "schema": "s", "of": "t", "name": "c", "to": "d"}, ["RenameStmt"]),
    ({"change": "rename_object", "on": "trigger", "schema": "s", "of": "t", "name": "c", "to": "d"}, ["RenameStmt"]),
    ({"change": "set_comment", "on": "function", "schema": "s", "name": "f", "arguments": "int", "comment": "x"}, ["CommentStmt"]),
    ({"change": "set_row_security", **T, "enabled": True, "forced": False}, ["AlterTableStmt", "AlterTableStmt"]),
    ({"change": "create_policy", **T, "name": "p", "command": "update", "roles": ["anon", "a b"], "using": "true", "check": "a > 1", "is_permissive": False},
     ["CreatePolicyStmt"]),
    ({"change": "alter_policy", **T, "name": "p", "roles": ["public"], "using": "false", "to": "q"}, ["AlterPolicyStmt", "RenameStmt"]),
    ({"change": "drop_policy", **T, "name": "p"}, ["DropStmt"]),
    ({"change": "change_grants", "name": "t", "privileges": ["select", "update"], "columns": ["a", "b"], "roles": ["anon"]}, ["GrantStmt"]),
    ({"change": "change_grants", "on": "schema", "schema": "s", "privileges": ["usage"], "roles": ["public"], "revoke": True}, ["GrantStmt"]),
    ({"change": "change_grants", "on": "function", "name": "f", "arguments": "int", "privileges": ["execute"], "roles": ["anon"]}, ["GrantStmt"]),
    ({"change": "switch_publication", **T, "published": True}, ["AlterPublicationStmt"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "kinds"), CASES, ids=lambda value: value["change"] if isinstance(value, dict) else ""
)
def test_a_change_is_the_statement_it_is_meant_to_be(change: dict[str, Any], kinds: list[str]) -> None:
    statements = statements_of([msgspec.convert(change, Change)])

    parsed = pglast.parse_sql(migration_text(statements))
    assert [type(statement.stmt).__name__ for statement in parsed] == kinds
    assert len(statements) == len(kinds)


def test_every_change_is_tried_here() -> None:
    tags = {kind.__struct_config__.tag for kind in get_args(Change)}

    assert {change["change"] for change, _ in CASES} == tags


@pytest.mark.parametrize(
    "change",
    [
        {"change": "alter_column", **T, "column": "c"},
        {"change": "alter_policy", **T, "name": "p"},
        {"change": "set_row_security", **T},
        {"change": "create_index", **T, "parts": []},
        {"change": "create_index", **T, "parts": [{"column": "a", "expression": "b"}]},
        {"change": "create_trigger", **T, "name": "n", "timing": "before", "events": [], "function": "f"},
        {"change": "set_comment", "on": "column", "name": "c", "comment": "x"},
        {"change": "rename_object", "on": "trigger", "name": "c", "to": "d"},
        {
            "change": "create_table",
            **T,
            "columns": [{"name": "a", "type": "int", "default": "1", "identity": "always"}],
        },
        {
            "change": "change_grants",
            "on": "schema",
            "privileges": ["usage"],
            "roles": ["a"],
            "columns": ["b"],
        },
        {"change": "change_grants", "name": "t", "privileges": [], "roles": ["a"]},
        {"change": "create_policy", **T, "name": "p"},
        {"change": "create_policy", **T, "name": "p", "command": "select", "check": "true"},
        {"change": "add_enum_value", "name": "e", "value": "v", "before": "a", "after": "b"},
    ],
)
def test_a_change_that_says_nothing_or_too_much_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ManagementError):
        statements_of([msgspec.convert(change, Change)])
