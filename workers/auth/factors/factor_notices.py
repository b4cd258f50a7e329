"""Emails that notify a user of a change of their second factors, if the settings enable them.

Source: docs/reference/auth.md, section 18.3.
"""

from contextlib import suppress
from enum import Enum

from workers.auth.delivery.context import DeliveryContext
from workers.auth.delivery.templates import EmailKind, TemplateValues
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import AuthUser


class FactorChange(Enum):
    """What happened to a factor, and the template of its email."""

    ENROLLED = EmailKind.FACTOR_ENROLLED
    UNENROLLED = EmailKind.FACTOR_UNENROLLED


async def send_notice(
    context: DeliveryContext, user: AuthUser, change: FactorChange, factor_type: str
) -> None:
    """Notify a user of a change. Call it after the commit: the change is stored even if the email cannot be sent."""
    settings = context.settings
    notices = settings.email.notification
    notice = notices.mfa_factor_enrolled if change is FactorChange.ENROLLED else notices.mfa_factor_unenrolled
    if not notice.enabled or not user.email:
        return
    facts = TemplateValues(
        site_url=settings.site_url,
        email=user.email,
        factor_type=factor_type,
        data=user.raw_user_meta_data or {},
    )
    with suppress(AuthError):  # the change is stored; the log says why the email was not sent
        await context.outbox.mail(change.value, user.email, facts, user)
