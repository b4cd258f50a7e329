"""Statements for columns: creating a table with them, adding, dropping and changing one (pure)."""

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from schemas.platform_names import PLATFORM_SCHEMAS
from workers.project.diff.model import SchemaObject

_CALL = re.compile(r'(?:"((?:[^"]|"")+)"|([a-z_][\w$]*))\.(?:"(?:[^"]|"")+"|[a-z_][\w$]*)\(')


class ColumnDefinition(Struct, frozen=True):
    """A column with the server's spelling of types and defaults."""

    name: str
    type: str
    collation: str
    is_not_null: bool
    identity: str
    generated: str
    default: str


def column_of(item: SchemaObject) -> ColumnDefinition:
    """Return the column of an object of kind `column`."""
    return msgspec.json.decode(item.detail, type=ColumnDefinition)


def definition(column: ColumnDefinition) -> str:
    """Return the definition of a column for `create table` or `add column`."""
    parts = [column.name, column.type]
    if column.collation:
        parts.append(f"collate {column.collation}")
    if column.generated:
        stored = "stored" if column.generated == "s" else "virtual"
        parts.append(f"generated always as ({column.default}) {stored}")
    elif column.identity:
        parts.append(f"generated {'always' if column.identity == 'a' else 'by default'} as identity")
    elif column.default and not needs_function(column):
        parts.append(f"default {column.default}")
    if column.is_not_null:
        parts.append("not null")
    return " ".join(parts)


def needs_function(column: ColumnDefinition) -> bool:
    """Return whether a default calls a function of the project, which is created after the tables."""
    calls = (call[1] or call[2] for call in _CALL.finditer(column.default))
    return not column.generated and any(schema not in (*PLATFORM_SCHEMAS, "pg_catalog") for schema in calls)


def create_table(table: SchemaObject, columns: Iterable[SchemaObject]) -> str:
    """Return the statement that creates a table with its columns."""
    lines = ",\n".join(f"  {definition(column_of(column))}" for column in columns)
    return table.create.replace("(COLUMNS)", f"(\n{lines}\n)" if lines else "()", 1)


def late_default(item: SchemaObject) -> str | None:
    """Return the statement that sets a default which calls a function of the project; None for other defaults."""
    column = column_of(item)
    return (
        f"alter table {item.parent} alter column {column.name} set default {column.default}"
        if needs_function(column)
        else None
    )


def add_column(item: SchemaObject) -> str:
    """Return the statement that adds a column."""
    return f"alter table {item.parent} add column {definition(column_of(item))}"


def drop_column(item: SchemaObject) -> str:
    """Return the statement that drops a column."""
    return f"alter table {item.parent} drop column {item.create}"


def alter_column(before: SchemaObject, after: SchemaObject) -> Iterator[str]:
    """Yield the statements that change a column; a generated one is dropped and added again."""
    old, new = column_of(before), column_of(after)
    if old.generated != new.generated or (new.generated and old.default != new.default):
        yield drop_column(before)
        yield add_column(after)
        return
    head = f"alter table {after.parent} alter column {new.name}"
    changes_type = (old.type, old.collation) != (new.type, new.collation)
    if changes_type and old.default and not new.generated:
        yield f"{head} drop default"
    if changes_type:
        collation = f" collate {new.collation}" if new.collation else ""
        using = "" if new.generated else f" using {new.name}::{new.type}"
        yield f"{head} type {new.type}{collation}{using}"
    if old.identity and old.identity != new.identity:
        yield f"{head} drop identity"
    if not new.default and old.default and not changes_type:
        yield f"{head} drop default"
    if new.default and not new.generated and (new.default != old.default or changes_type):
        yield f"{head} set default {new.default}"
    if old.is_not_null != new.is_not_null:
        yield f"{head} {'set' if new.is_not_null else 'drop'} not null"
    if new.identity and old.identity != new.identity:
        yield f"{head} add generated {'always' if new.identity == 'a' else 'by default'} as identity"
