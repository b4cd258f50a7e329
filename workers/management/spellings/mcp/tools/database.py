"""Tools on the schema: tables, extensions, migrations, and why a row is hidden."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from workers.management.spellings.mcp.tool import AgentTool, ToolCall, ToolText, json_data

_MOST_SCHEMAS = 20


class NoToolArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool without arguments."""


class ListedSchemas(Struct, frozen=True, forbid_unknown_fields=True):
    """Schemas whose tables to list."""

    schemas: Annotated[
        list[str],
        Meta(description="Names of schemas; by default public.", max_length=_MOST_SCHEMAS, min_length=1),
    ] = msgspec.field(default_factory=lambda: ["public"])
    verbose: Annotated[
        bool,
        Meta(
            description="With columns, keys, indexes, triggers and policies; describe_table does it for one."
        ),
    ] = False


class AgentTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table or view."""

    table: Annotated[str, Meta(description="Name of the table or view, without its schema.")]
    schema: str = "public"


class ListedExtensions(Struct, frozen=True, forbid_unknown_fields=True):
    """Which extensions to list."""

    installed: Annotated[bool, Meta(description="Only those that are installed.")] = False


class AgentMigration(Struct, frozen=True, forbid_unknown_fields=True):
    """A migration to apply."""

    name: Annotated[str, Meta(description="Name in snake_case, as in add_notes_table.")]
    query: Annotated[str, Meta(description="SQL of the migration. It runs in one transaction.")]


class HiddenRow(Struct, frozen=True, forbid_unknown_fields=True):
    """A row and a caller of the interfaces."""

    table: Annotated[str, Meta(description="Name of the table or view, without its schema.")]
    key: Annotated[dict[str, Any], Meta(description='Values of the key columns, as in {"id": 7}.')]
    schema: str = "public"
    command: Literal["select", "update", "delete"] = "select"
    user_id: Annotated[
        str | None, Meta(description="Id of the user; without one the caller is anonymous.")
    ] = None
    role: Annotated[
        str | None, Meta(description="Role of the database, by default that of the user's token.")
    ] = None


async def list_tables(call: ToolCall, arguments: ListedSchemas) -> ToolText:
    """Return the tables of schemas, by their size, or with everything that belongs to them."""
    if arguments.verbose and call.offers("catalog.relations"):
        return json_data(await call.operate("catalog.relations", schemas=arguments.schemas))
    tables = [await call.operate("catalog.tables", schema=schema) for schema in arguments.schemas]
    return json_data([table for listed in tables for table in listed])


async def describe_table(call: ToolCall, arguments: AgentTable) -> ToolText:
    """Return one table with everything that belongs to it."""
    return json_data(await call.operate("catalog.relation", name=arguments.table, schema=arguments.schema))


async def list_extensions(call: ToolCall, arguments: ListedExtensions) -> ToolText:
    """Return the extensions."""
    extensions = await call.operate("catalog.extensions")
    if arguments.installed:
        extensions = [extension for extension in extensions if extension.version is not None]
    return json_data(extensions)


async def list_migrations(call: ToolCall, arguments: NoToolArguments) -> ToolText:
    """Return the migrations of the database and of the project's folder."""
    del arguments
    return json_data(await call.operate("migrations.list"))


async def apply_migration(call: ToolCall, arguments: AgentMigration) -> ToolText:
    """Apply a migration."""
    return json_data(await call.operate("migrations.apply", name=arguments.name, text=arguments.query))


async def explain_row(call: ToolCall, arguments: HiddenRow) -> ToolText:
    """Return why a caller may do something with a row or not."""
    explanation = await call.operate(
        "policies.explain_row",
        table=arguments.table,
        schema=arguments.schema,
        key=arguments.key,
        command=arguments.command,
        caller={"user_id": arguments.user_id, "role": arguments.role},
    )
    return json_data(msgspec.to_builtins(explanation))


TOOLS = (
    AgentTool(
        "list_tables",
        "List tables",
        "List the tables and views of schemas: kind, size, estimated rows, whether row security is on.",
        "database",
        ListedSchemas,
        list_tables,
        ("catalog.tables",),
    ),
    AgentTool(
        "describe_table",
        "Describe a table",
        "Describe one table or view: columns, keys, indexes, triggers, policies, grants, what refers to it.",
        "database",
        AgentTable,
        describe_table,
        ("catalog.relation",),
    ),
    AgentTool(
        "list_extensions",
        "List extensions",
        "List the Postgres extensions that are installed or could be.",
        "database",
        ListedExtensions,
        list_extensions,
        ("catalog.extensions",),
    ),
    AgentTool(
        "list_migrations",
        "List migrations",
        "List the migrations: which were applied, which are only in the project's folder.",
        "database",
        NoToolArguments,
        list_migrations,
        ("migrations.list",),
    ),
    AgentTool(
        "apply_migration",
        "Apply a migration",
        "Change the schema: run SQL in one transaction, record it as a migration and save it as a file of the project's folder."
        " Use it for DDL. Do not put generated ids into migrations of data.",
        "database",
        AgentMigration,
        apply_migration,
        ("migrations.apply",),
        writes=True,
    ),
    AgentTool(
        "explain_row",
        "Explain why a row is hidden",
        "Explain whether a caller (anonymous, a user or a role) can read, update or delete one row, and which grant or policy decides.",
        "database",
        HiddenRow,
        explain_row,
        ("policies.explain_row",),
    ),
)
