"""Compares two snapshots: the statements that change the first into the second, in an order that works (pure).

Objects are dropped first, in the reverse order of creation; then new and different ones are created or changed. An object that
cannot be changed in place is dropped and created again.
"""

import json
from collections.abc import Iterator

from workers.project.diff import columns
from workers.project.diff.model import SchemaObject, Snapshot

ORDER = (
    "schema", "extension", "enum", "composite", "domain", "sequence", "table", "column", "sequence owner", "function",
    "default", "view", "materialized view", "function on views", "constraint", "foreign key", "index", "row security",
    "trigger", "policy", "privilege", "comment", "publication",
)  # fmt: skip
"""The kinds of objects in the order in which they are created."""

_IN_PLACE = frozenset(
    {"column", "enum", "comment", "sequence owner", "row security", "table", "extension", "schema"}
)


def compare(before: Snapshot, after: Snapshot) -> list[str]:
    """Return the statements, without semicolons."""
    recreated = _keys_to_recreate(before, after)
    statements = [*_drop_statements(before, after, recreated)]
    for kind in ORDER:
        statements += _create_statements(kind, before, after, recreated)
    if any(statement.lstrip().lower().startswith("create or replace") for statement in statements):
        statements.insert(0, "set check_function_bodies = off")
    return statements


def _keys_to_recreate(before: Snapshot, after: Snapshot) -> set[tuple[str, str]]:
    """Return the keys of objects that differ and cannot be changed in place."""
    return {
        key
        for key, new in after.items()
        if (old := before.get(key)) and old != new and not _can_change_in_place(old, new)
    }


def _can_change_in_place(old: SchemaObject, new: SchemaObject) -> bool:
    """Return whether an object can be changed in place."""
    match new.kind:
        case "enum":
            return added_labels(old, new) is not None
        case "function" | "function on views":
            return old.detail == new.detail
        case "view":
            return new.detail == old.detail or new.detail.startswith(f"{old.detail}, ")
    return new.kind in _IN_PLACE


def _drop_statements(before: Snapshot, after: Snapshot, recreated: set[tuple[str, str]]) -> Iterator[str]:
    gone = {item.name for key, item in before.items() if item.kind in _OWNERS and key not in after}
    again = {name for kind, name in recreated if kind in _OWNERS}
    for kind in reversed(ORDER):
        for key, item in reversed(before.items()):
            if item.kind != kind or (key in after and key not in recreated):
                continue
            if item.parent in gone or (item.kind in ("privilege", "comment") and item.parent in again):
                continue  # dropped together with its parent
            yield columns.drop_column(item) if kind == "column" else item.drop


_OWNERS = frozenset({"table", "view", "materialized view", "function", "function on views"})
"""Kinds whose privileges and comments are dropped with them."""


def _create_statements(
    kind: str, before: Snapshot, after: Snapshot, recreated: set[tuple[str, str]]
) -> Iterator[str]:
    again = {name for what, name in recreated if what in _OWNERS}
    new_tables = {name for what, name in after if what == "table" and (what, name) not in before}
    for key, item in after.items():
        if kind == "default":
            if item.kind == "column" and key not in before and (statement := columns.late_default(item)):
                yield statement
            continue
        if item.kind != kind:
            continue
        old = before.get(key)
        comes_back = item.kind in ("privilege", "comment") and item.parent in again
        if old is None or key in recreated or comes_back:
            yield from _statements_for_new(item, after, new_tables)
        elif old != item:
            yield from _statements_for_changed(old, item)


def _statements_for_new(item: SchemaObject, after: Snapshot, new_tables: set[str]) -> Iterator[str]:
    match item.kind:
        case "table":
            of_table = [
                column for column in after.values() if column.kind == "column" and column.parent == item.name
            ]
            yield columns.create_table(item, of_table)
        case "column":
            if item.parent not in new_tables:
                yield columns.add_column(item)
        case _:
            yield item.create


def _statements_for_changed(old: SchemaObject, new: SchemaObject) -> Iterator[str]:
    match new.kind:
        case "column":
            yield from columns.alter_column(old, new)
        case "enum":
            yield from added_labels(old, new) or ()
        case "table":
            return  # only its columns can differ
        case "row security":
            yield old.drop
            yield new.create
        case _:
            yield new.create


def added_labels(old: SchemaObject, new: SchemaObject) -> list[str] | None:
    """Return the statements that add missing labels to an enum; None if it has labels that must be removed."""
    before, after = json.loads(old.detail), json.loads(new.detail)
    if [label for label in after if label in before] != before:
        return None
    statements: list[str] = []
    for place, label in enumerate(after):
        if label not in before:
            where = (
                f" after {_text(after[place - 1])}"
                if place
                else f" before {_text(before[0])}"
                if before
                else ""
            )
            statements.append(f"alter type {new.name} add value {_text(label)}{where}")
    return statements


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
