"""Letters to test with."""

from datetime import UTC, datetime

from services.catcher.letter import Letter, read_letter


def letter(
    id: str, *, to: str = "ann@example.org", subject: str = "Hello", text: str = "Some text", size: int = 0
) -> Letter:
    """Make a letter; `size` lengthens its text."""
    raw = f"From: Team <team@example.org>\nTo: {to}\nSubject: {subject}\nMessage-ID: <{id}@x>\n\n{text}{'x' * size}"
    return read_letter(id, raw.encode(), "team@example.org", (to,), datetime(2026, 11, 21, tzinfo=UTC))
