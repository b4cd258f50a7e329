"""Columns: how a table is made of them, and how one becomes another (pure)."""

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from schemas.platform_names import PLATFORM_SCHEMAS
from workers.project.diff.model import Thing

_CALL = re.compile(r'(?:"((?:[^"]|"")+)"|([a-z_][\w$]*))\.(?:"(?:[^"]|"")+"|[a-z_][\w$]*)\(')


class Column(Struct, frozen=True):
    """A column as the server spells it."""

    name: str
    type: str
    collation: str
    is_not_null: bool
    identity: str
    generated: str
    default: str


def column_of(thing: Thing) -> Column:
    """Read the column of a thing."""
    return msgspec.json.decode(thing.detail, type=Column)


def definition(column: Column) -> str:
    """Spell a column for `create table` or `add column`."""
    parts = [column.name, column.type]
    if column.collation:
        parts.append(f"collate {column.collation}")
    if column.generated:
        stored = "stored" if column.generated == "s" else "virtual"
        parts.append(f"generated always as ({column.default}) {stored}")
    elif column.identity:
        parts.append(f"generated {'always' if column.identity == 'a' else 'by default'} as identity")
    elif column.default and not is_late(column):
        parts.append(f"default {column.default}")
    if column.is_not_null:
        parts.append("not null")
    return " ".join(parts)


def is_late(column: Column) -> bool:
    """Tell whether a default calls a function of the project, which is made after the tables."""
    calls = (found[1] or found[2] for found in _CALL.finditer(column.default))
    return not column.generated and any(schema not in (*PLATFORM_SCHEMAS, "pg_catalog") for schema in calls)


def create_table(table: Thing, columns: Iterable[Thing]) -> str:
    """Give the statement that makes a table with its columns."""
    lines = ",\n".join(f"  {definition(column_of(each))}" for each in columns)
    return table.create.replace("(COLUMNS)", f"(\n{lines}\n)" if lines else "()", 1)


def late_default(thing: Thing) -> str | None:
    """Give the statement that sets a default which calls a function of the project."""
    column = column_of(thing)
    return (
        f"alter table {thing.parent} alter column {column.name} set default {column.default}"
        if is_late(column)
        else None
    )


def add_column(thing: Thing) -> str:
    """Give the statement that adds a column."""
    return f"alter table {thing.parent} add column {definition(column_of(thing))}"


def drop_column(thing: Thing) -> str:
    """Give the statement that drops a column."""
    return f"alter table {thing.parent} drop column {thing.create}"


def alter_column(before: Thing, after: Thing) -> Iterator[str]:
    """Give the statements that make one column of the other; a generated one is made anew."""
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
