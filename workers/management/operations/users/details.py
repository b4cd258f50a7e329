"""One user of the project: everything that is stored of it, and which rows of the project refer to it."""

import time
from typing import Any

from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import statement
from workers.management.interface.errors import not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.users.audit_search import AuthAuditEntry, AuthAuditQuery, entries_of
from workers.management.operations.users.auth_pool import required_uuid
from workers.management.operations.users.read_only import read_rows, statement_of
from workers.sql.compose import concat, ident, number, param, qualified, raw
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.operations.users", "details.sql")
_MOST_COUNTED = 10_000
_COUNT_S, _COUNT_ALL_S = 5.0, 20.0
_RECENT = 50
_QUERY_CANCELED = "57014"
_ACTIONS = {
    "a": "prevent",
    "r": "prevent",
    "c": "delete",
    "n": "set null",
    "d": "set default",
}
"""`confdeltype` of a foreign key, as what becomes of the referring rows."""


class ProjectUserReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A user of the project by id."""

    id: str


class ProjectIdentity(Struct, frozen=True):
    """One way in which the user signs in. `identity_data` are the claims of the provider."""

    id: str
    provider: str
    provider_id: str
    email: str | None
    identity_data: dict[str, Any]
    created_at: str | None
    last_sign_in_at: str | None


class ProjectFactor(Struct, frozen=True):
    """A second factor of the user, without its secret."""

    id: str
    type: str
    status: str
    name: str | None
    phone: str | None
    created_at: str
    last_challenged_at: str | None


class ProjectPasskey(Struct, frozen=True):
    """A passkey of the user."""

    id: str
    name: str
    created_at: str
    last_used_at: str | None


class ProjectSession(Struct, frozen=True):
    """A session of the user."""

    id: str
    created_at: str | None
    refreshed_at: str | None
    not_after: str | None
    aal: str | None
    user_agent: str | None
    ip: str | None
    oauth_client_id: str | None


class ProjectUser(Struct, frozen=True):
    """A user of the project, without password and tokens. `sessions`: the newest 100."""

    id: str
    email: str | None
    phone: str | None
    role: str | None
    aud: str | None
    has_password: bool
    new_email: str | None
    new_phone: str | None
    created_at: str | None
    updated_at: str | None
    last_sign_in_at: str | None
    email_confirmed_at: str | None
    phone_confirmed_at: str | None
    invited_at: str | None
    banned_until: str | None
    deleted_at: str | None
    is_anonymous: bool
    is_sso_user: bool
    user_metadata: Any
    app_metadata: Any
    identities: list[ProjectIdentity]
    factors: list[ProjectFactor]
    passkeys: list[ProjectPasskey]
    sessions: list[ProjectSession]


class ProjectUserDetails(Struct, frozen=True):
    """A user, and the newest entries of auth's audit log that name it."""

    user: ProjectUser
    audit: list[AuthAuditEntry]


class ReferringRows(Struct, frozen=True):
    """Rows that refer to a user by a foreign key, and what deleting the user does: `delete`, `prevent`, `set null`, `set default`.

    `rows`: how many, at most 10,001, which means more; null if they could not be counted in five seconds (all in twenty) or the key has several
    columns.
    Rows that are deleted may take others with them.
    """

    name: str
    schema: str
    table: str
    columns: list[str]
    action: str
    has_index: bool
    rows: int | None


class _ForeignKey(Struct):
    name: str
    schema: str
    table: str
    columns: list[str]
    action: str
    has_index: bool


async def read(context: OperationContext, arguments: ProjectUserReference) -> ProjectUserDetails:
    """Return a user with identities, factors, sessions and recent audit entries."""
    user_id = required_uuid(arguments.id, "id")
    [passwords] = await context.database.read_as_developer(
        statement(_SQL["has_password"], user_id), timeout_s=context.settings.statement_timeout_s
    )
    has_password = bool(passwords) and passwords[0][0] == b"t"
    users = await read_rows(context, ProjectUser, statement(_SQL["user"], user_id, has_password))
    if not users:
        raise not_found(f"user {user_id}")
    return ProjectUserDetails(
        users[0], await entries_of(context, AuthAuditQuery(user_id=user_id, limit=_RECENT))
    )


async def references(context: OperationContext, arguments: ProjectUserReference) -> list[ReferringRows]:
    """Return which rows refer to a user, and what deleting the user would do to them."""
    user_id = required_uuid(arguments.id, "id")
    keys = await read_rows(context, _ForeignKey, statement(_SQL["foreign_keys"]))
    deadline = time.monotonic() + _COUNT_ALL_S
    return [
        ReferringRows(
            key.name,
            key.schema,
            key.table,
            key.columns,
            _ACTIONS[key.action],
            key.has_index,
            await _count(context, key, user_id) if time.monotonic() < deadline else None,
        )
        for key in keys
    ]


async def _count(context: OperationContext, key: _ForeignKey, user_id: str) -> int | None:
    if len(key.columns) != 1:
        return None
    counting = concat(
        raw("select count(*)::text from (select from "), qualified(key.schema, key.table), raw(" where "),
        ident(key.columns[0]), raw(" = "), param(user_id), raw("::uuid limit "), number(_MOST_COUNTED + 1),
        raw(") as referring"),
    )  # fmt: skip
    try:
        [count] = await read_rows(context, int, statement_of(counting), timeout_s=_COUNT_S)
    except DatabaseError as error:
        if error.code != _QUERY_CANCELED:
            raise
        return None
    return count


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "users.read",
            "Read a user of the project",
            ProjectUserReference,
            ProjectUserDetails,
            Right.READER,
            read,
        ),
        Operation(
            "users.references",
            "Which rows refer to a user, and what deleting it does to them",
            ProjectUserReference,
            list[ReferringRows],
            Right.READER,
            references,
        ),
    ]
