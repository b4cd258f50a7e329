"""A rendered email -> the message that is sent: headers, a text part and an HTML part. Pure.

Danger: a line break in a value would add a header. So an address that holds more than an address is rejected, and control
characters in subjects and names become blanks. Source: RFC 5322; RFC 6532; RFC 3834 for `Auto-Submitted`.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from schemas.settings.auth_delivery import Smtp
from schemas.settings.tree import SettingsError
from workers.auth.delivery.failures import DeliveryCause, DeliveryFailed
from workers.auth.delivery.templates import EmailKind, RenderedEmail

_LONGEST_SUBJECT = 250
_LONGEST_ADDRESS = 254
_UNSAFE = re.compile(r"[\s\x00-\x20\x7f-\xa0\"(),:;<>\\\[\]\u2028\u2029]")
_FIELD_NAME = re.compile(r"[!-9;-~]{1,76}")
_OURS = frozenset({
    "from", "to", "cc", "bcc", "subject", "date", "message-id", "sender", "mime-version", "content-type",
    "content-transfer-encoding", "auto-submitted", "return-path", "received",
})  # fmt: skip
_TYPE_MARK = "$messageType"


@dataclass(frozen=True, slots=True)
class MailSender:
    """The sender of all emails, and extra headers of the project (`$messageType` stands for the kind of email)."""

    address: str
    name: str = ""
    headers: tuple[tuple[str, str], ...] = ()


def read_sender(smtp: Smtp) -> MailSender:
    """Read the sender from the settings, at start. Raises: SettingsError."""
    try:
        address = envelope_address(smtp.admin_email)
    except DeliveryFailed:
        raise SettingsError("auth.email.smtp.admin_email is not an e-mail address") from None
    headers: list[tuple[str, str]] = []
    for name, values in smtp.headers.items():
        if not _FIELD_NAME.fullmatch(name) or name.lower() in _OURS:
            raise SettingsError(f"auth.email.smtp.headers: {name!r} is no header that can be set")
        for value in values:
            if value != _one_line(value):
                raise SettingsError(f"auth.email.smtp.headers: a value of {name!r} is not one line")
            headers.append((name, value))
    return MailSender(address, _one_line(smtp.sender_name), tuple(headers))


def compose(
    rendered: RenderedEmail, to: str, sender: MailSender, *, now: datetime, unique: str
) -> EmailMessage:
    """Compose the message to one address. `unique` is its id among all messages of the sender.

    Raises: DeliveryFailed if `to` is not an address.
    """
    message = EmailMessage(policy=SMTP)
    message["From"] = _mailbox(sender.address, sender.name)
    message["To"] = _mailbox(envelope_address(to))
    message["Subject"] = _one_line(rendered.subject)[:_LONGEST_SUBJECT]
    message["Date"] = format_datetime(now)
    message["Message-ID"] = f"<{unique}@{sender.address.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    for name, value in sender.headers:
        message[name] = value.replace(_TYPE_MARK, EmailKind(rendered.kind).value)
    message.set_content(_whole(rendered.text), cte="quoted-printable")
    message.add_alternative(_whole(rendered.html), subtype="html", cte="quoted-printable")
    return message


def envelope_address(address: str) -> str:
    """Return an address for the SMTP envelope: the domain in ASCII (IDNA). Raises: DeliveryFailed if it is not one address."""
    address = address.strip(" ")
    local, at, domain = address.rpartition("@")
    if not (at and local and domain) or len(address) > _LONGEST_ADDRESS:
        raise _unusable()
    if _UNSAFE.search(local) or _UNSAFE.search(domain) or "@" in local or _is_odd(address):
        raise _unusable()
    try:
        ascii_domain = domain.encode("idna").decode().lower() if not domain.isascii() else domain
    except UnicodeError:
        raise _unusable() from None
    return f"{local}@{ascii_domain}"


def is_ascii(address: str) -> bool:
    """Return whether every server accepts the address; others need the extension SMTPUTF8."""
    return address.isascii()


def _mailbox(address: str, name: str = "") -> Address:
    local, _, domain = address.rpartition("@")
    try:
        return Address(display_name=name, username=local, domain=domain)
    except (ValueError, HeaderParseError):
        raise _unusable() from None


def _unusable() -> DeliveryFailed:
    return DeliveryFailed(
        DeliveryCause.ADDRESS, "the recipient's address cannot be sent to", is_permanent=True
    )


def _is_odd(text: str) -> bool:
    """Return whether a text holds invisible characters, or lone surrogates."""
    return any(unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs") for sign in text)


def _one_line(text: str) -> str:
    """Return a text with each run of control characters and line ends replaced by one blank."""
    return " ".join(
        "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in _whole(text)).split()
    )


def _whole(text: str) -> str:
    """Return a text without lone surrogates, which a user's JSON may hold."""
    return text.encode("utf-8", "replace").decode()
