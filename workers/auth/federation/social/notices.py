"""Mails that tell a user of a change of his identities, where the project wants them.

Source: reference page "auth", section 18.3.
"""

from contextlib import suppress

from workers.auth.context import Accounts
from workers.auth.delivery.email.mails import notice
from workers.auth.delivery.templates import Kind
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import User


async def tell_linked(accounts: Accounts, user: User, provider: str) -> None:
    """Tell a user that an identity was added. Not within a transaction."""
    if accounts.settings.email.notification.identity_linked.enabled:
        await _tell(accounts, Kind.IDENTITY_LINKED, user, provider)


async def tell_unlinked(accounts: Accounts, user: User, provider: str) -> None:
    """Tell a user, at the address he had until now, that an identity was taken away. Not within a transaction."""
    if accounts.settings.email.notification.identity_unlinked.enabled:
        await _tell(accounts, Kind.IDENTITY_UNLINKED, user, provider)


async def _tell(accounts: Accounts, kind: Kind, user: User, provider: str) -> None:
    if user.email and user.email_confirmed_at is not None:
        with suppress(AuthError):  # the change is made; why its mail is missing stands in the log
            await accounts.outbox.send(notice(accounts.settings, kind, user, user.email, provider=provider))
