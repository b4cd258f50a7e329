"""`auth_audit.search`: the audit log of auth, newest first, by keyset. By user and by time it uses indexes; the rest filters."""

import base64
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.users.auth_pool import required_uuid
from workers.management.operations.users.read_only import read_rows, statement_of, text_param
from workers.sql.compose import Sql, concat, join, number, param, raw

_MOST_TEXT = 320


class AuthAuditQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Filters, all of which must hold. `user_id`: who acted, or whom an administrator changed; `text`: a part of the address of
    who acted; `since`, `until`: ISO 8601 with zone. `cursor` is `next` of the page before.
    """

    user_id: str = ""
    action: str = ""
    type: str = ""
    address: str = ""
    text: str = ""
    since: str = ""
    until: str = ""
    cursor: str = ""
    limit: PageLimit = 100


class AuthAuditEntry(Struct, frozen=True):
    """An entry of the audit log; `traits` are its details."""

    id: str
    at: str
    action: str | None
    type: str | None
    actor_id: str | None
    actor: str | None
    address: str
    traits: Any


class AuthAuditPage(Struct, frozen=True):
    """Entries, the newest first; `next` is the cursor of the next page, null at the end."""

    rows: list[AuthAuditEntry]
    next: str | None


class _AuditPosition(Struct, array_like=True, frozen=True):
    at: str
    id: str


async def search(context: OperationContext, arguments: AuthAuditQuery) -> AuthAuditPage:
    """Return a page of the audit log of auth."""
    most = context.settings.max_rows
    if not 1 <= arguments.limit <= most:
        raise invalid_arguments(f"`limit` must be 1 to {most}")
    more = msgspec.structs.replace(arguments, limit=arguments.limit + 1)
    rows = await entries_of(context, more)
    page = rows[: arguments.limit]
    following = _cursor(page[-1]) if len(rows) > arguments.limit else None
    return AuthAuditPage(page, following)


async def entries_of(context: OperationContext, query: AuthAuditQuery) -> list[AuthAuditEntry]:
    """Return the newest entries that match. Raises: ManagementError (400)."""
    where = join(" and ", _conditions(query))
    if query.user_id:
        user_id = param(required_uuid(query.user_id, "user_id"))
        acted = concat(raw("entry.payload ->> 'actor_id' = "), user_id)
        changed = concat(raw("entry.payload #>> '{traits,user_id}' = "), user_id)
        ids = join(
            " union ", [_newest_ids(concat(by, raw(" and "), where), query.limit) for by in (acted, changed)]
        )
        where = concat(raw("entry.id in ("), ids, raw(")"))
    composed = concat(
        raw("""select json_build_object('id', entry.id, 'at', entry.created_at, 'action', entry.payload ->> 'action',
          'type', entry.payload ->> 'log_type', 'actor_id', entry.payload ->> 'actor_id',
          'actor', entry.payload ->> 'actor_username', 'address', entry.ip_address, 'traits', entry.payload -> 'traits')
        from auth.audit_log_entries as entry where """),
        where,
        raw(" order by entry.created_at desc, entry.id limit "),
        number(query.limit),
    )
    return await read_rows(context, AuthAuditEntry, statement_of(composed))


def _newest_ids(where: Sql, limit: int) -> Sql:
    """Select the newest ids of one of the two indexes: with both conditions in one, the planner would read the log by time."""
    order = raw(" order by entry.created_at desc, entry.id limit ")
    selected = raw("(select entry.id from auth.audit_log_entries as entry where ")
    return concat(selected, where, order, number(limit), raw(")"))


def _conditions(query: AuthAuditQuery) -> list[Sql]:
    parts = [raw("entry.created_at is not null")]
    for column, name in (
        (raw("entry.payload ->> 'action' = "), "action"),
        (raw("entry.payload ->> 'log_type' = "), "type"),
        (raw("entry.ip_address = "), "address"),
    ):
        if text := getattr(query, name):
            parts.append(concat(column, text_param(text[:_MOST_TEXT], name)))
    if query.text:
        part = text_param(query.text.strip().lower()[:_MOST_TEXT], "text")
        parts.append(concat(raw("strpos(lower(entry.payload ->> 'actor_username'), "), part, raw(") > 0")))
    for column, name in ((raw("entry.created_at >= "), "since"), (raw("entry.created_at < "), "until")):
        if text := getattr(query, name):
            parts.append(concat(column, param(_moment(text, name)), raw("::timestamptz")))
    if query.cursor:
        position = _position(query.cursor)
        at = concat(param(position.at), raw("::timestamptz"))
        parts += [
            concat(raw("entry.created_at <= "), at),
            concat(
                raw("(entry.created_at < "), at, raw(" or entry.id > "), param(position.id), raw("::uuid)")
            ),
        ]
    return parts


def _moment(text: str, name: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise invalid_arguments(f"`{name}` must be a time with its zone, as 2026-01-31T12:00:00Z")
    return moment.isoformat()


def _cursor(entry: AuthAuditEntry) -> str:
    data = msgspec.json.encode(_AuditPosition(entry.at, entry.id))
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _position(cursor: str) -> _AuditPosition:
    try:
        data = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        position = msgspec.json.decode(data, type=_AuditPosition)
    except (ValueError, msgspec.MsgspecError):
        raise invalid_arguments("`cursor` must be `next` of a page") from None
    return _AuditPosition(_moment(position.at, "cursor"), required_uuid(position.id, "cursor"))


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "auth_audit.search",
            "Search the audit log of auth",
            AuthAuditQuery,
            AuthAuditPage,
            Right.READER,
            search,
        )
    ]
