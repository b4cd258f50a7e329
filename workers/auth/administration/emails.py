"""The emails as administrators see them: described, previewed with sample values, sent to try the mail server."""

import secrets
from datetime import UTC, datetime

from schemas.settings.auth import Auth
from schemas.settings.auth_delivery import Notification, Template
from workers.auth.delivery.failures import DeliveryFailed
from workers.auth.delivery.message import compose
from workers.auth.delivery.smtp import Mailer, SmtpEndpoint
from workers.auth.delivery.templates import (
    SUBJECTS,
    EmailKind,
    RenderedEmail,
    TemplateValues,
    default_html,
    sections_of,
)
from workers.auth.http.context import EndpointContext
from workers.auth.model.errors import AuthError
from workers.auth.model.rate_limits import RequestLimit, count_request

_NOTIFICATION = "_notification"
_TEST_LIMIT = RequestLimit("administrators_test_email", 10, 3600.0)
"""Test emails of one administrator in an hour."""
_WITH_CODE = ("Token", "TokenHash", "ConfirmationURL", "RedirectTo")
_VARIABLES: dict[EmailKind, tuple[str, ...]] = {
    EmailKind.EMAIL_CHANGE: (*_WITH_CODE, "NewEmail", "OldEmail", "SendingTo"),
    EmailKind.REAUTHENTICATION: ("Token",),
    EmailKind.PASSWORD_CHANGED: (),
    EmailKind.EMAIL_CHANGED: ("OldEmail",),
    EmailKind.PHONE_CHANGED: ("Phone", "OldPhone"),
    EmailKind.IDENTITY_LINKED: ("Provider",),
    EmailKind.IDENTITY_UNLINKED: ("Provider",),
    EmailKind.FACTOR_ENROLLED: ("FactorType",),
    EmailKind.FACTOR_UNENROLLED: ("FactorType",),
}
"""Variables of a kind beside those that every email has; kinds that are not listed have those of a code."""


class SampleRejected(Exception):
    """A preview or a test email that cannot be made or sent."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def describe_emails(settings: Auth) -> list[dict[str, object]]:
    """Return each kind with the settings that change it, its variables, and its default and present text."""
    return [_description(kind, section) for kind, section in sections_of(settings.email)]


def _description(kind: EmailKind, section: Template | Notification) -> dict[str, object]:
    name = kind.removesuffix(_NOTIFICATION)
    table = "template" if name == kind else "notification"
    sources = {"content": section.content, "content_path": section.content_path, "url": section.url}
    source = next((source for source, text in sources.items() if text), "default")
    return {
        "kind": kind.value,
        "settings": f"auth.email.{table}.{name}",
        "is_sent": section.enabled if isinstance(section, Notification) else True,
        "variables": ["SiteURL", "Email", "Data", *_VARIABLES.get(kind, _WITH_CODE)],
        "default_subject": SUBJECTS[kind],
        "default_html": default_html(kind),
        "subject": section.subject or SUBJECTS[kind],
        "html": section.content or (default_html(kind) if source == "default" else ""),
        "source": source,
        "place": section.content_path or section.url,
    }


async def preview_email(context: EndpointContext, kind_name: str) -> dict[str, str]:
    """Return an email with sample values. Raises: SampleRejected."""
    rendered = await _sample(context, kind_name)
    return {"subject": rendered.subject, "text": rendered.text, "html": rendered.html}


async def send_test_email(
    context: EndpointContext, server: SmtpEndpoint | None, kind_name: str, to: str, limit_key: str
) -> None:
    """Send an email with sample values by the present mail server, at once. Raises: SampleRejected, whose text names the cure."""
    if server is None:
        raise SampleRejected(
            409,
            "no_mail_server",
            "No mail server is set: emails are not sent. Set auth.email.smtp.host, or switch the mail catcher on (inbucket.enabled)",
        )
    try:
        await count_request(context.database, _TEST_LIMIT, limit_key)
    except AuthError as error:
        raise SampleRejected(429, "too_many_requests", f"Ten test emails an hour: {error}") from None
    rendered, mailer = await _sample(context, kind_name), Mailer(server)
    try:
        message = compose(
            rendered, to, context.outbox.sender, now=datetime.now(UTC), unique=secrets.token_hex(16)
        )
        await mailer.send(message)
    except DeliveryFailed as error:
        raise SampleRejected(502, "mail_not_sent", f"The email was not sent: {error}") from None
    finally:
        await mailer.close()


async def _sample(context: EndpointContext, kind_name: str) -> RenderedEmail:
    try:
        kind = EmailKind(kind_name)
    except ValueError:
        kinds = ", ".join(kind.value for kind in EmailKind)
        raise SampleRejected(404, "not_found", f"There is no email {kind_name[:64]!r}: {kinds}") from None
    outbox = context.outbox
    return outbox.templates.write(kind, sample_values(context.settings), await outbox.remote.get(kind))


def sample_values(settings: Auth) -> TemplateValues:
    """Return sample values. The link verifies nothing: its token is a made-up one."""
    link = (
        f"{settings.external_url.rstrip('/')}/verify?token=sample&type=signup&redirect_to={settings.site_url}"
    )
    return TemplateValues(
        site_url=settings.site_url,
        email="ada@example.com",
        confirmation_url=link,
        token="123456",  # noqa: S106 - a sample
        token_hash="sample",  # noqa: S106 - a sample
        redirect_to=settings.site_url,
        new_email="ada@new.example.com",
        old_email="ada@example.com",
        sending_to="ada@new.example.com",
        phone="15550100",
        old_phone="15550101",
        provider="github",
        factor_type="totp",
        data={"name": "Ada"},
    )
