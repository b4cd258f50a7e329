"""The words of a search, as tests and people write them for Mailpit: `to:ann@example.org subject:"Your code"`. Pure.

Every term must hold; `-term` or `!term` must not. A field holds if its text contains the term's, whatever the case.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from services.catcher.letter import Letter, Mailbox

_TERM = re.compile(r'(?P<not>[-!]?)(?:(?P<field>[a-zA-Z-]+):)?(?:"(?P<quoted>[^"]*)"|(?P<plain>\S+))')


@dataclass(frozen=True, slots=True)
class _Term:
    field: str
    words: str
    """In lower case."""
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Query:
    """A search that was read."""

    terms: tuple[_Term, ...]

    def finds(self, letter: Letter, is_read: bool) -> bool:
        """Tell whether the search finds a letter."""
        return all(_holds(term, letter, is_read) is not term.is_negated for term in self.terms)


def read_query(text: str) -> Query:
    """Read a search; any text is one. A field that is not known is a word to be found."""
    terms: list[_Term] = []
    for match in _TERM.finditer(text):
        name = (match["field"] or "").lower()
        words = match["quoted"] if match["quoted"] is not None else match["plain"]
        if name not in _FIELDS and name not in ("is", "has", ""):
            name, words = "", f"{match['field']}:{words}"
        terms.append(_Term(name, words.lower(), bool(match["not"])))
    return Query(tuple(terms))


def _holds(term: _Term, letter: Letter, is_read: bool) -> bool:
    match term.field, term.words:
        case "is", "read":
            return is_read
        case "is", "unread":
            return not is_read
        case "has", "attachment" | "attachments":
            return bool(letter.attachments)
        case (("is" | "has"), _):
            return False
        case "", words:
            return any(words in text.lower() for texts in _ANYWHERE for text in _FIELDS[texts](letter))
        case field, words:
            return any(words in text.lower() for text in _FIELDS[field](letter))


def _boxes(boxes: Iterable[Mailbox]) -> list[str]:
    return [f"{box.name} <{box.address}>" for box in boxes]


_FIELDS: dict[str, Callable[[Letter], list[str]]] = {
    "from": lambda one: [*_boxes(one.source), one.sender],
    "to": lambda one: _boxes(one.to),
    "cc": lambda one: _boxes(one.cc),
    "bcc": lambda one: _boxes(one.bcc),
    "reply-to": lambda one: _boxes(one.reply_to),
    "addressed": lambda one: [
        *_boxes((*one.source, *one.to, *one.cc, *one.bcc, *one.reply_to)),
        *one.recipients,
    ],
    "subject": lambda one: [one.subject],
    "message-id": lambda one: [one.message_id],
    "body": lambda one: [one.text, one.html],
}
_ANYWHERE = ("addressed", "subject", "body")
