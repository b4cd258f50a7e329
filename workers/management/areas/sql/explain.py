"""EXPLAIN in JSON as a tree whose nodes have the same members for every kind of plan. Pure.

Source: PostgreSQL, "Using EXPLAIN"; "EXPLAIN", FORMAT JSON.
"""

from typing import Any

from msgspec import Struct

_BELONGS_TO_TREE = frozenset({
    "Node Type", "Plans", "Relation Name", "Schema", "Alias", "Index Name", "Startup Cost", "Total Cost", "Plan Rows",
    "Actual Rows", "Actual Loops", "Actual Total Time", "Actual Startup Time", "Shared Hit Blocks", "Shared Read Blocks",
})  # fmt: skip


class PlanNode(Struct):
    """A node of a plan. Costs are the planner's units; times are milliseconds over all loops; `self_ms` without the children.

    `details` has the other members as the server wrote them: conditions, sort keys, join types.
    """

    type: str
    relation: str = ""
    index: str = ""
    startup_cost: float = 0.0
    total_cost: float = 0.0
    planned_rows: float = 0.0
    actual_rows: float | None = None
    loops: float | None = None
    actual_ms: float | None = None
    self_ms: float | None = None
    hit_blocks: int | None = None
    read_blocks: int | None = None
    details: dict[str, Any] = {}
    children: list["PlanNode"] = []


class ExplainedStatement(Struct):
    """The plan of a statement. Times in milliseconds, null without `analyze`; `others` has triggers, JIT and settings."""

    plan: PlanNode
    planning_ms: float | None = None
    execution_ms: float | None = None
    others: dict[str, Any] = {}


def explained(document: list[dict[str, Any]]) -> ExplainedStatement:
    """Return the tree of the server's document."""
    top = document[0]
    others = {
        name: value for name, value in top.items() if name not in ("Plan", "Planning Time", "Execution Time")
    }
    return ExplainedStatement(
        plan_tree(top["Plan"]), top.get("Planning Time"), top.get("Execution Time"), others
    )


def plan_tree(plan: dict[str, Any]) -> PlanNode:
    """Return the tree of the member "Plan" of the server's document."""
    children = [plan_tree(child) for child in plan.get("Plans", ())]
    loops, once = plan.get("Actual Loops"), plan.get("Actual Total Time")
    total = None if once is None or loops is None else round(once * loops, 3)
    below = sum(child.actual_ms or 0.0 for child in children)
    relation = ".".join(part for part in (plan.get("Schema"), plan.get("Relation Name")) if part)
    return PlanNode(
        plan["Node Type"],
        relation,
        plan.get("Index Name", ""),
        plan.get("Startup Cost", 0.0),
        plan.get("Total Cost", 0.0),
        plan.get("Plan Rows", 0.0),
        plan.get("Actual Rows"),
        loops,
        total,
        None if total is None else round(max(0.0, total - below), 3),
        plan.get("Shared Hit Blocks"),
        plan.get("Shared Read Blocks"),
        {name: value for name, value in plan.items() if name not in _BELONGS_TO_TREE},
        children,
    )
