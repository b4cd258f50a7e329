"""Statements that grant and revoke rights on relations and columns."""

from collections.abc import Mapping
from typing import Any

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, BodyMember, BodyMemberType, Form
from workers.management.spellings.schema_metadata.sql_text import caller_sql, grantee, joined
from workers.sql.compose import EMPTY, Sql, concat, ident, qualified, raw

_COLUMN_RIGHTS = ("ALL", "SELECT", "INSERT", "UPDATE", "REFERENCES")
_TABLE_RIGHTS = (*_COLUMN_RIGHTS, "DELETE", "TRUNCATE", "TRIGGER", "MAINTAIN")
_GRANTABLE: Form = {"is_grantable": BodyMember(BodyMemberType.BOOLEAN)}
TABLE_REVOKED: Form = {
    "relation_id": BodyMember(BodyMemberType.INTEGER, is_required=True),
    "grantee": BodyMember(is_required=True),
    "privilege_type": BodyMember(is_required=True, choices=_TABLE_RIGHTS),
}
TABLE_GRANTED: Form = {**TABLE_REVOKED, **_GRANTABLE}
COLUMN_REVOKED: Form = {
    "column_id": BodyMember(BodyMemberType.COLUMN_ID, is_required=True),
    "grantee": BodyMember(is_required=True),
    "privilege_type": BodyMember(is_required=True, choices=_COLUMN_RIGHTS),
}
COLUMN_GRANTED: Form = {**COLUMN_REVOKED, **_GRANTABLE}


def on_relation(relation: Mapping[str, Any], body: Body, *, grants: bool) -> Statement:
    """Return the statement that grants or revokes a right on a relation with `schema` and `name`."""
    target = concat(raw("on table "), qualified(relation["schema"], relation["name"]))
    return _statement(caller_sql(body["privilege_type"]), target, body, grants=grants)


def on_column(column: Mapping[str, Any], body: Body, *, grants: bool) -> Statement:
    """Return the statement that grants or revokes a right on a column with `schema`, `table` and `name`."""
    right = concat(caller_sql(body["privilege_type"]), raw(" ("), ident(column["name"]), raw(")"))
    target = concat(raw("on table "), qualified(column["schema"], column["table"]))
    return _statement(right, target, body, grants=grants)


def _statement(right: Sql, target: Sql, body: Body, *, grants: bool) -> Statement:
    role = grantee(body["grantee"])
    if not grants:
        return joined("revoke", right, target, "from", role)
    return joined(
        "grant", right, target, "to", role, "with grant option" if body.get("is_grantable") else EMPTY
    )
