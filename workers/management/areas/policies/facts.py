"""What the catalog says about a role and a table: grants, row security, the policies that apply."""

from typing import Literal

import msgspec
from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.management.areas.catalog.relations import EMPTY_PATH
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.areas.policies", "facts.sql")
_SET_PATH = "select pg_catalog.set_config('search_path', $1, true)"
WriteCommand = Literal["insert", "update", "delete"]
RowCommand = Literal["select", "insert", "update", "delete"]


class RoleFacts(Struct, frozen=True):
    """A role. `is_reachable`: requests of the interfaces may act as it; `settings` are its own (`alter role ... set`)."""

    name: str
    bypasses: bool
    is_reachable: bool
    settings: dict[str, str]


class ColumnRights(Struct, frozen=True):
    """A column and what the role may do with it."""

    name: str
    type: str
    may_select: bool
    may_insert: bool
    may_update: bool
    is_generated: bool
    is_identity: bool
    is_key: bool | None = False


class TablePrivileges(Struct, frozen=True):
    """Grants of the role on the whole table."""

    select: bool
    insert: bool
    update: bool
    delete: bool

    def includes(self, command: RowCommand) -> bool:
        """Return whether a command is granted."""
        return bool(getattr(self, command))


class RelationName(Struct, frozen=True):
    """A table or view by schema and name."""

    schema: str
    table: str


class PolicyFacts(Struct, frozen=True):
    """A policy; `is_for_role`: it is for every role, or for one that the caller's role has the rights of."""

    name: str
    command: str
    is_permissive: bool
    roles: list[str]
    is_for_role: bool
    using: str | None = None
    check: str | None = None


class TableFacts(Struct, frozen=True):
    """A table or view, the rights of a role on it, and its policies.

    Its fields from `kind` to `below` are those of the statement `table`, the last two those of `expressions`. `triggers` run before
    a row is written; `is_invoker` and `below` are of views: whose rights apply below, and on which tables.
    """

    schema: str
    table: str
    kind: str
    owner: str
    may_use_schema: bool
    is_enabled: bool
    is_forced: bool
    is_owner: bool
    bypasses: bool
    privileges: TablePrivileges
    columns: list[ColumnRights]
    triggers: list[str]
    is_invoker: bool
    below: list[RelationName]
    policies: list[PolicyFacts]
    defaults: dict[str, str]

    @property
    def applies_policies(self) -> bool:
        """Whether row security applies to the role. Source: PostgreSQL, "Row Security Policies"."""
        return self.is_enabled and not self.bypasses and (self.is_forced or not self.is_owner)

    @property
    def is_view(self) -> bool:
        """Whether it is a view: policies belong to tables."""
        return "view" in self.kind


async def read_role(context: OperationContext, role: str) -> RoleFacts:
    """Return a role that requests may act as. Raises: ManagementError (404, 400)."""
    _, rows = await context.database.read(
        statement(EMPTY_PATH), statement(_SQL["role"], role), timeout_s=context.settings.statement_timeout_s
    )
    roles = decode_rows(rows, RoleFacts)
    if not roles:
        raise not_found(f"role {role}")
    if not roles[0].is_reachable:
        raise ManagementError(
            400,
            "role_not_reachable",
            f"No request can act as role {role}",
            hint=f'A role of tokens is granted to the login of the interfaces: grant "{role}" to authenticator',
        )
    return roles[0]


async def read_facts(context: OperationContext, schema: str, table: str, role: str, path: str) -> TableFacts:
    """Return what the catalog says about a table and a role; expressions are written under the search path `path`.

    Raises: ManagementError (404); DatabaseError, Disconnected, PoolTimeout.
    """
    values = (schema, table, role)
    _, rows, _, expressions = await context.database.read(
        statement(EMPTY_PATH),
        statement(_SQL["table"], *values),
        statement(_SET_PATH, path),
        statement(_SQL["expressions"], *values),
        timeout_s=context.settings.statement_timeout_s,
    )
    tables, texts = decode_rows(rows, dict[str, object]), decode_rows(expressions, dict[str, object])
    if not tables or not texts:
        raise not_found(f"table or view {schema}.{table}, or role {role}")
    return msgspec.convert({"schema": schema, "table": table, **tables[0], **texts[0]}, TableFacts)
