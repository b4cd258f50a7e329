"""Explains why a caller sees a row or not, and whether its policies let the caller change or delete it.

    catalog facts -> the row, read as a role that sees all -> each policy's expression as the caller -> a sentence

For SELECT the row is looked up as the caller as well (`observed`), so a gap in the explanation would show.
"""

from typing import Any, Literal

from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.management.areas.policies.caller import (
    CallerDescription,
    ResolvedCaller,
    caller_settings,
    resolve_caller,
    search_path,
)
from workers.management.areas.policies.evaluate import (
    CallerSession,
    as_statement,
    evaluate,
    fetch_row,
    key_condition,
    run_as_caller,
)
from workers.management.areas.policies.facts import RelationName, TableFacts, read_facts, read_role
from workers.management.areas.policies.grants import GrantVerdict, hidden_columns, needed_grants
from workers.management.areas.policies.verdict import (
    Outcome,
    PolicyVerdict,
    RowSecurity,
    outcome,
    row_security,
    skipped,
    uses_of,
    verdicts,
)
from workers.management.interface.operation import OperationContext
from workers.sql import compose

ExistingRowCommand = Literal["select", "update", "delete"]
_MOST_BELOW = 20


class RowQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A row by the values of its key columns, a caller, and what the caller wants to do with the row."""

    table: str
    key: dict[str, Any]
    schema: str = "public"
    caller: CallerDescription = CallerDescription()
    command: ExistingRowCommand = "select"


class TableBelow(Struct, frozen=True):
    """A table that a view reads: as which role, and whether row security applies to that role."""

    schema: str
    table: str
    read_as: str
    row_security: RowSecurity


class RowExplanation(Struct, frozen=True):
    """Why a caller may do something with a row or not.

    `conclusion` says it in a sentence, `advice` what to do. `observed`: whether the caller's own query returned the row, null if it was not
    tried. `hidden_columns` cannot be read by the role. `below` are the tables that a view reads.
    """

    is_allowed: bool
    conclusion: str
    advice: str | None
    caller: ResolvedCaller
    grants: list[GrantVerdict]
    row_security: RowSecurity
    policies: list[PolicyVerdict]
    hidden_columns: list[str]
    observed: bool | None
    below: list[TableBelow]


class RightsSubject(Struct, frozen=True):
    """A caller and a table, and the settings of the caller's statements."""

    caller: ResolvedCaller
    facts: TableFacts
    session: CallerSession
    path: str


async def read_subject(
    context: OperationContext, schema: str, table: str, description: CallerDescription
) -> RightsSubject:
    """Return caller and table of a question. Raises: ManagementError (400, 404)."""
    caller = await resolve_caller(context, description)
    role = await read_role(context, caller.role)
    path = search_path(context, schema)
    facts = await read_facts(context, schema, table, caller.role, path)
    return RightsSubject(caller, facts, CallerSession(caller_settings(caller, role.settings, path)), path)


async def explain_row(context: OperationContext, query: RowQuery) -> RowExplanation:
    """Explain one row. Raises: ManagementError (404 if no role sees such a row)."""
    subject = await read_subject(context, query.schema, query.table, query.caller)
    facts = subject.facts
    row = await fetch_row(context, facts, query.key, subject.path)
    key_columns = query.key if query.command != "select" else ()
    grants = needed_grants(facts, query.command, subject.caller.role, read=key_columns, written=())
    if query.command == "update":
        grants += _update_grant(subject)
    compared, result = await _compare(context, subject, query.command, row)
    observed = await _observe(context, subject, query) if query.command == "select" else None
    missing = [grant for grant in grants if not grant.is_granted]
    if facts.is_view and not missing:
        result = _outcome_of_view(subject, observed)
    is_allowed = result.passes and not missing
    return RowExplanation(
        is_allowed=is_allowed,
        conclusion=_conclusion(subject, query, missing, result),
        advice=_advice(subject, query, missing, result),
        caller=subject.caller,
        grants=grants,
        row_security=row_security(facts, subject.caller.role),
        policies=compared,
        hidden_columns=hidden_columns(facts),
        observed=observed,
        below=await _below(context, subject),
    )


async def _compare(
    context: OperationContext, subject: RightsSubject, command: ExistingRowCommand, row: str
) -> tuple[list[PolicyVerdict], Outcome]:
    """Return the policies compared with the existing row, and what follows from them."""
    facts = subject.facts
    uses = uses_of(facts, command, "existing row", reads=True)
    if not facts.may_use_schema:
        results = []
        uses = []
    else:
        [results] = await evaluate(context, subject.session, facts, [use.expression for use in uses], [row])
    compared = verdicts(facts, uses, results)
    result = outcome(facts, "existing row", command, compared, reads=True)
    return compared + skipped(facts, uses, command, "existing row"), result


async def _observe(context: OperationContext, subject: RightsSubject, query: RowQuery) -> bool | None:
    """Return whether the caller's own query returns the row; null if the role may not name the columns of the key."""
    rights = {column.name: column.may_select for column in subject.facts.columns}
    if not all(rights.get(name, False) for name in query.key):
        return None
    sql = compose.concat(
        compose.raw("select 1 from "),
        compose.qualified(query.schema, query.table),
        compose.raw(" where "),
        key_condition(subject.facts, query.key),
    )
    try:
        [rows] = await run_as_caller(context, subject.session, as_statement(sql))
    except DatabaseError:
        return False
    return bool(rows)


async def _below(context: OperationContext, subject: RightsSubject) -> list[TableBelow]:
    """Return the tables that a view reads, with the role whose rights apply there."""
    facts = subject.facts
    read_as = subject.caller.role if facts.is_invoker else facts.owner
    listed = []
    for name in facts.below[:_MOST_BELOW]:
        below = await read_facts(context, name.schema, name.table, read_as, subject.path)
        listed.append(TableBelow(name.schema, name.table, read_as, row_security(below, read_as)))
    return listed


def _update_grant(subject: RightsSubject) -> list[GrantVerdict]:
    """Return the grant to update anything at all: no columns are named yet."""
    facts, role = subject.facts, subject.caller.role
    is_granted = facts.privileges.update or any(column.may_update for column in facts.columns)
    fix = f'grant update on "{facts.schema}"."{facts.table}" to "{role}"'
    return [GrantVerdict("update", f"{facts.schema}.{facts.table}", is_granted, fix)]


def _outcome_of_view(subject: RightsSubject, observed: bool | None) -> Outcome:
    facts = subject.facts
    if observed is None:
        return Outcome(True, "a view has no policies; those of its tables decide")
    reader = "the caller" if facts.is_invoker else f"its owner {facts.owner}"
    tables = ", ".join(f"{name.schema}.{name.table}" for name in facts.below) or "no table"
    verb = "returns" if observed else "does not return"
    return Outcome(observed, f"the view {verb} it; it reads {tables} as {reader}")


def _conclusion(subject: RightsSubject, query: RowQuery, missing: list[GrantVerdict], result: Outcome) -> str:
    role, verb = subject.caller.role, {"select": "see", "update": "update", "delete": "delete"}[query.command]
    if missing:
        grant = missing[0]
        return f"Role {role} cannot {verb} the row: it has no grant of {grant.privilege} on {grant.on}, so the request fails with 42501."
    if result.fails:
        return f"Role {role} cannot {verb} the row: the statement fails, because {result.why}."
    if result.passes:
        return f"Role {role} can {verb} the row: {result.why}."
    hidden = "the row is hidden" if query.command == "select" else f"the {query.command} changes no row"
    return f"Role {role} cannot {verb} the row ({hidden}): {result.why}."


def _advice(
    subject: RightsSubject, query: RowQuery, missing: list[GrantVerdict], result: Outcome
) -> str | None:
    if missing:
        return missing[0].fix
    if result.passes:
        return None
    if subject.facts.is_view:
        below: list[RelationName] = subject.facts.below
        names = ", ".join(f"{name.schema}.{name.table}" for name in below)
        return f"Explain the row of {names}" if names else None
    if result.fails:
        return "Mend the expression of the policy, or what it calls"
    command = result.for_command or query.command  # a row that may not be seen is not changed either
    if result.restrictive:
        names = ", ".join(map(repr, result.restrictive))
        policies = (
            f"the restrictive policy {names}"
            if len(result.restrictive) == 1
            else f"the restrictive policies {names}"
        )
        return (
            f"Change {policies} for {command} so that this row passes, or leave {subject.caller.role} out: every restrictive policy "
            "must hold, so a further permissive one would not show the row"
        )
    return f"Add a permissive policy for {command} to {subject.caller.role} that holds for this row, or change one that should"
