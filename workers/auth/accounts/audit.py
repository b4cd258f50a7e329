"""The audit log: who did what to which user, written in the transaction of the change.

    more = audit.login(context, request, user, "email", SignInMethod.PASSWORD)    statements to run with those of the sign-in
    grant = await context.start_session(transaction, ..., more=more)
    await audit.record(context, transaction, request, AuditAction.USER_MODIFIED, user)        in a round trip of its own

Every session that starts is a `login`; other events have an entry of their own beside it (`user_signedup`: a user who signed
up can use the account from now on). `login_failures.py` writes failed sign-ins. For changes by an administrator the actor is
the administrator, and `user_traits` name the user. Source: docs/reference/auth.md, sections 16.8, 16.10 and 24.2.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.auth.model.claims import SignInMethod
from workers.auth.model.context import AuthContext
from workers.auth.model.pages import ListPage
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthUser, Metadata
from workers.database.transactions.interactive import Transaction, statement
from workers.database.transactions.model import Statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts", "audit.sql")


class AuditAction(StrEnum):
    """What happened; `log_type` is its group."""

    log_type: str

    def __new__(cls, value: str, log_type: str) -> "AuditAction":
        member = str.__new__(cls, value)
        member._value_ = value
        member.log_type = log_type
        return member

    LOGIN = "login", "account"
    LOGIN_FAILED = "login_failed", "account"
    LOGOUT = "logout", "account"
    INVITE_ACCEPTED = "invite_accepted", "account"
    USER_SIGNED_UP = "user_signedup", "team"
    USER_INVITED = "user_invited", "team"
    USER_DELETED = "user_deleted", "team"
    TOKEN_REVOKED = "token_revoked", "token"
    TOKEN_REFRESHED = "token_refreshed", "token"
    USER_MODIFIED = "user_modified", "user"
    USER_RECOVERY_REQUESTED = "user_recovery_requested", "user"
    USER_REAUTHENTICATE_REQUESTED = "user_reauthenticate_requested", "user"
    USER_CONFIRMATION_REQUESTED = "user_confirmation_requested", "user"
    USER_REPEATED_SIGN_UP = "user_repeated_signup", "user"
    USER_UPDATED_PASSWORD = "user_updated_password", "user"
    IDENTITY_LINKED = "identity_linked", "user"
    IDENTITY_UNLINKED = "identity_unlinked", "user"
    PASSKEY_CREATED = "passkey_created", "user"
    PASSKEY_UPDATED = "passkey_updated", "user"
    PASSKEY_DELETED = "passkey_deleted", "user"
    FACTOR_IN_PROGRESS = "factor_in_progress", "factor"
    FACTOR_UNENROLLED = "factor_unenrolled", "factor"
    CHALLENGE_CREATED = "challenge_created", "factor"
    VERIFICATION_ATTEMPTED = "verification_attempted", "factor"
    FACTOR_DELETED = "factor_deleted", "factor"
    FACTOR_UPDATED = "factor_updated", "factor"


FIELDS = {"author": "author", "action": "action", "type": "type"}
"""The fields that `query=<field>:<text>` of GET /admin/audit can search."""


class AccountEvent(Observation, frozen=True):
    """An entry of the audit log that is logged instead of stored."""

    action: str
    actor_id: str
    client: str


class AuditEntry(msgspec.Struct, frozen=True):
    """An entry as its row contains it."""

    id: str
    payload: Metadata
    created_at: str
    ip_address: str


async def record(
    context: AuthContext,
    transaction: Transaction,
    request: AuthRequest,
    action: AuditAction,
    actor: AuthUser,
    traits: Mapping[str, object] | None = None,
) -> None:
    """Write an entry. `traits` are its details, and must not contain secrets."""
    statements = entry(context, request, action, actor, traits)
    if statements:
        await transaction.run(*statements)


def entry(
    context: AuthContext,
    request: AuthRequest,
    action: AuditAction,
    actor: AuthUser,
    traits: Mapping[str, object] | None = None,
) -> tuple[Statement, ...]:
    """Return the statement that writes an entry, to be run with others; empty if the settings disable the table.

    In that case the entry is logged at once, even if the transaction fails afterwards.
    """
    if log_instead(context, request, action, actor):
        return ()
    payload = msgspec.json.encode(payload_of(action, actor, traits))
    return (statement(_SQL["insert"], payload, request.device.address),)


def login(
    context: AuthContext,
    request: AuthRequest,
    user: AuthUser,
    provider: str,
    method: SignInMethod,
    **more: object,
) -> tuple[Statement, ...]:
    """Return the entry of a session that starts: its provider (`email`, `github`, `passkey`...) and its method."""
    traits = {"provider": provider, "method": method.value, **more}
    return entry(context, request, AuditAction.LOGIN, user, traits)


def log_instead(
    context: AuthContext, request: AuthRequest, action: AuditAction, actor: AuthUser | None
) -> bool:
    """Log an entry if the settings disable the table (`auth.audit_log.disable_postgres`); return whether they do."""
    is_disabled = context.settings.audit_log.disable_postgres
    if is_disabled and actor is not None:
        observe(AccountEvent(action.value, str(actor.id), request.device.address))
    return is_disabled


def user_traits(user: AuthUser) -> Metadata:
    """Return the traits that name the user whom an administrator changes."""
    return {"user_id": str(user.id), "user_email": user.email or "", "user_phone": user.phone or ""}


def payload_of(action: AuditAction, actor: AuthUser, traits: Mapping[str, object] | None) -> Metadata:
    """Return the payload of an entry. Pure."""
    payload: Metadata = {
        "actor_id": str(actor.id),
        "actor_via_sso": actor.is_sso_user,
        "actor_username": actor.email or actor.phone or "",
        "action": action.value,
        "log_type": action.log_type,
    }
    name = (actor.raw_user_meta_data or {}).get("full_name")
    if isinstance(name, str) and name:
        payload["actor_name"] = name
    if traits:
        payload["traits"] = dict(traits)
    return payload


async def entries(
    transaction: Transaction, page: ListPage, field: str, text: str
) -> tuple[list[AuditEntry], int]:
    """Return a page of entries, newest first, and their total number; all entries if `field` is empty."""
    entries = await transaction.all(_SQL["page"], AuditEntry, page.size, page.offset, field, text)
    counted = await transaction.rows(_SQL["count"], field, text)
    return entries, int(counted[0][0] or 0)
