"""`users.search`: pages of users by keyset, so that the last page costs what the first one does.

Users without a value to sort by (rows written by hand have no `created_at`, some never signed in) come last, by id. Which filters
use an index: `id`, `email` (its beginning), `phone` (whole), sorting by `created_at`. The others read users in the order of the
page until it is full; a filter that few match reads all (docs/management-people.md has figures).
"""

import base64
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.users.auth_pool import required_uuid
from workers.management.operations.users.read_only import (
    read_plain,
    read_rows,
    statement_of,
    text_param,
)
from workers.sql.compose import Sql, concat, join, number, param, raw

_MOST_TEXT = 320


class UserSort(StrEnum):
    """By what users are sorted."""

    CREATED_AT = "created_at"
    LAST_SIGN_IN_AT = "last_sign_in_at"


class UserState(StrEnum):
    """Which users: `any` are all but softly deleted ones."""

    ANY = "any"
    CONFIRMED = "confirmed"
    UNCONFIRMED = "unconfirmed"
    BANNED = "banned"
    ANONYMOUS = "anonymous"
    SINGLE_SIGN_ON = "sso"
    DELETED = "deleted"


class ProjectUserQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Filters, all of which must hold. `email` is the beginning of the address, `phone` the whole number, `contains` a part of
    address, phone or name; `user_metadata` and `app_metadata` must be contained (`@>`). `cursor` is `next` of the page before.
    """

    id: str = ""
    email: Annotated[str, limits.text(_MOST_TEXT, least=0)] = ""
    phone: Annotated[str, limits.text(_MOST_TEXT, least=0)] = ""
    contains: Annotated[str, limits.text(_MOST_TEXT, least=0)] = ""
    provider: Annotated[str, limits.text(_MOST_TEXT, least=0)] = ""
    user_metadata: dict[str, Any] | None = None
    app_metadata: dict[str, Any] | None = None
    state: UserState = UserState.ANY
    sort: UserSort = UserSort.CREATED_AT
    is_ascending: bool = False
    cursor: str = ""
    limit: PageLimit = 50


class ProjectUserSummary(Struct, frozen=True):
    """A user of a list. Times are ISO 8601 with zone."""

    id: str
    email: str | None
    phone: str | None
    name: str | None
    role: str | None
    providers: list[str]
    created_at: str | None
    last_sign_in_at: str | None
    confirmed_at: str | None
    banned_until: str | None
    deleted_at: str | None
    is_anonymous: bool
    is_sso_user: bool
    factors: int


class ProjectUserPage(Struct, frozen=True):
    """A page; `next` is the cursor of the next one, null at the end. `estimate`: how many match, as the planner estimates."""

    rows: list[ProjectUserSummary]
    next: str | None
    estimate: int


class _Position(Struct, array_like=True, frozen=True):
    """The last row of a page: its sort value (null for rows without one) and its id; and the order, which must be the same."""

    order: str
    value: str | None
    id: str


class _Row(Struct):
    key: str | None
    user: ProjectUserSummary


class _Plan(Struct):
    rows: float = msgspec.field(name="Plan Rows")


class _Explained(Struct):
    plan: _Plan = msgspec.field(name="Plan")


_COLUMNS = {
    UserSort.CREATED_AT: raw("users.created_at"),
    UserSort.LAST_SIGN_IN_AT: raw("users.last_sign_in_at"),
}
_STATES = {
    UserState.ANY: raw("users.deleted_at is null"),
    UserState.CONFIRMED: raw("users.deleted_at is null and users.confirmed_at is not null"),
    UserState.UNCONFIRMED: raw(
        "users.deleted_at is null and users.confirmed_at is null and not users.is_anonymous"
    ),
    UserState.BANNED: raw("users.deleted_at is null and users.banned_until > now()"),
    UserState.ANONYMOUS: raw("users.deleted_at is null and users.is_anonymous"),
    UserState.SINGLE_SIGN_ON: raw("users.deleted_at is null and users.is_sso_user"),
    UserState.DELETED: raw("users.deleted_at is not null"),
}
_SUMMARY = raw("""json_build_object('id', users.id, 'email', nullif(users.email, ''), 'phone', nullif(users.phone, ''),
    'name', coalesce(users.raw_user_meta_data ->> 'full_name', users.raw_user_meta_data ->> 'name'), 'role', users.role,
    'providers', coalesce((select json_agg(distinct identity.provider) from auth.identities as identity
      where identity.user_id = users.id), '[]'),
    'created_at', users.created_at, 'last_sign_in_at', users.last_sign_in_at, 'confirmed_at', users.confirmed_at,
    'banned_until', users.banned_until, 'deleted_at', users.deleted_at,
    'is_anonymous', users.is_anonymous, 'is_sso_user', users.is_sso_user,
    'factors', (select count(*) from auth.mfa_factors as factor where factor.user_id = users.id and factor.status = 'verified'))""")


async def search(context: OperationContext, arguments: ProjectUserQuery) -> ProjectUserPage:
    """Return a page of users that match all filters."""
    most = context.settings.max_rows
    if not 1 <= arguments.limit <= most:
        raise invalid_arguments(f"`limit` must be 1 to {most}")
    where = _conditions(arguments)
    position = _position(arguments)
    most_rows, rows = arguments.limit + 1, list[_Row]()
    if position is None or position.value is not None:
        rows = await read_rows(context, _Row, statement_of(_page(arguments, where, position, most_rows)))
    if len(rows) < most_rows:
        last = position if position is not None and position.value is None else None
        rest = _rest(arguments, where, last, most_rows - len(rows))
        rows += await read_rows(context, _Row, statement_of(rest))
    page = rows[: arguments.limit]
    following = None
    if len(rows) > arguments.limit:
        following = _cursor(_Position(_order(arguments), page[-1].key, page[-1].user.id))
    return ProjectUserPage([row.user for row in page], following, await _estimate(context, where))


def _conditions(query: ProjectUserQuery) -> Sql:
    """Return the filters as SQL. Raises: ManagementError (400)."""
    parts = [_STATES[query.state]]
    for name in ("email", "phone", "contains", "provider"):
        if len(getattr(query, name)) > _MOST_TEXT:
            raise invalid_arguments(f"`{name}` must have at most {_MOST_TEXT} characters")
    if query.id:
        parts.append(concat(raw("users.id = "), param(required_uuid(query.id, "id")), raw("::uuid")))
    if query.email:
        pattern = text_param(_like(query.email.strip().lower()) + "%", "email")
        parts.append(concat(raw("lower(users.email) like "), pattern))
    if query.phone:
        phone = query.phone.strip().removeprefix("+").replace(" ", "")
        parts.append(concat(raw("users.phone = "), text_param(phone, "phone")))
    if query.contains:
        pattern = text_param("%" + _like(query.contains.strip().lower()) + "%", "contains")
        parts.append(concat(raw("(lower(users.email) like "), pattern, raw(" or users.phone like "), pattern,
            raw(" or lower(users.raw_user_meta_data ->> 'full_name') like "), pattern,
            raw(" or lower(users.raw_user_meta_data ->> 'name') like "), pattern, raw(")")))  # fmt: skip
    if query.provider:
        provider = text_param(query.provider, "provider")
        parts.append(concat(
            raw("exists (select from auth.identities as identity where identity.user_id = users.id and identity.provider = "),
            provider, raw(")")))  # fmt: skip
    for column, metadata in (
        (raw("users.raw_user_meta_data @> "), query.user_metadata),
        (raw("users.raw_app_meta_data @> "), query.app_metadata),
    ):
        if metadata is not None:
            parts.append(concat(column, _json_param(metadata), raw("::jsonb")))
    return join(" and ", parts)


def _page(query: ProjectUserQuery, where: Sql, after: _Position | None, limit: int) -> Sql:
    """Return the statement of rows that have a sort value, after a position."""
    column = _COLUMNS[query.sort]
    conditions = [where, concat(column, raw(" is not null"))]
    if after is not None:
        comparison = raw(" > (") if query.is_ascending else raw(" < (")
        conditions.append(
            concat(raw("("), column, raw(", users.id)"), comparison, param(after.value), raw("::timestamptz, "),
                param(after.id), raw("::uuid)"))
        )  # fmt: skip
    direction = raw(" asc") if query.is_ascending else raw(" desc")
    return _select(column, direction, join(" and ", conditions), limit)


def _rest(query: ProjectUserQuery, where: Sql, after: _Position | None, limit: int) -> Sql:
    """Return the statement of rows without a sort value, by id."""
    conditions = [where, concat(_COLUMNS[query.sort], raw(" is null"))]
    if after is not None:
        conditions.append(concat(raw("users.id > "), param(after.id), raw("::uuid")))
    return _select(raw("null::timestamptz"), raw(" asc"), join(" and ", conditions), limit)


def _select(value: Sql, direction: Sql, where: Sql, limit: int) -> Sql:
    """Select the ids of the page first: what a summary needs is then read for its rows alone."""
    order = join(", ", [concat(raw("value"), direction), concat(raw("id"), direction)])
    return concat(
        raw("select json_build_object('key', page.value::text, 'user', "), _SUMMARY,
        raw(") from (select users.id, "), value, raw(" as value from auth.users where "), where,
        raw(" order by "), order, raw(" limit "), number(limit),
        raw(") as page join auth.users on users.id = page.id order by page.value"), direction,
        raw(", page.id"), direction,
    )  # fmt: skip


async def _estimate(context: OperationContext, where: Sql) -> int:
    """Return how many rows the planner expects; nothing is read."""
    explain = concat(raw("explain (format json) select from auth.users where "), where)
    rows = await read_plain(context, statement_of(explain))
    text = b"".join(row[0] or b"" for row in rows)
    [explained] = msgspec.json.decode(text, type=list[_Explained])
    return round(explained.plan.rows)


def _like(text: str) -> str:
    """Return a text in which no sign has a meaning for LIKE."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _json_param(value: dict[str, Any]) -> Sql:
    encoded = msgspec.json.encode(value)
    if b"\\u0000" in encoded:
        raise invalid_arguments("metadata cannot hold the character U+0000")
    return param(encoded)


def _order(query: ProjectUserQuery) -> str:
    return f"{query.sort} {'asc' if query.is_ascending else 'desc'}"


def _cursor(position: _Position) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).rstrip(b"=").decode()


def _position(query: ProjectUserQuery) -> _Position | None:
    """Decode the cursor. Raises: ManagementError (400) if it belongs to another order."""
    if not query.cursor:
        return None
    try:
        data = base64.urlsafe_b64decode(query.cursor + "=" * (-len(query.cursor) % 4))
        position = msgspec.json.decode(data, type=_Position)
    except (ValueError, msgspec.MsgspecError):
        raise invalid_arguments("`cursor` must be `next` of a page") from None
    if position.order != _order(query) or "\0" in (position.value or ""):
        raise invalid_arguments("`cursor` is of another order; begin without it")
    return msgspec.structs.replace(position, id=required_uuid(position.id, "cursor"))


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "users.search",
            "Search users of the project",
            ProjectUserQuery,
            ProjectUserPage,
            Right.READER,
            search,
        )
    ]
