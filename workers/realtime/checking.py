"""CHECK: whether subscriptions can be made, and what their filters mean.

    subscription -> conditions (filters.py) -> published tables, and the columns that the role may select (one catalog query)
                 -> Postgres tries each condition on the column's type -> FilterCondition, marked if the edge can decide it

A filter on several tables (`*`) must be valid for each; the edge decides it only if all of them agree.
Source: docs/reference/realtime.md, sections 5 and 9.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from schemas.realtime import (
    ChangeSubscription,
    CheckAnswer,
    CheckedSubscription,
    CheckQuery,
    FilterCondition,
)
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.transactions.model import Statement, TransactionSpec
from workers.realtime import rejection_texts
from workers.realtime.conditions import IS_VALUES, FilterColumn, local_of, probe, regex_probe
from workers.realtime.errors import is_passing
from workers.realtime.filters import FilterRejected, ParsedCondition, parse_filter
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


class _PublishedTable(Struct, frozen=True):
    """A published table that a subscription matches, and its columns that the subscription names."""

    number: int
    """Index of the subscription in the query."""
    columns: list[FilterColumn]


@dataclass(slots=True)
class _PendingCheck:
    """A subscription that is being checked."""

    subscription: ChangeSubscription
    conditions: list[ParsedCondition] = field(default_factory=list)
    error: str = ""
    tables: list[dict[str, FilterColumn]] = field(default_factory=list)


_decode_table = msgspec.json.Decoder(_PublishedTable).decode


async def check_subscriptions(database: ConnectionPool, query: CheckQuery) -> CheckAnswer:
    """Answer CHECK. Raises: DatabaseError, Disconnected, PoolTimeout, unless the subscription caused the error."""
    checks = [_parse(subscription) for subscription in query.subscriptions]
    await _read_catalog(database, query.role, checks)
    return CheckAnswer([await _outcome(database, check) for check in checks])


def _parse(subscription: ChangeSubscription) -> _PendingCheck:
    check = _PendingCheck(subscription)
    if not subscription.schema or not subscription.table:
        check.error = rejection_texts.NOTHING_ASKED + "%{}"
    elif subscription.select and _ALL in (subscription.schema, subscription.table):
        check.error = rejection_texts.SELECT_OF_MANY
    else:
        try:
            check.conditions = parse_filter(subscription.filter)
        except FilterRejected as rejected:
            check.error = rejection_texts.no_filter(str(rejected))
    return check


async def _read_catalog(database: ConnectionPool, role: str, checks: Sequence[_PendingCheck]) -> None:
    """Read the published tables and columns of all subscriptions that were parsed."""
    requested = [
        {
            "number": number,
            "schema": check.subscription.schema,
            "table": check.subscription.table,
            "columns": sorted(
                {condition.column for condition in check.conditions} | set(check.subscription.select or ())
            ),
        }
        for number, check in enumerate(checks)
        if not check.error
    ]
    if not requested:
        return
    name = role.encode()
    select = Statement(_SQL["published"], [msgspec.json.encode(requested), name])
    tables, has_role = await database.run(
        TransactionSpec(_SETTINGS, [select, Statement(_SQL["role"], [name])])
    )
    for row in tables:
        table = _decode_table(row[0] or b"")
        checks[table.number].tables.append({column.name: column for column in table.columns})
    if has_role[0][0] != b"t":
        missing = DatabaseError("42704", f'role "{role}" does not exist')
        for check in checks:
            check.error = check.error or rejection_texts.failed(check.subscription, check.conditions, missing)


async def _outcome(database: ConnectionPool, check: _PendingCheck) -> CheckedSubscription:
    if check.error:
        return CheckedSubscription(check.error)
    if not check.tables:
        return CheckedSubscription(rejection_texts.nothing_there(check.subscription, check.conditions))
    try:
        filters = await asyncio.gather(
            *(_check_condition(database, condition, check.tables) for condition in check.conditions)
        )
        for name in check.subscription.select or ():
            if any(name not in columns for columns in check.tables):
                raise rejection_texts.raised(f"invalid column for select {name}")
    except DatabaseError as error:
        if is_passing(error):
            raise
        message = rejection_texts.failed(check.subscription, check.conditions, error)
        return CheckedSubscription(message, is_final=error.code != _TIMED_OUT)
    return CheckedSubscription(filters=list(filters))


async def _check_condition(
    database: ConnectionPool, condition: ParsedCondition, tables: Iterable[dict[str, FilterColumn]]
) -> FilterCondition:
    """Try a condition on the column of each table; return what it means for all of them."""
    columns: set[FilterColumn] = set()
    for table in tables:
        if condition.column not in table:
            raise rejection_texts.raised(f"invalid column for filter {condition.column}")
        columns.add(table[condition.column])
    outcomes = [await _try(database, condition, column) for column in columns]
    first = outcomes[0]
    if all(outcome == first for outcome in outcomes):
        return first
    values = await _values(database, condition, _TEXT) if condition.op == "in" else [condition.value]
    return _filter_condition(condition, values, type="", local="null" if condition.op == "is" else "")


async def _try(database: ConnectionPool, condition: ParsedCondition, column: FilterColumn) -> FilterCondition:
    """Try a condition on one column. Raises: DatabaseError with the reason why it is not valid."""
    if condition.op == "is":
        _check_is(condition, column)
        return _filter_condition(condition, [condition.value], column.typname, "null")
    if condition.op in _REGEXES:
        await _compile(database, condition)
    try:
        values = await _values(database, condition, column)
    except DatabaseError as error:
        if is_passing(error) or error.code == _TIMED_OUT:
            raise
        if condition.op in _PATTERNS or error.code in _NO_OPERATOR:
            text = f"operator {condition.op} is not supported on column {column.name} of type {column.type}"
            raise rejection_texts.raised(f"{text}: {error.message}") from None
        raise
    local = local_of(condition.op, column)
    # Where SQL decides, the operand stays as it was written: a type may print a text that it cannot read again.
    is_unchanged = not local and condition.op != "in"
    operands = [condition.value] if is_unchanged else values
    return _filter_condition(condition, operands, column.typname, local)


def _check_is(condition: ParsedCondition, column: FilterColumn) -> None:
    if condition.value not in IS_VALUES:
        raise rejection_texts.raised("invalid value for is filter: must be null, true, false, or unknown")
    if condition.value != "null" and column.type != "boolean":
        text = f"is {condition.value} filter requires a boolean column, got {column.type}"
        raise rejection_texts.raised(text)


async def _compile(database: ConnectionPool, condition: ParsedCondition) -> None:
    try:
        await database.run(regex_probe(condition.value))
    except DatabaseError as error:
        if error.code != _BAD_REGEX:
            raise
        text = f"invalid regular expression for {condition.op} filter: {error.message}"
        raise rejection_texts.raised(text) from None


async def _values(
    database: ConnectionPool, condition: ParsedCondition, column: FilterColumn
) -> list[str | None]:
    """Return the operands of a condition as Postgres prints them."""
    rows = (await database.run(probe(condition, column)))[0]
    printed = rows[0][0]
    if condition.op != "in":
        return [printed.decode() if printed is not None else condition.value]
    values = msgspec.json.decode(printed or b"[]", type=list[str | None])
    if len(values) > MOST_VALUES:
        raise rejection_texts.raised(f"too many values for `in` filter. Maximum {MOST_VALUES}")
    return values


def _filter_condition(
    condition: ParsedCondition, values: Sequence[str | None], type: str, local: str
) -> FilterCondition:
    """Return the checked condition. A NULL in a list matches nothing; if the list is negated, no row matches at all."""
    operands = [value for value in values if value is not None]
    never_matches = len(operands) < len(values) and condition.is_negated
    return FilterCondition(
        condition.column,
        condition.op,
        [] if never_matches else operands,
        condition.is_negated and not never_matches,
        type,
        local,  # type: ignore[arg-type]  # one of Local, which the schema spells out
    )


_TEXT = FilterColumn("", "text", "text", False, True, True, True)
