"""Explains a write that was denied (42501) or changed nothing: which grant, which policy of the existing row, which of the new row.

The new row is made as Postgres would make it: the values of the request over the existing row or over the defaults, then generated
columns. Defaults are evaluated as the caller (`default auth.uid()`), except what a sequence or an identity gives. Triggers that run before
the write may change the row; they are named, not run.
"""

from typing import Any

import msgspec
from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.management.areas.policies.caller import CallerDescription, ResolvedCaller
from workers.management.areas.policies.evaluate import (
    as_statement,
    describe,
    evaluate,
    fetch_row,
    parenthesized,
    row_source,
    run_as_caller,
)
from workers.management.areas.policies.explain import RightsSubject, read_subject
from workers.management.areas.policies.facts import ColumnRights, WriteCommand
from workers.management.areas.policies.grants import GrantVerdict, needed_grants
from workers.management.areas.policies.verdict import (
    Outcome,
    PolicyVerdict,
    RowSecurity,
    Side,
    outcome,
    row_security,
    skipped,
    uses_of,
    verdicts,
)
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import OperationContext
from workers.sql import compose
from workers.sql.compose import Sql

_MOST_VALUES = 1024 * 1024


class DeniedWriteQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A write of a caller: `values` of insert and update, `key` of update and delete. `returns_row`: the inserted row is returned."""

    table: str
    command: WriteCommand
    schema: str = "public"
    caller: CallerDescription = CallerDescription()
    values: dict[str, Any] = {}
    key: dict[str, Any] = {}
    returns_row: bool = False


class WriteExplanation(Struct, frozen=True):
    """Why a write is allowed or not. `notes` are what could still change the outcome, such as triggers."""

    is_allowed: bool
    conclusion: str
    caller: ResolvedCaller
    grants: list[GrantVerdict]
    row_security: RowSecurity
    policies: list[PolicyVerdict]
    notes: list[str]


class _Stop(Exception):
    """The new row cannot be made: the statement fails before any policy is compared with it."""


async def explain_write(context: OperationContext, query: DeniedWriteQuery) -> WriteExplanation:
    """Explain a write. Raises: ManagementError (400, 404 if no role sees the row)."""
    _check(query)
    subject = await read_subject(context, query.schema, query.table, query.caller)
    facts, role = subject.facts, subject.caller.role
    if unknown := set(query.values) - {column.name for column in facts.columns}:
        raise invalid_arguments(f"`values`: {query.schema}.{query.table} has no column {sorted(unknown)[0]}")
    read = set(query.key) | ({column.name for column in facts.columns} if query.returns_row else set())
    grants = needed_grants(facts, query.command, role, read=read, written=query.values)
    missing = [grant for grant in grants if not grant.is_granted]
    compared: list[PolicyVerdict] = []
    result = Outcome(True, "")
    if facts.may_use_schema:
        compared, result = await _compare_sides(context, subject, query)
    notes = [
        f"Trigger {name} runs before the row is written and may change or refuse it"
        for name in facts.triggers
    ]
    if facts.is_view:
        notes.append("This is a view: the grants and policies of its tables decide")
    return WriteExplanation(
        is_allowed=result.passes and not missing,
        conclusion=_conclusion(subject, query, missing, result),
        caller=subject.caller,
        grants=grants,
        row_security=row_security(facts, role),
        policies=compared,
        notes=notes,
    )


def _check(query: DeniedWriteQuery) -> None:
    if query.command == "insert" and query.key:
        raise invalid_arguments("An insert has no `key`")
    if query.command != "insert" and not query.key:
        raise invalid_arguments(f"`key` must name the row of the {query.command}")
    if query.command == "delete" and query.values:
        raise invalid_arguments("A delete has no `values`")
    if query.command == "update" and not query.values:
        raise invalid_arguments("`values` must name the columns of the update with their new values")
    if len(msgspec.json.encode(query.values)) > _MOST_VALUES:
        raise invalid_arguments(f"`values` must have at most {_MOST_VALUES} bytes")


async def _compare_sides(
    context: OperationContext, subject: RightsSubject, query: DeniedWriteQuery
) -> tuple[list[PolicyVerdict], Outcome]:
    """Compare the existing row, then the new one; the first side that fails decides."""
    listed: list[PolicyVerdict] = []
    existing = None
    if query.command != "insert":
        existing = await fetch_row(context, subject.facts, query.key, subject.path)
        compared, result = await _compare(context, subject, query, "existing row", existing)
        listed += compared
        if not result.passes or query.command == "delete":
            return listed, result
    try:
        row = await _new_row(context, subject, query, existing)
    except _Stop as stop:
        return listed, Outcome(False, str(stop), fails=True)
    compared, result = await _compare(context, subject, query, "new row", row)
    return listed + compared, result


async def _compare(
    context: OperationContext, subject: RightsSubject, query: DeniedWriteQuery, side: Side, row: str
) -> tuple[list[PolicyVerdict], Outcome]:
    facts = subject.facts
    reads = query.command != "insert" or query.returns_row
    uses = uses_of(facts, query.command, side, reads=reads)
    [results] = await evaluate(context, subject.session, facts, [use.expression for use in uses], [row])
    compared = verdicts(facts, uses, results)
    result = outcome(facts, side, query.command, compared, reads=reads)
    return compared + skipped(facts, uses, query.command, side), result


async def _new_row(
    context: OperationContext, subject: RightsSubject, query: DeniedWriteQuery, existing: str | None
) -> str:
    """Return the new row as the text of a composite value. Raises: _Stop with the reason if it cannot be made."""
    facts = subject.facts
    kind = compose.qualified(facts.schema, facts.table)
    base = _defaults(subject, query) if existing is None else _cast(existing, kind)
    values = compose.param(msgspec.json.encode(query.values))
    query_of_row = compose.concat(
        compose.raw("select (row_.*)::pg_catalog.text from pg_catalog.jsonb_populate_record("), base,
        compose.raw(", "), values, compose.raw("::pg_catalog.jsonb) as row_"),
    )  # fmt: skip
    try:
        [rows] = await run_as_caller(context, subject.session, as_statement(query_of_row))
        row = (rows[0][0] or b"").decode()
        if not any(column.is_generated for column in facts.columns):
            return row
        generated = compose.concat(
            compose.raw("select ("), _row_of(facts.columns, lambda column: _generated(subject, column)),
            compose.raw("::"), kind, compose.raw(")::pg_catalog.text from "), row_source(facts, [row]),
        )  # fmt: skip
        [rows] = await run_as_caller(context, subject.session, as_statement(generated))
        return (rows[0][0] or b"").decode()
    except DatabaseError as error:
        raise _Stop(f"the new row cannot be made: {describe(error)}") from None


def _defaults(subject: RightsSubject, query: DeniedWriteQuery) -> Sql:
    """Return a row of the columns' defaults; null where the request has a value, or a sequence gives one."""
    facts = subject.facts

    def default(column: ColumnRights) -> Sql:
        text = facts.defaults.get(column.name)
        is_left_out = (
            column.name in query.values
            or column.is_generated
            or column.is_identity
            or text is None
            or "nextval(" in text
        )
        return compose.raw("null") if is_left_out else parenthesized(text or "null")

    kind = compose.qualified(facts.schema, facts.table)
    return compose.concat(_row_of(facts.columns, default), compose.raw("::"), kind)


def _generated(subject: RightsSubject, column: ColumnRights) -> Sql:
    text = subject.facts.defaults.get(column.name)
    if column.is_generated and text is not None:
        return parenthesized(text)
    return compose.qualified(subject.facts.table, column.name)


def _row_of(columns: list[ColumnRights], value: Any) -> Sql:
    values = compose.join(", ", [value(column) for column in columns])
    return compose.concat(compose.raw("row("), values, compose.raw(")"))


def _cast(row: str, kind: Sql) -> Sql:
    return compose.concat(compose.param(row), compose.raw("::"), kind)


def _conclusion(
    subject: RightsSubject, query: DeniedWriteQuery, missing: list[GrantVerdict], result: Outcome
) -> str:
    role, command = subject.caller.role, query.command
    if missing:
        grant = missing[0]
        return (
            f"Role {role} cannot {command}: it has no grant of {grant.privilege} on {grant.on}, so the request fails with 42501."
            f" To allow it: {grant.fix}."
        )
    if result.fails:
        return f"Role {role} cannot {command}: the statement fails, because {result.why}."
    if result.passes:
        return f"Role {role} can {command}: {result.why}."
    if "existing row" in result.why or (command == "delete"):
        return f"Role {role} cannot {command} the row (it changes nothing, without an error): {result.why}."
    return f"Role {role} cannot {command}: {result.why}, so the request fails with 42501."
