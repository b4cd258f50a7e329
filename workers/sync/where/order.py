"""Parses the order of a subset: columns with ASC or DESC and NULLS FIRST or LAST; no expressions. Pure."""

from dataclasses import dataclass

from workers.sync.where.tokens import Token, TokenKind, tokenize, unexpected
from workers.sync.where.words import RESERVED


@dataclass(frozen=True, slots=True)
class SubsetOrder:
    """A column, and how its values are ordered: a constant text of ours."""

    column: str
    direction: str


def parse_order(text: str) -> list[SubsetOrder]:
    """Parse an order. Raises: ExpressionRejected."""
    tokens = iter(tokenize(text))
    token = next(tokens)
    terms = []
    while True:
        if token.kind is not TokenKind.QUOTED and (
            token.kind is not TokenKind.NAME or token.value in RESERVED
        ):
            raise unexpected(token)
        column, token = token.value, next(tokens)
        direction = ""
        if _is(token, "asc") or _is(token, "desc"):
            direction, token = f" {token.value}", next(tokens)
        if _is(token, "nulls"):
            token = next(tokens)
            if not (_is(token, "first") or _is(token, "last")):
                raise unexpected(token)
            direction, token = f"{direction} nulls {token.value}", next(tokens)
        terms.append(SubsetOrder(column, direction))
        if token.kind is TokenKind.END:
            return terms
        if token.kind is not TokenKind.MARK or token.value != ",":
            raise unexpected(token)
        token = next(tokens)


def _is(token: Token, word: str) -> bool:
    return token.kind is TokenKind.NAME and token.value == word
