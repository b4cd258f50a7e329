"""Whom an operation acts as in the database: a caller of the interfaces, with its role and claims ("view as").

The settings are those that REST sets for such a caller, so policies and functions judge it the same way.
"""

from typing import Any

import msgspec
from msgspec import Struct

from schemas.settings.tree import Settings
from workers.database.transactions.interactive import decode_first, statement
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import as_uuid
from workers.management.interface.operation import OperationContext
from workers.management.interface.rights import Right

AUTHENTICATED = "authenticated"
_LONGEST_CLAIMS = 16 * 1024
_USER = """
select pg_catalog.json_build_object('email', coalesce(account.email, ''), 'phone', coalesce(account.phone, ''),
  'app_metadata', coalesce(account.raw_app_meta_data, '{}'), 'user_metadata', coalesce(account.raw_user_meta_data, '{}'),
  'is_anonymous', account.is_anonymous)
from auth.users as account
where account.id operator(pg_catalog.=) $1::pg_catalog.text::pg_catalog.uuid
"""


class ViewAs(Struct, frozen=True, forbid_unknown_fields=True):
    """A caller of the interfaces: a role with claims, or a user by its id (whose claims are those of its access token).

    `role` is `anon`, `authenticated` or another role of tokens; `claims` are added to those of the user.
    """

    role: str = ""
    claims: dict[str, Any] = {}
    user_id: str | None = None


async def caller_settings(context: OperationContext, view_as: ViewAs) -> list[tuple[str, str]]:
    """Return the settings of a session that acts as a caller. Raises: ManagementError."""
    role = view_as.role or (AUTHENTICATED if view_as.user_id else context.configuration.api.anon_role or "")
    _check_role(context.actor.rights, context.configuration, role)
    claims: dict[str, object] = {"role": role}
    if view_as.user_id is not None:
        claims |= await _claims_of_user(context, view_as.user_id)
    claims |= {**view_as.claims, "role": role}
    text = msgspec.json.encode(claims).decode()
    if len(text) > _LONGEST_CLAIMS:
        raise invalid_arguments(f"`claims` may have {_LONGEST_CLAIMS} characters as JSON")
    return [("role", role), ("request.jwt.claims", text), ("request.method", "GET"), ("request.path", "/")]


def _check_role(rights: Right, configuration: Settings, role: str) -> None:
    """Refuse a role that is not one of tokens; the service role, which passes every policy, needs a developer."""
    for_all = (configuration.api.anon_role or "anon", AUTHENTICATED)
    if not role or "\0" in role or role in ("none", "authenticator"):
        raise invalid_arguments(f"`role` must be {for_all[0]}, {AUTHENTICATED} or another role of tokens")
    if role not in for_all and not rights.includes(Right.DEVELOPER):
        raise ManagementError(
            403, "no_right", f"To act as {role} needs the rights of a developer; yours are {rights}"
        )


async def _claims_of_user(context: OperationContext, user_id: str) -> dict[str, object]:
    """Return the claims of a user's access token, as far as policies read them. Raises: ManagementError (404)."""
    uuid = as_uuid(user_id)
    user = None
    if uuid is not None:
        [rows] = await context.database.read(
            statement(_USER, uuid), timeout_s=context.settings.statement_timeout_s
        )
        user = decode_first(rows, dict[str, object])
    if user is None:
        raise not_found(f"user with the id {user_id[:64]}")
    return {"sub": uuid, "aud": AUTHENTICATED, **user}
