"""Emails that notify a user of a change of the account: password, address, phone, identities. The settings enable each kind.

An attacker who took over an account must not be the only one to know of the change, so the notice of a new email address
goes to the old one. Addresses that were never confirmed get no notice. Every function is called after the commit, outside a
transaction; an email that cannot be sent does not undo the change, the outbox logs the reason.
Source: docs/reference/auth.md, sections 6.2, 6.3 and 18.3.
"""

from contextlib import suppress

from workers.auth.delivery.context import DeliveryContext
from workers.auth.delivery.email.emails import OutgoingEmail, change_notice
from workers.auth.delivery.templates import EmailKind
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import AuthUser


async def send_change_notices(
    context: DeliveryContext, before: AuthUser, after: AuthUser, *, is_password_new: bool = False
) -> None:
    """Send the notices of what differs between two states of a user's account."""
    for mail in _notices(context, before, after, is_password_new=is_password_new):
        with suppress(AuthError):  # the change is committed; the outbox has logged why the email is missing
            await context.outbox.send(mail)


async def send_identity_linked(context: DeliveryContext, user: AuthUser, provider: str) -> None:
    """Notify a user that an identity was added."""
    if context.settings.email.notification.identity_linked.enabled:
        await _send_identity_notice(context, EmailKind.IDENTITY_LINKED, user, provider)


async def send_identity_unlinked(context: DeliveryContext, user: AuthUser, provider: str) -> None:
    """Notify a user that an identity was removed. `user` is the account before the change, with its address of then."""
    if context.settings.email.notification.identity_unlinked.enabled:
        await _send_identity_notice(context, EmailKind.IDENTITY_UNLINKED, user, provider)


async def _send_identity_notice(
    context: DeliveryContext, kind: EmailKind, user: AuthUser, provider: str
) -> None:
    if user.email and user.email_confirmed_at is not None:
        with suppress(AuthError):  # as above
            email = change_notice(context.settings, kind, user, user.email, provider=provider)
            await context.outbox.send(email)


def _notices(
    context: DeliveryContext, before: AuthUser, after: AuthUser, *, is_password_new: bool
) -> list[OutgoingEmail]:
    settings, notification = context.settings, context.settings.email.notification
    old = before.email if before.email and before.email_confirmed_at is not None else ""
    current = after.email if after.email and after.email_confirmed_at is not None else ""
    mails = []
    if notification.password_changed.enabled and is_password_new and (old or current):
        mails.append(
            change_notice(settings, EmailKind.PASSWORD_CHANGED, before if old else after, old or current)
        )
    if notification.email_changed.enabled and old and old != after.email:
        mails.append(change_notice(settings, EmailKind.EMAIL_CHANGED, after, old, old_email=old))
    if notification.phone_changed.enabled and current and before.phone != after.phone:
        phones = {"phone": after.phone or "", "old_phone": before.phone or ""}
        mails.append(change_notice(settings, EmailKind.PHONE_CHANGED, after, current, **phones))
    return mails
