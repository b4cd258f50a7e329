"""Directives of ours in comments of tables: `@headwater({"history": {"days": 30}, "label": "name"})`. Pure.

A comment may have any text around it. The object is JSON; unknown members are errors, so that a misspelled one is not taken for none.
"""

import json

import msgspec
from msgspec import Struct

_START = "@headwater("
MOST_DAYS = 3650


class InvalidDirective(ValueError):
    """The directive in a comment is wrong; the message says what is expected."""


class HistoryDirective(Struct, frozen=True, forbid_unknown_fields=True):
    """Versions of the rows of the table are kept for `days`."""

    days: int = 30


class CommentDirective(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a comment asks for. `label`: the column by which people know a row, where the dashboard shows references to it."""

    history: HistoryDirective | None = None
    label: str | None = None


def read_directive(comment: str) -> CommentDirective:
    """Return the directive in a comment; an empty one without it. Raises: InvalidDirective."""
    start = comment.find(_START)
    if start < 0:
        return CommentDirective()
    try:
        value, end = json.JSONDecoder().raw_decode(comment, start + len(_START))
    except (ValueError, RecursionError):
        raise InvalidDirective(
            '@headwater(...) needs a JSON object, as in @headwater({"history": {"days": 30}})'
        ) from None
    if comment[end : end + 1] != ")":
        raise InvalidDirective("@headwater(...) is not closed behind its object")
    try:
        directive = msgspec.convert(value, CommentDirective)
    except msgspec.ValidationError as error:
        raise InvalidDirective(f"@headwater(...): {error}") from None
    if directive.history is not None and not 1 <= directive.history.days <= MOST_DAYS:
        raise InvalidDirective(f"@headwater(...): days of history are 1 to {MOST_DAYS}")
    return directive


def with_directive(comment: str, directive: CommentDirective) -> str:
    """Return a comment with another directive, or without one if it asks for nothing; the text around it stays."""
    start = comment.find(_START)
    before, after = comment, ""
    if start >= 0:
        try:
            _, end = json.JSONDecoder().raw_decode(comment, start + len(_START))
        except (ValueError, RecursionError):
            end = comment.find(")", start)
            end = len(comment) if end < 0 else end
        before, after = comment[:start], comment[end + 1 :]
    text = "" if directive == CommentDirective() else f"{_START}{msgspec.json.encode(directive).decode()})"
    return " ".join(part for part in (before.strip(), text, after.strip()) if part)
