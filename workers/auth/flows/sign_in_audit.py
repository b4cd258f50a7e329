"""Audit entries of a sign-in with a provider, without the entry of the session (`audit.login`).

Source: docs/reference/auth.md, sections 11.3 and 16.10.
"""

from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.delivery.context import DeliveryContext
from workers.auth.flows.external_sign_in import ExternalSignIn
from workers.auth.model.request import AuthRequest
from workers.database.transactions.model import Statement


def sign_in_entries(
    context: DeliveryContext,
    request: AuthRequest,
    entry: ExternalSignIn,
    provider: str,
    deed: AuditAction | None = None,
) -> list[Statement]:
    """Return the statements of the entries. `deed` is the action in addition to signing in: to link, or to accept an invitation."""
    return [
        statement
        for action in _actions(entry, deed)
        for statement in audit.entry(context, request, action, entry.user, {"provider": provider})
    ]


def _actions(entry: ExternalSignIn, deed: AuditAction | None) -> list[AuditAction]:
    """Return what happened. A user who must still confirm the address is signed up only when it is confirmed."""
    done = [deed] if deed else []
    if entry.rejection is not None:
        if entry.mail is not None:
            return [*done, AuditAction.USER_CONFIRMATION_REQUESTED]
        return done or [AuditAction.LOGIN_FAILED]
    if entry.is_new:
        return [AuditAction.USER_SIGNED_UP]
    return done or ([AuditAction.IDENTITY_LINKED] if entry.linked else [])
