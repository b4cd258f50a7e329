"""Parse and match searches in Mailpit's syntax: `to:ann@example.org subject:"Your code"`. Pure.

Every term must match; `-term` or `!term` must not. A field matches if its text contains the term's, ignoring case.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from services.mail_catcher.emails import CaughtEmail, Mailbox

_TERM = re.compile(r'(?P<not>[-!]?)(?:(?P<field>[a-zA-Z-]+):)?(?:"(?P<quoted>[^"]*)"|(?P<plain>\S+))')


@dataclass(frozen=True, slots=True)
class _SearchTerm:
    field: str
    words: str
    """In lower case."""
    is_negated: bool


@dataclass(frozen=True, slots=True)
class MailQuery:
    """A parsed search."""

    terms: tuple[_SearchTerm, ...]

    def matches(self, email: CaughtEmail, is_read: bool) -> bool:
        """Return whether an email matches the search."""
        return all(_matches(term, email, is_read) is not term.is_negated for term in self.terms)


def read_query(text: str) -> MailQuery:
    """Parse a search; any text is valid. A term with an unknown field is searched as a word."""
    terms: list[_SearchTerm] = []
    for match in _TERM.finditer(text):
        name = (match["field"] or "").lower()
        words = match["quoted"] if match["quoted"] is not None else match["plain"]
        if name not in _FIELDS and name not in ("is", "has", ""):
            name, words = "", f"{match['field']}:{words}"
        terms.append(_SearchTerm(name, words.lower(), bool(match["not"])))
    return MailQuery(tuple(terms))


def _matches(term: _SearchTerm, email: CaughtEmail, is_read: bool) -> bool:
    match term.field, term.words:
        case "is", "read":
            return is_read
        case "is", "unread":
            return not is_read
        case "has", "attachment" | "attachments":
            return bool(email.attachments)
        case (("is" | "has"), _):
            return False
        case "", words:
            return any(words in text.lower() for texts in _ANYWHERE for text in _FIELDS[texts](email))
        case field, words:
            return any(words in text.lower() for text in _FIELDS[field](email))


def _boxes(boxes: Iterable[Mailbox]) -> list[str]:
    return [f"{box.name} <{box.address}>" for box in boxes]


_FIELDS: dict[str, Callable[[CaughtEmail], list[str]]] = {
    "from": lambda mail: [*_boxes(mail.source), mail.sender],
    "to": lambda mail: _boxes(mail.to),
    "cc": lambda mail: _boxes(mail.cc),
    "bcc": lambda mail: _boxes(mail.bcc),
    "reply-to": lambda mail: _boxes(mail.reply_to),
    "addressed": lambda mail: [
        *_boxes((*mail.source, *mail.to, *mail.cc, *mail.bcc, *mail.reply_to)),
        *mail.recipients,
    ],
    "subject": lambda mail: [mail.subject],
    "message-id": lambda mail: [mail.message_id],
    "body": lambda mail: [mail.text, mail.html],
}
_ANYWHERE = ("addressed", "subject", "body")
