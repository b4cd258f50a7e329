"""Compare two snapshots: the statements that bring the first to the second, in an order that works (pure).

What goes away goes first, in the reverse order of making; then what is new or different is made. An object that cannot be
changed in place is dropped and made anew.
"""

import json
from collections.abc import Iterator

from workers.project.diff import columns
from workers.project.diff.model import Snapshot, Thing

ORDER = (
    "schema", "extension", "enum", "composite", "domain", "sequence", "table", "column", "sequence owner", "function",
    "default", "view", "materialized view", "function on views", "constraint", "foreign key", "index", "row security",
    "trigger", "policy", "privilege", "comment", "publication",
)  # fmt: skip
"""The kinds of things in the order in which they are made."""

_IN_PLACE = frozenset(
    {"column", "enum", "comment", "sequence owner", "row security", "table", "extension", "schema"}
)


def compare(before: Snapshot, after: Snapshot) -> list[str]:
    """Give the statements, without semicolons."""
    made_anew = _made_anew(before, after)
    statements = [*_dropped(before, after, made_anew)]
    for kind in ORDER:
        statements += _made(kind, before, after, made_anew)
    if any(statement.lstrip().lower().startswith("create or replace") for statement in statements):
        statements.insert(0, "set check_function_bodies = off")
    return statements


def _made_anew(before: Snapshot, after: Snapshot) -> set[tuple[str, str]]:
    """Give what is in both and cannot be changed in place."""
    return {
        key
        for key, new in after.items()
        if (old := before.get(key)) and old != new and not _changes(old, new)
    }


def _changes(old: Thing, new: Thing) -> bool:
    """Tell whether one can become the other in place."""
    match new.kind:
        case "enum":
            return added_labels(old, new) is not None
        case "function" | "function on views":
            return old.detail == new.detail
        case "view":
            return new.detail == old.detail or new.detail.startswith(f"{old.detail}, ")
    return new.kind in _IN_PLACE


def _dropped(before: Snapshot, after: Snapshot, made_anew: set[tuple[str, str]]) -> Iterator[str]:
    gone = {thing.name for key, thing in before.items() if thing.kind in _OWNERS and key not in after}
    again = {name for kind, name in made_anew if kind in _OWNERS}
    for kind in reversed(ORDER):
        for key, thing in reversed(before.items()):
            if thing.kind != kind or (key in after and key not in made_anew):
                continue
            if thing.parent in gone or (thing.kind in ("privilege", "comment") and thing.parent in again):
                continue  # goes with what it belongs to
            yield columns.drop_column(thing) if kind == "column" else thing.drop


_OWNERS = frozenset({"table", "view", "materialized view", "function", "function on views"})
"""Kinds that take what belongs to them along."""


def _made(kind: str, before: Snapshot, after: Snapshot, made_anew: set[tuple[str, str]]) -> Iterator[str]:
    again = {name for what, name in made_anew if what in _OWNERS}
    new_tables = {name for what, name in after if what == "table" and (what, name) not in before}
    for key, thing in after.items():
        if kind == "default":
            if thing.kind == "column" and key not in before and (statement := columns.late_default(thing)):
                yield statement
            continue
        if thing.kind != kind:
            continue
        old = before.get(key)
        comes_back = thing.kind in ("privilege", "comment") and thing.parent in again
        if old is None or key in made_anew or comes_back:
            yield from _new(thing, after, new_tables)
        elif old != thing:
            yield from _changed(old, thing)


def _new(thing: Thing, after: Snapshot, new_tables: set[str]) -> Iterator[str]:
    match thing.kind:
        case "table":
            mine = [each for each in after.values() if each.kind == "column" and each.parent == thing.name]
            yield columns.create_table(thing, mine)
        case "column":
            if thing.parent not in new_tables:
                yield columns.add_column(thing)
        case _:
            yield thing.create


def _changed(old: Thing, new: Thing) -> Iterator[str]:
    match new.kind:
        case "column":
            yield from columns.alter_column(old, new)
        case "enum":
            yield from added_labels(old, new) or ()
        case "table":
            return  # its columns tell
        case "row security":
            yield old.drop
            yield new.create
        case _:
            yield new.create


def added_labels(old: Thing, new: Thing) -> list[str] | None:
    """Give the statements that add the labels an enum lacks; None if it has labels that must go."""
    before, after = json.loads(old.detail), json.loads(new.detail)
    if [label for label in after if label in before] != before:
        return None
    found: list[str] = []
    for place, label in enumerate(after):
        if label not in before:
            where = (
                f" after {_text(after[place - 1])}"
                if place
                else f" before {_text(before[0])}"
                if before
                else ""
            )
            found.append(f"alter type {new.name} add value {_text(label)}{where}")
    return found


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
