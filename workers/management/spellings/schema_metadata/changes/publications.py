"""Statements that create, change and drop publications."""

from collections.abc import Sequence

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, BodyMember, BodyMemberType, Form
from workers.management.spellings.schema_metadata.sql_text import joined, table_name
from workers.sql.compose import EMPTY, Sql, ident, join, literal, qualified

_BOOLEAN = BodyMember(BodyMemberType.BOOLEAN)
_ACTIONS = ("insert", "update", "delete", "truncate")
_PUBLISHED: Form = {f"publish_{action}": _BOOLEAN for action in _ACTIONS}
NEW: Form = {"name": BodyMember(is_required=True), **_PUBLISHED, "tables": BodyMember(BodyMemberType.TABLES)}
CHANGED: Form = {
    "name": BodyMember(),
    "owner": BodyMember(),
    **_PUBLISHED,
    "tables": BodyMember(BodyMemberType.TABLES),
}


def create(body: Body) -> list[Statement]:
    """Return the statement for a new publication: of all tables unless the body lists some."""
    tables = body.get("tables")
    clause: Sql | str = "for all tables" if tables is None else EMPTY
    if tables:
        clause = join(", ", [table_name(table) for table in tables])
        return [joined("create publication", ident(body["name"]), "for table", clause, *_with(body, {}))]
    return [joined("create publication", ident(body["name"]), clause, *_with(body, {}))]


def change(old: Body, body: Body) -> list[Statement]:
    """Return the statements of a change; the name changes last.

    Postgres cannot change "all tables" into a list or back, so the publication is created again and gets another id. Tables
    that stay keep their columns and conditions.
    """
    publication = ident(old["name"])
    statements = []
    if "tables" in body:
        statements += _tables(publication, old["tables"], body["tables"])
    statements.append(joined("alter publication", publication, "set (publish =", _actions(body, old), ")"))
    statements.append(
        joined("alter publication", publication, "owner to", ident(body.get("owner", old["owner"])))
    )
    if "name" in body and body["name"] != old["name"]:
        statements.append(joined("alter publication", publication, "rename to", ident(body["name"])))
    return statements


def drop(old: Body) -> list[Statement]:
    """Return the statement that drops it."""
    return [joined("drop publication if exists", ident(old["name"]))]


def _tables(
    publication: Sql, present: Sequence[Body] | None, expected: Sequence[str] | None
) -> list[Statement]:
    if expected is None:
        if present is None:
            return []
        return [
            joined("drop publication", publication),
            joined("create publication", publication, "for all tables"),
        ]
    if present is None:
        statements = [joined("drop publication", publication), joined("create publication", publication)]
        present = []
    else:
        statements = []
    stays = {f"{table['schema']}.{table['name']}" for table in present} & set(expected)
    leaving = [
        qualified(table["schema"], table["name"])
        for table in present
        if f"{table['schema']}.{table['name']}" not in stays
    ]
    coming = [table_name(table) for table in expected if table not in stays]
    if leaving:
        statements.append(joined("alter publication", publication, "drop table", join(", ", leaving)))
    if coming:
        statements.append(joined("alter publication", publication, "add table", join(", ", coming)))
    return statements


def _with(body: Body, old: Body) -> tuple[Sql | str, ...]:
    return "with (publish =", _actions(body, old), ")"


def _actions(body: Body, old: Body) -> Sql:
    """Return what is published as a literal: what the body says, else what was published before."""
    chosen = [
        action for action in _ACTIONS if body.get(f"publish_{action}", old.get(f"publish_{action}", False))
    ]
    return literal(", ".join(chosen))
