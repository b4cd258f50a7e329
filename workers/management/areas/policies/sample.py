"""Tries a caller on rows of a table: which it sees, may update (as they are) and may delete, and by which policies."""

from typing import Any

import msgspec
from msgspec import Struct

from workers.management.areas.policies.caller import CallerDescription, ResolvedCaller
from workers.management.areas.policies.evaluate import ExpressionResult, evaluate, read_whole_rows
from workers.management.areas.policies.explain import ExistingRowCommand, RightsSubject, read_subject
from workers.management.areas.policies.grants import GrantVerdict, needed_grants
from workers.management.areas.policies.verdict import (
    PolicyUse,
    RowSecurity,
    outcome,
    row_security,
    uses_of,
    verdicts,
)
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import OperationContext
from workers.sql import compose

_MOST_ROWS = 100
_MOST_ROW_BYTES = 64 * 1024
_COMMANDS: tuple[ExistingRowCommand, ...] = ("select", "update", "delete")


class SampleQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A table, a caller, and how many rows to try, in the order of the primary key."""

    table: str
    schema: str = "public"
    caller: CallerDescription = CallerDescription()
    limit: int = 20


class CommandOnRow(Struct, frozen=True):
    """Whether the caller may do something with a row, and why; `policies` are the permissive ones that hold."""

    is_allowed: bool
    why: str
    policies: list[str]


class SampledRow(Struct, frozen=True):
    """A row by its primary key (all columns without one), and what the caller may do with it."""

    key: dict[str, Any]
    select: CommandOnRow
    update: CommandOnRow
    delete: CommandOnRow


class SampleResult(Struct, frozen=True):
    """The rows that were tried; `grants` are what the role needs for all three commands. Rows over 64 KiB are left out."""

    caller: ResolvedCaller
    grants: list[GrantVerdict]
    row_security: RowSecurity
    rows: list[SampledRow]


async def try_rows(context: OperationContext, query: SampleQuery) -> SampleResult:
    """Try a caller on rows of a table. Raises: ManagementError (400, 404); DatabaseError, Disconnected, PoolTimeout."""
    if not 1 <= query.limit <= _MOST_ROWS:
        raise invalid_arguments(f"`limit` must be 1 to {_MOST_ROWS}")
    subject = await read_subject(context, query.schema, query.table, query.caller)
    if subject.facts.is_view:
        raise invalid_arguments("A view has no policies; try the tables that it reads")
    keys, rows = await _sample(context, subject, query.limit)
    grants = _grants(subject)
    refused = {grant.privilege: grant for grant in reversed(grants) if not grant.is_granted}
    columns: dict[ExistingRowCommand, list[CommandOnRow]] = {}
    for command in _COMMANDS:
        blocking = refused.get("usage") or refused.get(command) or refused.get("select")
        if blocking is not None:
            why = f"no grant of {blocking.privilege} on {blocking.on}"
            columns[command] = [CommandOnRow(False, why, [])] * len(rows)
            continue
        uses = uses_of(subject.facts, command, "existing row", reads=True)
        expressions = [use.expression for use in uses]
        results = await evaluate(context, subject.session, subject.facts, expressions, rows)
        columns[command] = [_on_row(subject, command, uses, row) for row in results]
    listed = [
        SampledRow(key, columns["select"][place], columns["update"][place], columns["delete"][place])
        for place, key in enumerate(keys)
    ]
    return SampleResult(subject.caller, grants, row_security(subject.facts, subject.caller.role), listed)


def _on_row(
    subject: RightsSubject,
    command: ExistingRowCommand,
    uses: list[PolicyUse],
    results: list[ExpressionResult],
) -> CommandOnRow:
    compared = verdicts(subject.facts, uses, results)
    result = outcome(subject.facts, "existing row", command, compared, reads=True)
    holding = [
        item.name for item in compared if item.is_permissive and item.holds and item.for_command == command
    ]
    return CommandOnRow(result.passes, result.why, holding if result.passes else [])


def _grants(subject: RightsSubject) -> list[GrantVerdict]:
    facts, role = subject.facts, subject.caller.role
    listed = needed_grants(facts, "select", role, read=(), written=())
    deleting = needed_grants(facts, "delete", role, read=(), written=())[1:]
    is_granted = facts.privileges.update or any(column.may_update for column in facts.columns)
    fix = f'grant update on "{facts.schema}"."{facts.table}" to "{role}"'
    updating = GrantVerdict("update", f"{facts.schema}.{facts.table}", is_granted, fix)
    return [*listed, updating, *deleting]


async def _sample(
    context: OperationContext, subject: RightsSubject, limit: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return keys and texts of the first rows."""
    facts = subject.facts
    names = [column.name for column in facts.columns if column.is_key]
    pieces = [compose.concat(compose.raw("row_."), compose.ident(name)) for name in names]
    if pieces:
        pairs = [
            compose.concat(compose.literal(name), compose.raw(", "), piece)
            for name, piece in zip(names, pieces, strict=True)
        ]
        key = compose.concat(
            compose.raw("pg_catalog.json_build_object("), compose.join(", ", pairs), compose.raw(")")
        )
        order = compose.concat(compose.raw(" order by "), compose.join(", ", pieces))
    else:
        key, order = compose.raw("pg_catalog.to_json(row_.*)"), compose.EMPTY
    sql = compose.concat(
        compose.raw("select "), key, compose.raw(", (row_.*)::pg_catalog.text from "),
        compose.qualified(facts.schema, facts.table), compose.raw(" as row_"), order,
        compose.raw(" limit "), compose.number(limit),
    )  # fmt: skip
    rows = await read_whole_rows(context, sql, subject.path)
    small = [(key, text or b"") for key, text in rows if len(text or b"") <= _MOST_ROW_BYTES]
    return [msgspec.json.decode(key or b"{}") for key, _ in small], [text.decode() for _, text in small]
