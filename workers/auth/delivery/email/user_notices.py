"""Mails that tell a user of a new password or address, where the project wants them.

A thief who has got into an account must not be the only one to know: the notice of a new address goes to the old one.
Addresses that were never confirmed get none. Source: reference page "auth", sections 6.2, 6.3 and 18.3.
"""

from contextlib import suppress

from workers.auth.context import Accounts
from workers.auth.delivery.email.mails import Mail, notice
from workers.auth.delivery.templates import Kind
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import User


async def tell_changes(
    accounts: Accounts, before: User, after: User, *, is_password_new: bool = False
) -> None:
    """Tell a user what has changed of his account. Not within a transaction: the changes are kept, whatever becomes of
    the mails."""
    for mail in _notices(accounts, before, after, is_password_new=is_password_new):
        with suppress(AuthError):  # the change is made; why its mail is missing stands in the log
            await accounts.outbox.send(mail)


def _notices(accounts: Accounts, before: User, after: User, *, is_password_new: bool) -> list[Mail]:
    own, wanted = accounts.settings, accounts.settings.email.notification
    old = before.email if before.email and before.email_confirmed_at is not None else ""
    current = after.email if after.email and after.email_confirmed_at is not None else ""
    mails = []
    if wanted.password_changed.enabled and is_password_new and (old or current):
        mails.append(notice(own, Kind.PASSWORD_CHANGED, before if old else after, old or current))
    if wanted.email_changed.enabled and old and old != after.email:
        mails.append(notice(own, Kind.EMAIL_CHANGED, after, old, old_email=old))
    if wanted.phone_changed.enabled and current and before.phone != after.phone:
        phones = {"phone": after.phone or "", "old_phone": before.phone or ""}
        mails.append(notice(own, Kind.PHONE_CHANGED, after, current, **phones))
    return mails
