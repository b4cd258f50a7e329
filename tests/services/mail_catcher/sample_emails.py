"""Emails to test with."""

from datetime import UTC, datetime

from services.mail_catcher.emails import CaughtEmail, parse_email


def email(
    id: str, *, to: str = "ann@example.org", subject: str = "Hello", text: str = "Some text", size: int = 0
) -> CaughtEmail:
    """Make an email; `size` lengthens its text."""
    raw = f"From: Team <team@example.org>\nTo: {to}\nSubject: {subject}\nMessage-ID: <{id}@x>\n\n{text}{'x' * size}"
    return parse_email(id, raw.encode(), "team@example.org", (to,), datetime(2026, 11, 21, tzinfo=UTC))
