"""Checks texts that a person writes inside a statement: a type, an expression, a query. Pure.

A text passes if it cannot reach beyond its place in the statement: quotes and brackets are closed, none is closed that it did not
open, and it contains neither a semicolon nor a comment. Whether it is valid SQL is for Postgres to say (`syntax.py`).
Source: PostgreSQL, "Lexical Structure".
"""

import re

from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.project.sql_splitter import SplitError, split
from workers.sql import compose

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--|/\*)
  | (?P<text>[eE]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'|'[^']*(?:''[^']*)*')
  | (?P<name>"[^"]+(?:""[^"]*)*"|"(?:"")+[^"]*(?:""[^"]*)*")
  | (?P<word>[^\W\d][\w$]*)
  | (?P<dollar>\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)
  | (?P<number>\d[\w.]*)
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {")": "(", "]": "["}
_MOST_TEXT = 100_000
_ENDS_A_TYPE = frozenset(
    [
        "constraint",
        "not",
        "null",
        "check",
        "default",
        "generated",
        "unique",
        "primary",
        "references",
        "deferrable",
        "initially",
        "enforced",
        "collate",
        "storage",
        "compression",
        "using",
        "options",
        "as",
        "on",
    ]
)
"""Words with which the next part of a column's definition begins, so they cannot belong to its type."""
_QUERIES = ("select", "with", "values", "table")


def expression(text: str, what: str) -> str:
    """Return an expression in parentheses. Raises: ManagementError (400) if it is not one."""
    _check(text, what)
    return f"({text.strip()})"


def query(text: str, what: str) -> str:
    """Return the query of a view. Raises: ManagementError (400) if it is not one statement that reads."""
    kinds = _check(text, what)
    if not kinds or kinds[0][1].lower() not in (*_QUERIES, "("):
        raise invalid_arguments(f"`{what}` must be one query: select ..., without a semicolon")
    return text.strip()


def type_text(text: str, what: str = "type") -> str:
    """Return a type: `text`, `numeric(10, 2)`, `"My type"[]`, `timestamp with time zone`. Raises: ManagementError (400)."""
    depth = 0
    for kind, part in _check(text, what):
        depth += (part in "([") - (part in ")]")
        is_word = kind == "word" and part.lower() not in _ENDS_A_TYPE
        if not (is_word or kind in ("name", "number") or part in ".()[]" or (part == "," and depth)):
            raise invalid_arguments(f"`{what}` must be the name of a type; {part} cannot be in it")
    return text.strip()


def types_text(text: str, what: str) -> str:
    """Return the types of a function's arguments, separated by commas; an empty text is none. Raises: ManagementError (400)."""
    if text.strip():
        _check(text, what)
    return text.strip()


def single_statement(text: str, beginnings: tuple[str, ...], what: str) -> str:
    """Return a whole statement without its semicolon, which must begin with one of `beginnings`. Raises: ManagementError (400)."""
    try:
        statements = split(text)
    except SplitError as error:
        raise invalid_arguments(f"`{what}`: {error.message}") from None
    if len(statements) != 1 or not " ".join(statements[0].words).startswith(beginnings):
        raise invalid_arguments(f"`{what}` must be one statement: {' or '.join(beginnings)} ...")
    return statements[0].text


def name(text: str) -> str:
    """Return a quoted name. Raises: ManagementError (400) if Postgres could not keep it whole."""
    if not 1 <= len(text.encode(errors="replace")) <= 63 or "\0" in text:
        raise invalid_arguments("A name must have 1 to 63 bytes")
    return compose.quoted(text)


def names(texts: list[str]) -> str:
    """Return quoted names in a list. Raises: ManagementError (400) for none."""
    if not texts:
        raise invalid_arguments("At least one name is needed")
    return ", ".join(name(text) for text in texts)


def qualified(schema: str, text: str) -> str:
    """Return a quoted name with its schema. Raises: as `name`."""
    return f"{name(schema)}.{name(text)}"


def literal(text: str) -> str:
    """Return a text as an SQL literal. Raises: ManagementError (400) for a NUL."""
    if "\0" in text:
        raise invalid_arguments("A text cannot have a NUL")
    return compose.render(compose.literal(text))[0].strip()


def _check(text: str, what: str) -> list[tuple[str, str]]:
    """Return the parts of a text with their kinds, without space."""
    if not text.strip() or len(text) > _MOST_TEXT or "\0" in text:
        raise invalid_arguments(f"`{what}` must have 1 to {_MOST_TEXT} characters, and no NUL")
    parts = [(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(text)]
    open_brackets: list[str] = []
    for kind, part in parts:
        if kind == "comment":
            raise _rejected(what, "it has a comment")
        if kind != "sign":
            continue
        if part in "'\"$":
            raise _rejected(what, f"a {part} is not closed")
        if part == ";":
            raise _rejected(what, "it has a semicolon")
        if part in "([":
            open_brackets.append(part)
        elif part in ")]" and (not open_brackets or open_brackets.pop() != _CLOSING[part]):
            raise _rejected(what, f"{part} closes what is not open")
    if open_brackets:
        raise _rejected(what, f"{open_brackets[-1]} is not closed")
    return [(kind, part) for kind, part in parts if kind != "space"]


def _rejected(what: str, reason: str) -> ManagementError:
    return invalid_arguments(f"`{what}` must be one expression: {reason}")
