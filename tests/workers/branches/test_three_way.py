"""Merging two schemas that began as one."""

from workers.branches.three_way import merge_schemas
from workers.project.diff.model import SchemaObject, Snapshot


def schema(**tables: str) -> Snapshot:
    """Return a schema of tables, each with its columns `name:type`."""
    items: list[SchemaObject] = []
    for table, columns in tables.items():
        items.append(SchemaObject("table", table, f"create table {table} (COLUMNS)", f"drop table {table}"))
        for column in columns.split():
            name, _, kind = column.partition(":")
            items.append(SchemaObject("column", f"{table}.{name}", name, "", table, kind))
    return {(item.kind, item.name): item for item in items}


BASE = schema(a="id:int text:text", b="id:int")


def test_changes_of_both_sides_are_in_the_merged_schema():
    branch = schema(a="id:int text:text more:int", b="id:int", c="id:int")
    parent = schema(a="id:bigint text:text", d="id:int")

    merge = merge_schemas(BASE, branch, parent)

    assert merge.conflicts == []
    assert merge.merged == schema(a="id:bigint text:text more:int", c="id:int", d="id:int")


def test_the_same_change_on_both_sides_is_no_conflict():
    both = schema(a="id:int text:varchar", b="id:int")

    assert merge_schemas(BASE, both, both).conflicts == []
    assert merge_schemas(BASE, both, both).merged == both


def test_other_changes_of_the_same_object_are_named():
    branch = schema(a="id:int text:varchar", b="id:int", c="id:int")
    parent = schema(a="id:int", b="id:int", c="id:text")

    assert merge_schemas(BASE, branch, parent).conflicts == [
        "column a.text: the branch changed it, and the parent dropped it",
        "column c.id: the branch added it, and the parent added it differently",
    ]


def test_a_change_of_a_table_that_the_other_side_dropped_is_named():
    without = schema(a="id:int text:text")
    changed = schema(a="id:int text:text", b="id:int new:int")

    assert merge_schemas(BASE, without, changed).conflicts == [
        "column b.new: the parent changed it, and the branch dropped b"
    ]
    assert merge_schemas(BASE, changed, without).conflicts == [
        "column b.new: the branch changed it, and the parent dropped b"
    ]


def test_what_only_the_parent_did_stays():
    parent = schema(a="id:int", e="id:int")

    assert merge_schemas(BASE, BASE, parent).merged == parent
