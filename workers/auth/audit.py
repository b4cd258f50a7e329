"""The audit log: who did what to which account, in the transaction that does it.

    more = audit.login(accounts, asked, user, "email", Method.PASSWORD)       rides with the statements of the deed
    granted = await accounts.begin_session(transaction, ..., more=more)
    await audit.record(accounts, transaction, asked, Action.USER_MODIFIED, user)        where there are none to ride with

Every session that begins is a `login`; what else happened has an entry of its own beside it (`user_signedup`: an account
that its owner made can be used from now on). `login_failures.py` has the sign-ins that were refused. What an admin does
has the admin as its actor, and `about` the user in its traits. Source: reference page "auth", 16.8, 16.10 and 24.2.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.auth.accounts.sessions.claims import Method
from workers.auth.context import Accounts
from workers.auth.delivery.email.pages import Page
from workers.auth.model.request import Asked
from workers.auth.model.rows import Metadata, User
from workers.database.interactive import Transaction, statement
from workers.database.session import Statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth", "audit.sql")


class Action(StrEnum):
    """What happened; `log_type` is its group."""

    log_type: str

    def __new__(cls, value: str, log_type: str) -> "Action":
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
"""What `query=<field>:<text>` of GET /admin/audit looks in."""


class AccountEvent(Observation, frozen=True):
    """An entry of the audit log that is not kept in the database."""

    action: str
    actor_id: str
    client: str


class Entry(msgspec.Struct, frozen=True):
    """An entry as its row holds it."""

    id: str
    payload: Metadata
    created_at: str
    ip_address: str


async def record(
    accounts: Accounts,
    transaction: Transaction,
    asked: Asked,
    action: Action,
    actor: User,
    traits: Mapping[str, object] | None = None,
) -> None:
    """Write that somebody did something. `traits` tell more of it, and never hold a secret."""
    statements = entry(accounts, asked, action, actor, traits)
    if statements:
        await transaction.run(*statements)


def entry(
    accounts: Accounts,
    asked: Asked,
    action: Action,
    actor: User,
    traits: Mapping[str, object] | None = None,
) -> tuple[Statement, ...]:
    """Give the statement that writes it, for others to take along; none where the database is spared.

    Then the log is told at once, whatever becomes of the transaction.
    """
    if is_told_to_log(accounts, asked, action, actor):
        return ()
    payload = msgspec.json.encode(payload_of(action, actor, traits))
    return (statement(_SQL["insert"], payload, asked.device.address),)


def login(
    accounts: Accounts, asked: Asked, user: User, provider: str, method: Method, **more: object
) -> tuple[Statement, ...]:
    """Give the entry of a session that begins: by which provider (`email`, `github`, `passkey`...), in which way."""
    traits = {"provider": provider, "method": method.value, **more}
    return entry(accounts, asked, Action.LOGIN, user, traits)


def is_told_to_log(accounts: Accounts, asked: Asked, action: Action, actor: User | None) -> bool:
    """Tell the log what somebody did where the database is spared; say whether it is."""
    is_spared = accounts.settings.audit_log.disable_postgres
    if is_spared and actor is not None:
        observe(AccountEvent(action.value, str(actor.id), asked.device.address))
    return is_spared


def about(user: User) -> Metadata:
    """Give the traits that name the user to whom an admin does something."""
    return {"user_id": str(user.id), "user_email": user.email or "", "user_phone": user.phone or ""}


def payload_of(action: Action, actor: User, traits: Mapping[str, object] | None) -> Metadata:
    """Give the payload of an entry. Pure."""
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


async def entries(transaction: Transaction, page: Page, field: str, text: str) -> tuple[list[Entry], int]:
    """Give a page of entries, newest first, and how many there are; all of them without a field."""
    found = await transaction.all(_SQL["page"], Entry, page.size, page.offset, field, text)
    counted = await transaction.rows(_SQL["count"], field, text)
    return found, int(counted[0][0] or 0)
