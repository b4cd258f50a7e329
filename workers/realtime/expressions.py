"""Parses the expressions of policies, as `pg_get_expr` prints them with an empty search path. Pure.

Theory. Postgres prints every operation between parentheses and names the schema of everything outside pg_catalog, operators,
too (`OPERATOR(public.=)`). So a parser that reads every token and stops at the first it does not know cannot mistake one
expression for another. What is between parentheses and is not understood becomes `UnknownNode`, and the expression around it is
parsed further: `((owner = auth.uid()) AND (EXISTS ( SELECT ...)))` is an `AndNode` of a comparison and `UnknownNode`.
Source: PostgreSQL, "System Catalog Information Functions" (pg_get_expr).
"""

import re

from workers.realtime.expression_nodes import (
    UNKNOWN,
    AndNode,
    ArrayNode,
    BoolNode,
    CallNode,
    CastNode,
    ColumnNode,
    EqualAnyNode,
    EqualNode,
    ExpressionNode,
    ExpressionText,
    IsNode,
    MemberNode,
    NotNode,
    OrNode,
)

MOST_CHARACTERS = 10_000
_MOST_DEPTH = 60

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")+"|[a-z_][a-z0-9_$]*)
    | (?P<keyword>[A-Z][A-Z_]*)
    | (?P<number>[0-9]+(?:\.[0-9]+)?)
    | (?P<mark>->>|->|::|[()\[\],.]|=(?![<>=!~*+/@#%^&|`?-]))
    )""",
    re.VERBOSE | re.ASCII,
)
_NAMED_TYPES = frozenset(("character varying", "double precision"))


def parse_expression(text: str) -> ExpressionNode:
    """Parse an expression; a part that is not understood becomes `UnknownNode`."""
    if len(text) > MOST_CHARACTERS:
        return UNKNOWN
    try:
        reader = _Reader(_tokens(text))
        node = reader.expression()
        return node if reader.is_at_end else UNKNOWN
    except (_NotUnderstoodError, RecursionError):
        return UNKNOWN


class _NotUnderstoodError(Exception):
    """A token that is not expected at its place."""


_Token = tuple[str, str]


def _tokens(text: str) -> list[_Token]:
    """Return kind and text of each token; a character that starts no token is one of the kind "other"."""
    tokens: list[_Token] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at] in "'\"\\":
                raise _NotUnderstoodError  # an open quote: parentheses may be inside a text
            if not text[at].isspace():
                tokens.append(("other", text[at]))
            at += 1
            continue
        kind = match.lastgroup or ""
        tokens.append((kind, match[kind]))
        at = match.end()
    return tokens


class _Reader:
    """A recursive descent parser of the tokens of one expression."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._tokens)

    def expression(self) -> ExpressionNode:
        parts = [self._all_of()]
        while self._takes("keyword", "OR"):
            parts.append(self._all_of())
        return parts[0] if len(parts) == 1 else OrNode(tuple(parts))

    def _all_of(self) -> ExpressionNode:
        parts = [self._negation()]
        while self._takes("keyword", "AND"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else AndNode(tuple(parts))

    def _negation(self) -> ExpressionNode:
        return NotNode(self._negation()) if self._takes("keyword", "NOT") else self._comparison()

    def _comparison(self) -> ExpressionNode:
        left = self._members()
        if self._takes("mark", "="):
            if not self._takes("keyword", "ANY"):
                return EqualNode(left, self._members())
            right = self._in_parentheses()
            return EqualAnyNode(left, right)
        if self._takes("keyword", "IS"):
            if self._takes("keyword", "TRUE"):
                return IsNode(left, True)
            self._expect("keyword", "FALSE")
            return IsNode(left, False)
        return left

    def _members(self) -> ExpressionNode:
        node = self._operand()
        while (kind := self._peek()) in (("mark", "->"), ("mark", "->>")):
            self._at += 1
            node = MemberNode(node, self._operand(), kind[1] == "->>")
        return node

    def _operand(self) -> ExpressionNode:
        node = self._primary()
        while self._takes("mark", "::"):
            node = CastNode(node, self._type())
        return node

    def _primary(self) -> ExpressionNode:
        kind, text = self._peek()
        if (kind, text) == ("mark", "("):
            return self._in_parentheses()
        self._at += 1
        match kind:
            case "string":
                return ExpressionText(text[1:-1].replace("''", "'"))
            case "number":
                return ExpressionText(text, is_number=True)
            case "name":
                return self._named(text)
            case "keyword" if text == "ARRAY":
                return self._array()
            case "keyword" if text == "EXISTS" and self._peek() == ("mark", "("):
                self._at = self._closing(self._at) + 1
                return UNKNOWN
            case "keyword" if text == "NULLIF" and self._peek() == ("mark", "("):
                return CallNode("", text, self._arguments())
        raise _NotUnderstoodError

    def _in_parentheses(self) -> ExpressionNode:
        """Parse what is between parentheses; if it is not understood, continue after them."""
        begin = self._at
        self._expect("mark", "(")
        end = self._closing(begin)
        self._depth += 1
        try:
            if self._depth > _MOST_DEPTH:
                raise _NotUnderstoodError
            node = self._selected() if self._takes("keyword", "SELECT") else self.expression()
            if self._at != end:
                raise _NotUnderstoodError
        except _NotUnderstoodError:
            node = UNKNOWN
        self._depth -= 1
        self._at = end + 1
        return node

    def _selected(self) -> ExpressionNode:
        """Parse `SELECT expression AS name` without other clauses: it has the value of the expression."""
        node = self.expression()
        if self._takes("keyword", "AS"):
            self._name()
        return node

    def _named(self, text: str) -> ExpressionNode:
        """Parse what starts with a name: a constant, a column or a function."""
        if text in ("true", "false"):
            return BoolNode(text == "true")
        schema, name = "", _plain(text)
        if self._takes("mark", "."):
            schema, name = name, self._name()
        if self._peek() == ("mark", "("):
            return CallNode(schema, name, self._arguments())
        if schema:
            raise _NotUnderstoodError
        return ColumnNode(name)

    def _arguments(self) -> tuple[ExpressionNode, ...]:
        begin = self._at
        end = self._closing(begin)
        self._at += 1
        arguments: list[ExpressionNode] = []
        try:
            while self._at < end:
                if arguments:
                    self._expect("mark", ",")
                arguments.append(self.expression())
            if self._at != end:
                raise _NotUnderstoodError
        except _NotUnderstoodError:
            arguments = [UNKNOWN]
        self._at = end + 1
        return tuple(arguments)

    def _array(self) -> ExpressionNode:
        self._expect("mark", "[")
        items = [self.expression()]
        while self._takes("mark", ","):
            items.append(self.expression())
        self._expect("mark", "]")
        return ArrayNode(tuple(items))

    def _type(self) -> str:
        """Parse the name of a type. A modifier, or a name of several words that is not in `_NAMED_TYPES`, is not understood."""
        name = self._name_as_written()
        if self._takes("mark", "."):
            name += "." + self._name_as_written()
        elif self._peek()[0] == "name":
            name += " " + self._name_as_written()
            if name not in _NAMED_TYPES:
                raise _NotUnderstoodError
        if self._peek() == ("mark", "("):
            raise _NotUnderstoodError
        while self._takes("mark", "["):
            self._expect("mark", "]")
            name += "[]"
        return name

    def _name(self) -> str:
        return _plain(self._name_as_written())

    def _name_as_written(self) -> str:
        kind, text = self._peek()
        if kind != "name":
            raise _NotUnderstoodError
        self._at += 1
        return text

    def _closing(self, at: int) -> int:
        """Return the index of the parenthesis that closes the one at an index."""
        depth = 0
        for place in range(at, len(self._tokens)):
            kind, text = self._tokens[place]
            if kind == "mark" and text in "()":
                depth += 1 if text == "(" else -1
                if depth == 0:
                    return place
        raise _NotUnderstoodError

    def _peek(self) -> _Token:
        return ("end", "") if self.is_at_end else self._tokens[self._at]

    def _takes(self, kind: str, text: str) -> bool:
        is_there = self._peek() == (kind, text)
        self._at += is_there
        return is_there

    def _expect(self, kind: str, text: str) -> None:
        if not self._takes(kind, text):
            raise _NotUnderstoodError


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
