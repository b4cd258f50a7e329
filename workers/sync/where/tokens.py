"""Splits an expression into tokens with their places. Pure. Source: PostgreSQL, "Lexical Structure".

Comments, dollar quotes, Unicode escapes and bit strings are no tokens here. Places are counted as in
`SELECT 1 WHERE <expression>`, from 0, because clients know them so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

OFFSET = len("SELECT 1 WHERE ")
MOST_TOKENS = 20_000
"""`IN` with thousands of values is usual; more is rejected."""

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+)
  | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
  | \$(?P<param>\d{1,4})
  | (?P<escaped>[eE]'(?:[^'\\]|''|\\.)*')
  | (?P<text>'(?:[^']|'')*')
  | (?P<quoted>"(?:[^"]|"")+")
  | (?P<name>[^\W\d][\w$]*)
  | (?P<cast>::)
  | (?P<mark>[(),.\[\];:])
  | (?P<operator>[-+*/<>=~!@\#%^&|?]+)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class TokenKind(Enum):
    """What a token is."""

    NAME = "name"
    """Folded to lower case; it may be a keyword."""
    QUOTED = "quoted"
    NUMBER = "number"
    TEXT = "text"
    PARAM = "param"
    OPERATOR = "operator"
    MARK = "mark"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its meaning in `value`, as it was written in `text`."""

    kind: TokenKind
    value: str
    text: str
    place: int


class ExpressionRejected(Exception):
    """The expression cannot be used; the text is for the client."""


def rejected(place: int, text: str) -> ExpressionRejected:
    """Return the error at a place of the expression."""
    return ExpressionRejected(f"At location {place + OFFSET}: {text}")


def unexpected(token: Token) -> ExpressionRejected:
    """Return the error of a token that does not fit."""
    if token.kind is TokenKind.END:
        return rejected(token.place, "syntax error at end of input")
    return rejected(token.place, f'syntax error at or near "{token.text}"')


def tokenize(text: str) -> list[Token]:
    """Return the tokens, with one of kind END behind them. Raises: ExpressionRejected."""
    tokens = list(_tokens(text))
    if len(tokens) > MOST_TOKENS:
        raise ExpressionRejected(f"the expression has more than {MOST_TOKENS} parts")
    return [*tokens, Token(TokenKind.END, "", "", len(text))]


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise rejected(at, f'syntax error at or near "{text[at : at + 20]}"')
        kind, written = match.lastgroup or "", match.group()
        if kind == "operator" and ("--" in written or "/*" in written):
            raise rejected(at, "comments are not supported")
        if kind != "blank":
            yield _token(kind, match.group(kind), written, at)
        at = match.end()


def _token(kind: str, inner: str, written: str, place: int) -> Token:
    match kind:
        case "number":
            return Token(TokenKind.NUMBER, inner, written, place)
        case "param":
            return Token(TokenKind.PARAM, inner, written, place)
        case "text":
            return Token(TokenKind.TEXT, inner[1:-1].replace("''", "'"), written, place)
        case "escaped":
            return Token(TokenKind.TEXT, _unescaped(inner[2:-1], place), written, place)
        case "quoted":
            return Token(TokenKind.QUOTED, inner[1:-1].replace('""', '"'), written, place)
        case "name":
            return Token(TokenKind.NAME, inner.lower(), written, place)
        case "operator":
            return Token(TokenKind.OPERATOR, inner, written, place)
    return Token(TokenKind.MARK, written, written, place)


def _unescaped(text: str, place: int) -> str:
    def one(match: re.Match[str]) -> str:
        sign = match.group(1)
        if sign == "'":
            return "'"
        if sign in "xuU01234567":
            raise rejected(place, "only simple escapes are supported")
        return _ESCAPES.get(sign, sign)

    return re.sub(
        r"\\(.)|''", lambda match: "'" if match.group() == "''" else one(match), text, flags=re.DOTALL
    )
