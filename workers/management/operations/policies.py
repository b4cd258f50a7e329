"""Operations on policies: list, create, change, drop (as migrations), templates, the matrix, and explanations."""

from typing import Annotated, Any

from msgspec import Struct, field

from workers.management.areas.catalog.model import PolicyInfo
from workers.management.areas.ddl.access import AlterPolicy, CreatePolicy, DropPolicy
from workers.management.areas.ddl.changes import Change, migration_text, statements_of
from workers.management.areas.ddl.syntax import check_syntax
from workers.management.areas.policies.denied import DeniedWriteQuery, WriteExplanation, explain_write
from workers.management.areas.policies.explain import RowExplanation, RowQuery, explain_row
from workers.management.areas.policies.matrix import MatrixRow, read_matrix
from workers.management.areas.policies.sample import SampleQuery, SampleResult, try_rows
from workers.management.areas.policies.templates import TemplateInfo, changes_of, template_list
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import Operation, OperationContext, Run
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.management.operations.catalog import (
    SchemaList,
    check_name,
    checked_schemas,
    find_relation,
    relations_of,
)
from workers.management.operations.schema import AppliedPlan, apply_changes

_MOST_ROLES = 50


class TablePolicies(Struct, frozen=True):
    """The policies of a table, and whether they do anything: `has_row_security`."""

    schema: str
    table: str
    has_row_security: bool
    forces_row_security: bool
    policies: list[PolicyInfo]


class NewPolicy(Struct, frozen=True, forbid_unknown_fields=True):
    """A policy to create. `migration`: name of the migration, by default made from the policy's."""

    policy: CreatePolicy
    migration: str | None = None


class PolicyChange(Struct, frozen=True, forbid_unknown_fields=True):
    """A change of a policy."""

    policy: AlterPolicy
    migration: str | None = None


class PolicyReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A policy to drop."""

    policy: DropPolicy
    migration: str | None = None


class TemplateUse(Struct, frozen=True, forbid_unknown_fields=True):
    """A template for a table, with its parameters."""

    template: str
    table: str
    schema: str = "public"
    parameters: dict[str, str] = {}


class TemplatePlan(Struct, frozen=True):
    """The changes that a template stands for, to look at, to change, and to apply by `schema.apply`."""

    changes: list[Change]
    statements: list[str]
    text: str


class MatrixQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Schemas and roles of a matrix."""

    schemas: list[str] = field(default_factory=lambda: ["public"])
    roles: Annotated[list[str], limits.entries(_MOST_ROLES)] = field(
        default_factory=lambda: ["anon", "authenticated", "service_role"]
    )


async def list_policies(context: OperationContext, arguments: SchemaList) -> list[TablePolicies]:
    """Return the tables of schemas with their policies, also those without any."""
    relations = await relations_of(context, checked_schemas(arguments.schemas))
    return [
        TablePolicies(item.schema, item.name, item.has_row_security, item.forces_row_security, item.policies)
        for item in relations
        if "view" not in item.kind
    ]


async def create(context: OperationContext, arguments: NewPolicy) -> AppliedPlan:
    """Create a policy by a migration."""
    policy = arguments.policy
    return await _change(
        context, policy.schema, policy.table, policy, arguments.migration or f"create policy {policy.name}"
    )


async def alter(context: OperationContext, arguments: PolicyChange) -> AppliedPlan:
    """Change a policy by a migration."""
    policy = arguments.policy
    return await _change(
        context, policy.schema, policy.table, policy, arguments.migration or f"alter policy {policy.name}"
    )


async def drop(context: OperationContext, arguments: PolicyReference) -> AppliedPlan:
    """Drop a policy by a migration."""
    policy = arguments.policy
    return await _change(
        context, policy.schema, policy.table, policy, arguments.migration or f"drop policy {policy.name}"
    )


async def _change(
    context: OperationContext, schema: str, table: str, change: Change, name: str
) -> AppliedPlan:
    """Apply a change of policies with the policies before and after in the audit row."""
    before = (await find_relation(context, schema, table)).policies
    applied = await apply_changes(context, name[:200], [change])
    after = (await find_relation(context, schema, table)).policies
    context.before, context.after = before, {"version": applied.migration.version, "policies": after}
    return applied


async def list_templates(context: OperationContext, arguments: NoArguments) -> list[TemplateInfo]:
    """Return the templates of policies."""
    del context, arguments
    return template_list()


async def from_template(context: OperationContext, arguments: TemplateUse) -> TemplatePlan:
    """Return the changes of a template for a table. Nothing changes."""
    changes = changes_of(arguments.template, arguments.schema, arguments.table, arguments.parameters)
    statements = statements_of(changes)
    await check_syntax(context.database, statements, context.settings.statement_timeout_s)
    return TemplatePlan(changes, statements, migration_text(statements))


async def matrix(context: OperationContext, arguments: MatrixQuery) -> list[MatrixRow]:
    """Return what roles may do with the tables of schemas by each command."""
    if not 1 <= len(arguments.roles) <= _MOST_ROLES:
        raise invalid_arguments(f"`roles` must name 1 to {_MOST_ROLES} roles")
    for role in arguments.roles:
        check_name("roles", role)
    return await read_matrix(context, checked_schemas(arguments.schemas), arguments.roles)


async def explain_hidden_row(context: OperationContext, arguments: RowQuery) -> RowExplanation:
    """Explain why a caller sees a row or not, or may update or delete it: grants, row security, each policy, a sentence."""
    check_name("schema", arguments.schema)
    check_name("table", arguments.table)
    return await explain_row(context, arguments)


async def explain_denied(context: OperationContext, arguments: DeniedWriteQuery) -> WriteExplanation:
    """Explain a write that failed with 42501 or changed nothing: which grant, which policy, for the existing and the new row."""
    check_name("schema", arguments.schema)
    check_name("table", arguments.table)
    return await explain_write(context, arguments)


async def try_policies(context: OperationContext, arguments: SampleQuery) -> SampleResult:
    """Return for rows of a table whether a caller sees, updates and deletes them, and by which policies."""
    check_name("schema", arguments.schema)
    check_name("table", arguments.table)
    return await try_rows(context, arguments)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reading: list[tuple[str, str, type[Struct], Any, Run]] = [
        ("list", "List the policies of schemas", SchemaList, list[TablePolicies], list_policies),
        ("templates", "List templates of policies", NoArguments, list[TemplateInfo], list_templates),
        ("from_template", "Show the policies of a template", TemplateUse, TemplatePlan, from_template),
        ("matrix", "What roles may do with tables", MatrixQuery, list[MatrixRow], matrix),
        ("explain_row", "Why is this row hidden?", RowQuery, RowExplanation, explain_hidden_row),
        ("explain_denied", "Why was this write denied?", DeniedWriteQuery, WriteExplanation, explain_denied),
        ("try", "Try a caller on rows of a table", SampleQuery, SampleResult, try_policies),
    ]
    changing: list[tuple[str, str, type[Struct], Run]] = [
        ("create", "Create a policy by a migration", NewPolicy, create),
        ("alter", "Change a policy by a migration", PolicyChange, alter),
        ("drop", "Drop a policy by a migration", PolicyReference, drop),
    ]
    return [
        *(
            Operation(f"policies.{name}", summary, arguments, result, Right.READER, run)
            for name, summary, arguments, result, run in reading
        ),
        *(
            Operation(f"policies.{name}", summary, arguments, AppliedPlan, Right.DEVELOPER, run, changes=True)
            for name, summary, arguments, run in changing
        ),
    ]
