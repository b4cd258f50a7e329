"""Tools that run SQL: as the role that only reads, or as `postgres` for an agent that may write."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from workers.management.spellings.mcp.tool import MOST_BYTES, AgentTool, ToolCall, ToolText, json_data

_MOST_ROWS = 500
_LONGEST_CELL = 4_000


class AgentSql(Struct, frozen=True, forbid_unknown_fields=True):
    """SQL to run."""

    query: Annotated[str, Meta(description="One or more statements.")]


class AgentPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement to explain."""

    query: Annotated[str, Meta(description="One statement.")]
    analyze: Annotated[
        bool, Meta(description="Execute it, for real times; its transaction is rolled back.")
    ] = False


async def execute_sql(call: ToolCall, arguments: AgentSql) -> ToolText:
    """Run SQL and return the rows of each statement."""
    outcome = await call.operate(
        "sql.run",
        sql=arguments.query,
        read_only=not call.access.may_write,
        id=call.run_id,
        max_rows=min(_MOST_ROWS, call.configuration.management.max_rows),
        max_bytes=MOST_BYTES,
        max_cell=_LONGEST_CELL,
    )
    results = msgspec.to_builtins(outcome.results)
    notes = [
        f"Statement {result['statement'] + 1} has more rows than the {len(result['rows'])} that are here: add `limit`, or aggregate."
        for result in results
        if result["is_truncated"]
    ]
    views = [_result(result) for result in results]
    return json_data(views[0] if len(views) == 1 else {"results": views}, *notes)


async def explain(call: ToolCall, arguments: AgentPlan) -> ToolText:
    """Return the plan of a statement."""
    plan = await call.operate(
        "sql.explain",
        sql=arguments.query,
        analyze=arguments.analyze,
        read_only=not call.access.may_write,
        id=call.run_id,
    )
    return json_data(plan)


def _result(result: dict[str, Any]) -> dict[str, Any]:
    """Return what a model needs of a statement's result: its tag, notices, and rows as lists in the order of the columns."""
    view: dict[str, Any] = {"tag": result["tag"]}
    if result["notices"]:
        view["notices"] = result["notices"]
    if result["columns"]:
        view |= {
            "columns": [f"{column['name']} {column['type']}" for column in result["columns"]],
            "rows": result["rows"],
        }
    return view


TOOLS = (
    AgentTool(
        "execute_sql",
        "Run SQL",
        "Run SQL and return the rows. For reading, and for changes of data if this server lets you write; use apply_migration for DDL.",
        "database",
        AgentSql,
        execute_sql,
        ("sql.run",),
        may_write=True,
    ),
    AgentTool(
        "explain",
        "Explain a statement",
        "Show the plan of one statement as a tree, with `analyze` with the time of each node.",
        "database",
        AgentPlan,
        explain,
        ("sql.explain",),
        may_write=True,
    ),
)
