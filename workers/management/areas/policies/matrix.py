"""The matrix role x command of tables: no grant, all rows, no row, or the policies that decide."""

from typing import Literal

import msgspec
from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.management.areas.catalog.relations import EMPTY_PATH
from workers.management.areas.policies.facts import RowCommand, TablePrivileges
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.areas.policies", "facts.sql")
_COMMANDS: tuple[RowCommand, ...] = ("select", "insert", "update", "delete")


class MatrixCell(Struct, frozen=True):
    """What a role may do with a table by one command.

    `verdict`: no_grant (fails with 42501), all_rows (row security does not apply), no_rows (no permissive policy), policies.
    """

    verdict: Literal["no_grant", "all_rows", "no_rows", "policies"]
    permissive: list[str]
    restrictive: list[str]


class MatrixRow(Struct, frozen=True):
    """A table and a role, with a cell for each command."""

    schema: str
    table: str
    role: str
    select: MatrixCell
    insert: MatrixCell
    update: MatrixCell
    delete: MatrixCell


class _Policy(Struct):
    name: str
    command: str
    is_permissive: bool
    has_using: bool
    has_check: bool


class _Pair(Struct):
    schema: str
    table: str
    role: str
    may_use_schema: bool
    is_enabled: bool
    is_forced: bool
    is_owner: bool
    bypasses: bool
    privileges: TablePrivileges
    policies: list[_Policy]


async def read_matrix(context: OperationContext, schemas: list[str], roles: list[str]) -> list[MatrixRow]:
    """Return the matrix of the tables of schemas. Raises: DatabaseError, Disconnected, PoolTimeout."""
    _, rows = await context.database.read(
        statement(EMPTY_PATH),
        statement(_SQL["matrix"], msgspec.json.encode(schemas), msgspec.json.encode(roles)),
        timeout_s=context.settings.statement_timeout_s,
    )
    return [_row(pair) for pair in decode_rows(rows, _Pair)]


def _row(pair: _Pair) -> MatrixRow:
    cells = [_cell(pair, command) for command in _COMMANDS]
    return MatrixRow(pair.schema, pair.table, pair.role, *cells)


def _cell(pair: _Pair, command: RowCommand) -> MatrixCell:
    if not pair.may_use_schema or not pair.privileges.includes(command):
        return MatrixCell("no_grant", [], [])
    if not pair.is_enabled or pair.bypasses or (pair.is_owner and not pair.is_forced):
        return MatrixCell("all_rows", [], [])
    counting = [
        policy
        for policy in pair.policies
        if policy.command in (command, "all") and _has_expression(policy, command)
    ]
    permissive = [policy.name for policy in counting if policy.is_permissive]
    restrictive = [policy.name for policy in counting if not policy.is_permissive]
    return MatrixCell("policies" if permissive else "no_rows", permissive, restrictive)


def _has_expression(policy: _Policy, command: RowCommand) -> bool:
    """Return whether a policy has the expression of a command: `using` for existing rows, either of both for new ones."""
    return policy.has_using or (command == "insert" and policy.has_check)
