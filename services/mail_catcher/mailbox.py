"""The received emails, newest first, limited by number and bytes. Pure: no I/O, no clock."""

from collections.abc import Iterable

from services.mail_catcher.emails import CaughtEmail
from services.mail_catcher.search import MailQuery

LATEST = "latest"
"""Stands for the id of the newest email."""


class CaughtMail:
    """The emails in memory. Beyond the limits the oldest ones are dropped."""

    def __init__(self, max_emails: int = 500, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._emails: dict[str, CaughtEmail] = {}
        self._read: set[str] = set()
        self._max_emails = max_emails
        self._max_bytes = max_bytes
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._emails)

    @property
    def unread(self) -> int:
        """Number of unread emails."""
        return len(self._emails) - len(self._read)

    @property
    def size_bytes(self) -> int:
        """Bytes of all emails in memory."""
        return self._bytes

    def add(self, email: CaughtEmail) -> None:
        """Store an email, and drop the oldest ones beyond the limits."""
        self._emails[email.id] = email
        self._bytes += email.weight_bytes
        while len(self._emails) > self._max_emails or (
            self._bytes > self._max_bytes and len(self._emails) > 1
        ):
            self._remove(next(iter(self._emails)))

    def get(self, id: str) -> CaughtEmail | None:
        """Return an email by its id, or the newest one for `latest`."""
        if id == LATEST:
            return next(iter(self.newest_first()), None)
        return self._emails.get(id)

    def newest_first(self, query: MailQuery | None = None) -> list[CaughtEmail]:
        """Return the emails that match a query; all without one."""
        emails = reversed(self._emails.values())
        return [email for email in emails if query is None or query.matches(email, self.is_read(email.id))]

    def is_read(self, id: str) -> bool:
        """Return whether the email was opened."""
        return id in self._read

    def mark(self, ids: Iterable[str], *, is_read: bool) -> None:
        """Mark emails as read or unread."""
        for id in ids:
            if id in self._emails:
                (self._read.add if is_read else self._read.discard)(id)

    def remove(self, ids: Iterable[str]) -> None:
        """Delete emails; unknown ids are ignored."""
        for id in ids:
            if id in self._emails:
                self._remove(id)

    def clear(self) -> None:
        """Delete all emails."""
        self._emails.clear()
        self._read.clear()
        self._bytes = 0

    def _remove(self, id: str) -> None:
        self._bytes -= self._emails.pop(id).weight_bytes
        self._read.discard(id)
