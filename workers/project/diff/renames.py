"""Renames between two snapshots: those that a person names, as statements, and those that are likely (pure).

A comparison by name drops what was renamed and creates it empty. So a rename that is named is done on the shadow first, and the rest is
compared from there. Whether one was meant cannot be known: what looks like one is asked for, never assumed.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from workers.project.diff.columns import column_of
from workers.project.diff.model import SchemaObject, Snapshot
from workers.project.errors import ProjectRejected
from workers.sql.compose import quoted

_RELATIONS = frozenset({"table", "view", "materialized view"})
_PART = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')
_MOST_PARTS = 3

Parts = tuple[str, ...]
"""A name as it is stored: schema, relation and, of a column, its own."""


class Rename(Struct, frozen=True):
    """`[schema.]relation`, or a column of one, and its new name without a schema."""

    old: Parts
    new: str


def parse_rename(text: str) -> Rename:
    """Read `[schema.]table=new` or `[schema.]table.column=new`; quotes keep a dot in a name. Raises: ProjectRejected."""
    old, _, new = text.partition("=")
    before, after = name_parts(old.strip()), name_parts(new.strip())
    if len(after) != 1 or not 1 <= len(before) <= _MOST_PARTS:
        raise ProjectRejected(
            f"--rename {text}: write table=new, or table.column=new; a schema may stand in front"
        )
    return Rename(before, after[0])


def name_parts(name: str) -> Parts:
    """Return the parts of a name in SQL as they are stored."""
    return tuple(
        found[1].replace('""', '"') if found[1] is not None else found[2] for found in _PART.finditer(name)
    )


def rename_statement(rename: Rename, before: Snapshot) -> str:
    """Return the statement of a rename in a database with these objects. Raises: ProjectRejected."""
    relations = {name_parts(name): name for kind, name in before if kind in _RELATIONS}
    columns = {
        name_parts(item.name): (item.parent, item.create) for item in before.values() if item.kind == "column"
    }
    for parts in (rename.old, ("public", *rename.old)):
        if parts in relations:
            return f"alter table {relations[parts]} rename to {quoted(rename.new)}"
        if parts in columns:
            parent, column = columns[parts]
            return f"alter table {parent} rename column {column} to {quoted(rename.new)}"
    name = ".".join(rename.old)
    raise ProjectRejected(f"--rename {name}={rename.new}: the migrations make no table or column {name}")


def likely_renames(before: Snapshot, after: Snapshot) -> list[str]:
    """Return what looks like renames, as `--rename` takes them: one thing goes away and one like it comes, in the same place."""
    return [*_likely_tables(before, after), *_likely_columns(before, after)]


def _likely_tables(before: Snapshot, after: Snapshot) -> Iterator[str]:
    def shape(item: SchemaObject, of: Snapshot) -> object:
        columns = [one.detail for one in of.values() if _is_column_of(one, item.name)]
        return (name_parts(item.name)[0], sorted(columns)) if columns else None

    gone = [(item, shape(item, before)) for key, item in _missing(before, after) if key[0] == "table"]
    come = [(item, shape(item, after)) for key, item in _missing(after, before) if key[0] == "table"]
    for old, new in _pairs(gone, come):
        yield f"{old.name}={new.name.removeprefix(old.name.rpartition('.')[0] + '.')}"


def _likely_columns(before: Snapshot, after: Snapshot) -> Iterator[str]:
    for kind, table in before:
        if kind != "table" or (kind, table) not in after:
            continue
        gone, come = (
            [(item, _kind_of(item)) for _, item in _missing(one, other) if _is_column_of(item, table)]
            for one, other in ((before, after), (after, before))
        )
        for old, new in _pairs(gone, come):
            yield f"{table}.{old.create}={new.create}"


def _missing(one: Snapshot, other: Snapshot) -> Iterator[tuple[tuple[str, str], SchemaObject]]:
    return ((key, item) for key, item in one.items() if key not in other)


def _is_column_of(item: SchemaObject, table: str) -> bool:
    return item.kind == "column" and item.parent == table


def _kind_of(item: SchemaObject) -> object:
    """Return the definition of a column without its name."""
    return msgspec.structs.replace(column_of(item), name="")


def _pairs(
    gone: Iterable[tuple[SchemaObject, object]], come: Iterable[tuple[SchemaObject, object]]
) -> Iterator[tuple[SchemaObject, SchemaObject]]:
    """Yield what is alike on both sides, where there is only one candidate on each."""
    ours, theirs = list(gone), list(come)
    for old, definition in ours:
        alike = [new for new, other in theirs if other == definition]
        if definition is not None and len(alike) == 1 and sum(one == definition for _, one in ours) == 1:
            yield old, alike[0]
