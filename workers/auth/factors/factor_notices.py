"""Mails that tell a user of a change of his second factors, where the project wants them.

Source: reference page "auth", section 18.3.
"""

from contextlib import suppress
from enum import Enum

from workers.auth.context import Accounts
from workers.auth.delivery.templates import Facts, Kind
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import User


class Change(Enum):
    """What happened to a factor, and the letter that tells of it."""

    ENROLLED = Kind.FACTOR_ENROLLED
    UNENROLLED = Kind.FACTOR_UNENROLLED


async def tell(accounts: Accounts, user: User, change: Change, factor_type: str) -> None:
    """Tell a user of a change. Not within a transaction: the change is kept, whatever becomes of the mail."""
    own = accounts.settings
    notices = own.email.notification
    notice = notices.mfa_factor_enrolled if change is Change.ENROLLED else notices.mfa_factor_unenrolled
    if not notice.enabled or not user.email:
        return
    facts = Facts(
        site_url=own.site_url,
        email=user.email,
        factor_type=factor_type,
        data=user.raw_user_meta_data or {},
    )
    with suppress(AuthError):  # the change is made; why its mail is missing stands in the log
        await accounts.outbox.mail(change.value, user.email, facts, user)
