"""The caller whose rights are explained: a role and claims, set in a transaction as requests of the interfaces set them."""

import uuid
from typing import Any

import msgspec
from msgspec import Struct, field

from workers.database.transactions.interactive import statement
from workers.management.areas.catalog.relations import EMPTY_PATH
from workers.management.interface.errors import invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import OperationContext
from workers.sql.compose import quoted
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.areas.policies", "facts.sql")
_MOST_CLAIMS = 64 * 1024


class CallerDescription(Struct, frozen=True, forbid_unknown_fields=True):
    """A caller. Without anything it is one without a token.

    With `user_id` the claims are those of that user's access token; `claims` are added to them. `role` defaults to the role in the claims.
    """

    role: str | None = None
    user_id: str | None = None
    claims: dict[str, Any] = field(default_factory=dict)


class ResolvedCaller(Struct, frozen=True):
    """A role and the claims that `auth.jwt()` returns."""

    role: str
    claims: dict[str, Any]


class _User(Struct):
    claims: dict[str, Any]


async def resolve_caller(context: OperationContext, caller: CallerDescription) -> ResolvedCaller:
    """Return role and claims of a caller. Raises: ManagementError (400, 404 for a user that is not there)."""
    if len(msgspec.json.encode(caller.claims)) > _MOST_CLAIMS:
        raise invalid_arguments(f"`claims` must have at most {_MOST_CLAIMS} bytes")
    claims = dict(caller.claims)
    if caller.user_id is not None:
        claims = {**await _claims_of_user(context, caller.user_id), **claims}
    role = (
        caller.role
        or claims.get("role")
        or ("authenticated" if claims else context.configuration.api.anon_role)
    )
    if not isinstance(role, str) or not 1 <= len(role.encode(errors="replace")) <= 63 or "\0" in role:
        raise invalid_arguments("`role` must be the name of a role")
    return ResolvedCaller(role, {**claims, "role": role})


async def _claims_of_user(context: OperationContext, user_id: str) -> dict[str, Any]:
    try:
        subject = str(uuid.UUID(user_id))
    except ValueError:
        raise invalid_arguments("`user_id` must be a UUID") from None
    _, rows = await context.database.read_as_developer(
        statement(EMPTY_PATH),
        statement(_SQL["user"], subject),
        timeout_s=context.settings.statement_timeout_s,
    )
    users = decode_rows(rows, _User)
    if not users:
        raise not_found(f"user {subject}; name `claims` instead to try those of a user who is not there")
    return users[0].claims


def search_path(context: OperationContext, schema: str) -> str:
    """Return the search path of requests to a schema."""
    names = dict.fromkeys((schema, *context.configuration.api.extra_search_path))
    return ", ".join(quoted(name) for name in names)


def caller_settings(
    caller: ResolvedCaller, role_settings: dict[str, str], path: str
) -> list[tuple[str, str]]:
    """Return the settings of the caller's transaction, in their order."""
    claims = msgspec.json.encode(caller.claims).decode()
    return [
        ("search_path", path),
        *((name, value) for name, value in role_settings.items() if name.lower() not in _NOT_APPLIED),
        ("role", caller.role),
        ("request.jwt.claims", claims),
        ("request.method", "GET"),
        ("request.path", "/"),
        ("request.headers", "{}"),
        ("request.cookies", "{}"),
    ]


_NOT_APPLIED = frozenset(
    {
        "role",
        "session_authorization",
        "statement_timeout",
        "transaction_read_only",
        "default_transaction_read_only",
    }
)
