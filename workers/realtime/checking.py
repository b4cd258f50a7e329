"""CHECK: whether entries can be subscribed to, and what their filters mean.

    entry --> conditions (filters.py) --> published tables, columns the role may select (one look at the catalog)
          --> each condition tried by Postgres on the column's type --> Filter, decided locally where that is the same

A filter on several tables (`*`) must hold for each; it is decided locally only where all of them agree.
Source: reference page "realtime", sections 5 and 9.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from schemas.realtime import Check, Checked, CheckedEntry, Entry, Filter
from workers.database.errors import DatabaseError
from workers.database.pool import Pool
from workers.database.session import Statement, Work
from workers.realtime import refusals
from workers.realtime.columns import Facts
from workers.realtime.conditions import IS_VALUES, local_of, probe, regex_probe
from workers.realtime.errors import is_passing
from workers.realtime.filters import Condition, FilterRefused, parse_filter
from workers.sql.files import read_statements

MOST_VALUES = 100
"""Values of an `in`."""

_SQL = read_statements("workers.realtime", "checking.sql")
_SETTINGS = (("search_path", ""), ("statement_timeout", "5s"))
_PATTERNS = frozenset(("like", "ilike", "match", "imatch"))
_REGEXES = frozenset(("match", "imatch"))
_NO_OPERATOR = frozenset(("42883", "42804", "42725", "42P18"))
_BAD_REGEX = "2201B"
_TIMED_OUT = "57014"
_ALL = "*"


class _Found(Struct, frozen=True):
    """A published table that an entry means."""

    number: int
    columns: list[Facts]


@dataclass(slots=True)
class _Asked:
    """An entry on its way."""

    entry: Entry
    conditions: list[Condition] = field(default_factory=list)
    error: str = ""
    tables: list[dict[str, Facts]] = field(default_factory=list)


_read_found = msgspec.json.Decoder(_Found).decode


async def check_entries(database: Pool, asked: Check) -> Checked:
    """Answer CHECK. Raises: DatabaseError and its siblings, where the fault is not the entry's."""
    entries = [_parsed(entry) for entry in asked.entries]
    await _look(database, asked.role, entries)
    return Checked([await _checked(database, each, asked.role) for each in entries])


def _parsed(entry: Entry) -> _Asked:
    asked = _Asked(entry)
    if not entry.schema or not entry.table:
        asked.error = refusals.NOTHING_ASKED + "%{}"
    elif entry.select and _ALL in (entry.schema, entry.table):
        asked.error = refusals.SELECT_OF_MANY
    else:
        try:
            asked.conditions = parse_filter(entry.filter)
        except FilterRefused as refused:
            asked.error = refusals.no_filter(str(refused))
    return asked


async def _look(database: Pool, role: str, entries: Sequence[_Asked]) -> None:
    """Read what the catalog knows of all entries that could be read."""
    wanted = [
        {
            "number": number,
            "schema": each.entry.schema,
            "table": each.entry.table,
            "columns": sorted({one.column for one in each.conditions} | set(each.entry.select or ())),
        }
        for number, each in enumerate(entries)
        if not each.error
    ]
    if not wanted:
        return
    names = role.encode()
    look = Statement(_SQL["published"], [msgspec.json.encode(wanted), names])
    found, is_there = await database.run(Work(_SETTINGS, [look, Statement(_SQL["role"], [names])]))
    for row in found:
        table = _read_found(row[0] or b"")
        entries[table.number].tables.append({column.name: column for column in table.columns})
    if is_there[0][0] != b"t":
        missing = DatabaseError("42704", f'role "{role}" does not exist')
        for each in entries:
            each.error = each.error or refusals.failed(each.entry, each.conditions, missing)


async def _checked(database: Pool, asked: _Asked, role: str) -> CheckedEntry:
    if asked.error:
        return CheckedEntry(asked.error)
    if not asked.tables:
        return CheckedEntry(refusals.nothing_there(asked.entry, asked.conditions))
    try:
        filters = await asyncio.gather(*(_filter(database, one, asked.tables) for one in asked.conditions))
        for name in asked.entry.select or ():
            if any(name not in columns for columns in asked.tables):
                raise refusals.raised(f"invalid column for select {name}")
    except DatabaseError as error:
        if is_passing(error):
            raise
        message = refusals.failed(asked.entry, asked.conditions, error)
        return CheckedEntry(message, is_final=error.code != _TIMED_OUT)
    return CheckedEntry(filters=list(filters))


async def _filter(database: Pool, condition: Condition, tables: Iterable[dict[str, Facts]]) -> Filter:
    """Try a condition on the column of each table; give what it means for all of them."""
    kinds: set[Facts] = set()
    for columns in tables:
        if condition.column not in columns:
            raise refusals.raised(f"invalid column for filter {condition.column}")
        kinds.add(columns[condition.column])
    found = [await _tried(database, condition, column) for column in kinds]
    first = found[0]
    if all(each == first for each in found):
        return first
    values = await _values(database, condition, _TEXT) if condition.op == "in" else [condition.value]
    return _meant(condition, values, type="", local="null" if condition.op == "is" else "")


async def _tried(database: Pool, condition: Condition, column: Facts) -> Filter:
    """Try a condition on one column. Raises: DatabaseError that says what is wrong with it."""
    if condition.op == "is":
        _refuse_bad_is(condition, column)
        return _meant(condition, [condition.value], column.typname, "null")
    if condition.op in _REGEXES:
        await _compile(database, condition)
    try:
        values = await _values(database, condition, column)
    except DatabaseError as error:
        if is_passing(error) or error.code == _TIMED_OUT:
            raise
        if condition.op in _PATTERNS or error.code in _NO_OPERATOR:
            what = f"operator {condition.op} is not supported on column {column.name} of type {column.type}"
            raise refusals.raised(f"{what}: {error.message}") from None
        raise
    local = local_of(condition.op, column)
    # As it was written where SQL decides: a type may print what it would not read again.
    is_kept = not local and condition.op != "in"
    return _meant(condition, [condition.value] if is_kept else values, column.typname, local)


def _refuse_bad_is(condition: Condition, column: Facts) -> None:
    if condition.value not in IS_VALUES:
        raise refusals.raised("invalid value for is filter: must be null, true, false, or unknown")
    if condition.value != "null" and column.type != "boolean":
        what = f"is {condition.value} filter requires a boolean column, got {column.type}"
        raise refusals.raised(what)


async def _compile(database: Pool, condition: Condition) -> None:
    try:
        await database.run(regex_probe(condition.value))
    except DatabaseError as error:
        if error.code != _BAD_REGEX:
            raise
        what = f"invalid regular expression for {condition.op} filter: {error.message}"
        raise refusals.raised(what) from None


async def _values(database: Pool, condition: Condition, column: Facts) -> list[str | None]:
    """Give the operands of a condition as Postgres prints them."""
    rows = (await database.run(probe(condition, column)))[0]
    shown = rows[0][0]
    if condition.op != "in":
        return [shown.decode() if shown is not None else condition.value]
    values = msgspec.json.decode(shown or b"[]", type=list[str | None])
    if len(values) > MOST_VALUES:
        raise refusals.raised(f"too many values for `in` filter. Maximum {MOST_VALUES}")
    return values


def _meant(condition: Condition, values: Sequence[str | None], type: str, local: str) -> Filter:
    """Give the filter. A NULL in a list matches nothing; where the list is negated, then nothing matches at all."""
    known = [value for value in values if value is not None]
    is_hopeless = len(known) < len(values) and condition.is_negated
    return Filter(
        condition.column,
        condition.op,
        [] if is_hopeless else known,
        condition.is_negated and not is_hopeless,
        type,
        local,  # type: ignore[arg-type]  # one of Local, which the schema spells out
    )


_TEXT = Facts("", "text", "text", False, True, True, True)
