"""The grants that a command needs, and which of them the role has. Pure.

Source: PostgreSQL, "Privileges"; SELECT is needed for each column that a condition or a returned row names.
"""

from collections.abc import Iterable

from msgspec import Struct

from workers.management.areas.policies.facts import ColumnRights, RowCommand, TableFacts


class GrantVerdict(Struct, frozen=True):
    """A grant that a command needs. `fix` is the statement that gives it."""

    privilege: str
    on: str
    is_granted: bool
    fix: str


def needed_grants(
    facts: TableFacts, command: RowCommand, role: str, *, read: Iterable[str], written: Iterable[str]
) -> list[GrantVerdict]:
    """Return the grants that a command needs; `read` and `written` are the columns that it names."""
    schema = GrantVerdict(
        "usage",
        f"schema {facts.schema}",
        facts.may_use_schema,
        f'grant usage on schema "{facts.schema}" to "{role}"',
    )
    listed = [schema]
    if command == "delete":
        listed.append(_table(facts, "delete", role))
    elif command == "select" and not set(read):
        listed.append(_any_column(facts, role))
    if command in ("insert", "update"):
        listed += _columns(facts, command, set(written), role)
    return listed + _columns(facts, "select", set(read), role)


def hidden_columns(facts: TableFacts) -> list[str]:
    """Return the columns that the role cannot read."""
    return [column.name for column in facts.columns if not column.may_select]


def _columns(facts: TableFacts, privilege: RowCommand, names: set[str], role: str) -> list[GrantVerdict]:
    if not names:
        return [_table(facts, privilege, role)] if privilege == "insert" else []
    if facts.privileges.includes(privilege):
        return [_table(facts, privilege, role)]
    rights = {column.name: _may(column, privilege) for column in facts.columns}
    if not any(rights.values()):
        return [_table(facts, privilege, role)]
    return [
        GrantVerdict(
            privilege,
            f"column {name} of {facts.schema}.{facts.table}",
            rights.get(name, False),
            f'grant {privilege} ("{name}") on "{facts.schema}"."{facts.table}" to "{role}"',
        )
        for name in sorted(names)
    ]


def _any_column(facts: TableFacts, role: str) -> GrantVerdict:
    table = _table(facts, "select", role)
    is_granted = table.is_granted or any(column.may_select for column in facts.columns)
    return GrantVerdict(table.privilege, table.on, is_granted, table.fix)


def _table(facts: TableFacts, privilege: RowCommand, role: str) -> GrantVerdict:
    return GrantVerdict(
        privilege,
        f"{facts.schema}.{facts.table}",
        facts.privileges.includes(privilege),
        f'grant {privilege} on "{facts.schema}"."{facts.table}" to "{role}"',
    )


def _may(column: ColumnRights, privilege: RowCommand) -> bool:
    match privilege:
        case "select":
            return column.may_select
        case "insert":
            return column.may_insert
        case "update":
            return column.may_update
        case _:
            return False
