"""Parses the boolean expression of a shape into pieces from which SQL is built. Pure.

Nothing of a client's text reaches the server as it was sent: names become quoted identifiers, values parameters, and operators,
functions and types are those of `words.py`. What the grammar does not know is rejected with its place.

    expression = operand { operator operand } | NOT expression | operand IS ... | operand [NOT] IN (list or SELECT) | ...
    SELECT     = SELECT column, ... FROM table [WHERE expression]      inside of IN alone, not correlated

Every operation is written in parentheses, so that how strongly operators bind is decided here alone.
"""

from collections.abc import Iterator

from workers.sync.names import DEFAULT_SCHEMA
from workers.sync.where.pieces import ColumnRef, ParamRef, Piece, Pieces, Subquery, Value, Word
from workers.sync.where.token_reader import TokenReader
from workers.sync.where.tokens import ExpressionRejected, Token, TokenKind, rejected, tokenize, unexpected
from workers.sync.where.words import (
    COMPARISONS,
    FUNCTIONS,
    OF_THE_GRAMMAR,
    OPERATOR_FUNCTIONS,
    OPERATORS,
    PREFIXES,
    RESERVED,
    TYPES,
)

DEEPEST = 60
"""Levels of parentheses."""


_OPEN, _CLOSE, _COMMA = Word("("), Word(")"), Word(", ")
_IS = {
    ("null",): " is null",
    ("true",): " is true",
    ("false",): " is false",
    ("unknown",): " is unknown",
    ("not", "null"): " is not null",
    ("not", "true"): " is not true",
    ("not", "false"): " is not false",
    ("not", "unknown"): " is not unknown",
}
_OR, _AND, _NOT, _IS_LEVEL, _RANGE, _AT, _SIGN, _CAST = 1, 2, 3, 4, 6, 11, 12, 14


def parse_where(text: str, *, allows_subqueries: bool) -> Pieces:
    """Parse an expression. Raises: ExpressionRejected."""
    reader = TokenReader(tokenize(text))
    pieces = _Parser(reader, allows_subqueries).expression(0)
    reader.end()
    return pieces


def _typed(pieces: Pieces) -> Iterator[Piece]:
    for piece in pieces:
        yield piece
        if isinstance(piece, Value | ParamRef):
            yield Word("::text")


class _Parser:
    """Parses operators and their operands from left to right."""

    def __init__(self, reader: TokenReader, allows_subqueries: bool) -> None:
        self._reader, self._depth = reader, 0
        self._allows_subqueries = allows_subqueries

    def expression(self, least: int) -> Pieces:
        """Parse operands and the operators between them that bind more strongly than `least`."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise ExpressionRejected(f"the expression is nested more than {DEEPEST} levels deep")
        left = self._prefixed()
        while (longer := self._continued(left, least)) is not None:
            left = longer
        self._depth -= 1
        return left

    def _continued(self, left: Pieces, least: int) -> Pieces | None:
        """Return the operation whose left operand was read, or None at its end."""
        token = self._reader.token
        if token.kind is TokenKind.OPERATOR:
            level = OPERATORS.get(token.value)
            if level is None:
                raise rejected(token.place, f'operator "{token.text}" is not supported')
            return self._binary(left, level, least)
        if token.kind is TokenKind.MARK:
            if token.value == "::" and least < _CAST:
                self._reader.take()
                return (_OPEN, *left, Word(f"::{self._reader.type()})"))
            if token.value == "[" and least < _CAST:
                return self._subscript(left)
            return None
        if token.kind is not TokenKind.NAME:
            return None
        return self._worded(left, token.value, least)

    def _chain(self, left: Pieces, word: str, level: int) -> Pieces:
        """Return `((left and a) and b)` for all operands that a word joins: made at once, as each step would copy what is before it."""
        rest: list[Piece] = []
        count = 0
        while self._reader.is_word(word):
            self._reader.take()
            rest += (Word(f" {word} "), *self.expression(level), _CLOSE)
            count += 1
        return (*(_OPEN,) * count, *left, *rest)

    def _worded(self, left: Pieces, word: str, least: int) -> Pieces | None:
        match word:
            case "or" if least < _OR:
                return self._chain(left, "or", _OR)
            case "and" if least < _AND:
                return self._chain(left, "and", _AND)
            case "is" if least < _IS_LEVEL:
                self._reader.take()
                return self._is(left)
            case "at" if least < _AT:
                self._reader.take_words("at", "time", "zone")
                return (_OPEN, *left, Word(" at time zone "), *self.expression(_AT), _CLOSE)
            case "in" | "between" | "like" | "ilike" | "not" if least < _RANGE:
                return self._range(left)
        return None

    def _binary(self, left: Pieces, level: int, least: int) -> Pieces | None:
        if level <= least:
            return None
        token = self._reader.take()
        if token.value in COMPARISONS and self._reader.is_word("any", "all", "some"):
            word = self._reader.token.value
            self._reader.take()
            self._reader.take_mark("(")
            if self._reader.is_word("select"):
                raise rejected(self._reader.token.place, "subqueries are supported in IN alone")
            array = self.expression(0)
            self._reader.take_mark(")")
            return (_OPEN, *left, Word(f" {token.value} {word}("), *array, Word("))"))
        right = self.expression(level)
        return (_OPEN, *left, Word(f" {token.value} "), *right, _CLOSE)

    def _is(self, left: Pieces) -> Pieces:
        words: tuple[str, ...] = ()
        if self._reader.is_word("not"):
            self._reader.take()
            words = ("not",)
        if self._reader.is_word("distinct"):
            self._reader.take_words("distinct", "from")
            text = f" is {'not ' if words else ''}distinct from "
            return (_OPEN, *left, Word(text), *self.expression(_IS_LEVEL), _CLOSE)
        token = self._reader.token
        text = _IS.get((*words, token.value), "") if token.kind is TokenKind.NAME else ""
        if not text:
            raise unexpected(token)
        self._reader.take()
        return (_OPEN, *left, Word(text), _CLOSE)

    def _range(self, left: Pieces) -> Pieces:
        is_negated = self._reader.is_word("not")
        if is_negated:
            self._reader.take()
        negation = " not" if is_negated else ""
        token = self._reader.token
        if token.kind is not TokenKind.NAME or token.value not in ("in", "between", "like", "ilike"):
            raise unexpected(token)
        self._reader.take()
        match token.value:
            case "between":
                symmetric = " symmetric" if self._reader.is_word("symmetric") else ""
                if symmetric:
                    self._reader.take()
                low = self.expression(_RANGE)
                self._reader.take_words("and")
                high = self.expression(_RANGE)
                return (
                    _OPEN,
                    *left,
                    Word(f"{negation} between{symmetric} "),
                    *low,
                    Word(" and  "),
                    *high,
                    _CLOSE,
                )
            case "in":
                self._reader.take_mark("(")
                inner = self._select(is_negated) if self._reader.is_word("select") else self._list()
                self._reader.take_mark(")")
                return (_OPEN, *left, Word(f"{negation} in ("), *inner, Word("))"))
        return (_OPEN, *left, Word(f"{negation} {token.value} "), *self.expression(_RANGE), _CLOSE)

    def _prefixed(self) -> Pieces:
        token = self._reader.token
        if token.kind is TokenKind.OPERATOR:
            if token.value not in PREFIXES:
                raise unexpected(token)
            self._reader.take()
            return (Word(f"({token.value} "), *self.expression(_SIGN), _CLOSE)
        if token.kind is TokenKind.NAME and token.value == "not":
            self._reader.take()
            return (Word("(not "), *self.expression(_NOT), _CLOSE)
        return self._operand()

    def _operand(self) -> Pieces:
        token = self._reader.take()
        match token.kind:
            case TokenKind.NUMBER:
                return (Word(token.value),)
            case TokenKind.TEXT:
                return (Value(token.value),)
            case TokenKind.PARAM:
                return (ParamRef(int(token.value), token.place),)
            case TokenKind.QUOTED:
                return self._column(token)
            case TokenKind.MARK if token.value == "(":
                return self._parenthesized()
            case TokenKind.NAME:
                return self._named(token)
        raise unexpected(token)

    def _named(self, token: Token) -> Pieces:
        word = token.value
        is_call = self._reader.is_mark("(")
        match word:
            case "true" | "false" | "null":
                return (Word(word),)
            case "array" if self._reader.token.value == "[":
                self._reader.take_mark("[")
                inner = () if self._reader.token.value == "]" else self._list()
                self._reader.take_mark("]")
                return (Word("array["), *inner, Word("]"))
            case "cast" if is_call:
                self._reader.take_mark("(")
                value = self.expression(0)
                self._reader.take_words("as")
                kind = self._reader.type()
                self._reader.take_mark(")")
                return (_OPEN, *value, Word(f"::{kind})"))
        if is_call:
            return self._call(token)
        if self._reader.token.kind is TokenKind.TEXT and (word in TYPES):
            text = self._reader.token.value
            self._reader.take()
            return (_OPEN, Value(text), Word(f"::{TYPES[word]})"))
        if word in RESERVED:
            raise unexpected(token)
        return self._column(token)

    def _call(self, token: Token) -> Pieces:
        name = token.value
        if name not in FUNCTIONS:
            raise rejected(token.place, f"unknown function {token.text}")
        self._reader.take_mark("(")
        arguments = () if self._reader.token.value == ")" else self._list()
        self._reader.take_mark(")")
        if name in OPERATOR_FUNCTIONS:
            if arguments.count(_COMMA) != 1:
                raise rejected(token.place, f"{name} takes two arguments")
            at = arguments.index(_COMMA)
            operator = Word(f" {OPERATOR_FUNCTIONS[name]} ")
            return (_OPEN, *arguments[:at], operator, *arguments[at + 1 :], _CLOSE)
        if name == "concat":  # of arguments of any type, so nothing else tells the type of a text
            arguments = tuple(_typed(arguments))
        prefix = "" if name in OF_THE_GRAMMAR else "pg_catalog."
        return (Word(f"{prefix}{name}("), *arguments, _CLOSE)

    def _parenthesized(self) -> Pieces:
        if self._reader.is_word("select"):
            raise rejected(self._reader.token.place, "subqueries are supported in IN alone")
        inner = self._list()
        self._reader.take_mark(")")
        return (_OPEN, *inner, _CLOSE)

    def _list(self) -> Pieces:
        pieces = [*self.expression(0)]
        while self._reader.is_mark(","):
            self._reader.take()
            pieces += [_COMMA, *self.expression(0)]
        return tuple(pieces)

    def _subscript(self, left: Pieces) -> Pieces:
        self._reader.take_mark("[")
        inner = () if self._reader.token.value == ":" else self.expression(0)
        if self._reader.token.value == ":":
            self._reader.take()
            upper = () if self._reader.token.value == "]" else self.expression(0)
            inner = (*inner, Word(":"), *upper)
        self._reader.take_mark("]")
        return (Word("(("), *left, Word(")["), *inner, Word("])"))

    def _select(self, is_negated: bool) -> Pieces:
        """Parse a SELECT inside of IN."""
        start = self._reader.token
        if not self._allows_subqueries:
            raise rejected(start.place, "Subqueries are not supported here")
        self._reader.take()
        columns = [self._column_ref()]
        while self._reader.is_mark(","):
            self._reader.take()
            columns.append(self._column_ref())
        self._reader.take_words("from")
        names = self._reader.dotted()
        table = (names[0], names[1]) if len(names) == 2 else (DEFAULT_SCHEMA, names[0])
        if len(names) > 2:
            raise rejected(start.place, "a table is named as schema.table")
        where: Pieces = ()
        if self._reader.is_word("where"):
            self._reader.take()
            where = self.expression(0)
        return (Subquery(tuple(columns), table, where, is_negated),)

    def _column_ref(self) -> ColumnRef:
        (piece,) = self._column(self._reader.name())
        assert isinstance(piece, ColumnRef)
        return piece

    def _column(self, token: Token) -> Pieces:
        names = [token.value, *self._reader.more_names()]
        return (ColumnRef(names[-1], tuple(names[:-1]), token.place),)
