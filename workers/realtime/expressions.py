"""Expressions of policies, read from the text that `pg_get_expr` gives with an empty search path. Pure.

Postgres writes every operation between parentheses and names the schema of everything outside pg_catalog, operators too
(`OPERATOR(public.=)`). So a reader that takes every token into account and stops at the first it does not know cannot
mistake one expression for another. What stands between parentheses and is not understood becomes `Unknown`, and the
expression around it is read on: `((owner = auth.uid()) AND (EXISTS ( SELECT ...)))` is an `And` of something and `Unknown`.
Source: PostgreSQL, "System Catalog Information Functions" (pg_get_expr).
"""

import re
from dataclasses import dataclass

MOST_SIGNS = 10_000
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


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that is not understood."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the policy's table."""

    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """A constant between quotes, or a number: what stands there. `is_number`: it had no quotes."""

    value: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Bool:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A function, by its schema ("" is pg_catalog) and name."""

    schema: str
    name: str
    arguments: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """A cast to a type as it is written, schema and `[]` included, without a modifier."""

    of: "Node"
    type: str


@dataclass(frozen=True, slots=True)
class Get:
    """`->` or `->>`."""

    of: "Node"
    key: "Node"
    as_text: bool


@dataclass(frozen=True, slots=True)
class Equal:
    """`=` of pg_catalog."""

    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class EqualAny:
    """`= ANY (...)`."""

    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Array:
    """`ARRAY[...]`."""

    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Is:
    """`IS TRUE` or `IS FALSE`."""

    of: "Node"
    value: bool


@dataclass(frozen=True, slots=True)
class Not:
    """`NOT`."""

    of: "Node"


@dataclass(frozen=True, slots=True)
class And:
    """All of them."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of them."""

    parts: tuple["Node", ...]


Node = (
    Unknown | Column | Text | Bool | Call | Cast | Get | Equal | EqualAny | Array | Is | Not | And | Or
)  # fmt: skip

UNKNOWN = Unknown()


def parse_expression(text: str) -> Node:
    """Read an expression; what is not understood is `Unknown`."""
    if len(text) > MOST_SIGNS:
        return UNKNOWN
    try:
        reader = _Reader(_tokens(text))
        node = reader.expression()
        return node if reader.is_at_end else UNKNOWN
    except (_NotUnderstoodError, RecursionError):
        return UNKNOWN


class _NotUnderstoodError(Exception):
    """A token that does not belong where it stands."""


_Token = tuple[str, str]


def _tokens(text: str) -> list[_Token]:
    """Give kind and text of each token; one sign that begins none is a token of the kind "other"."""
    found: list[_Token] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at] in "'\"\\":
                raise _NotUnderstoodError  # within a text nobody knows where parentheses are
            if not text[at].isspace():
                found.append(("other", text[at]))
            at += 1
            continue
        kind = match.lastgroup or ""
        found.append((kind, match[kind]))
        at = match.end()
    return found


class _Reader:
    """Descends through the tokens of one expression."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._tokens)

    def expression(self) -> Node:
        parts = [self._all_of()]
        while self._takes("keyword", "OR"):
            parts.append(self._all_of())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _all_of(self) -> Node:
        parts = [self._negation()]
        while self._takes("keyword", "AND"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negation(self) -> Node:
        return Not(self._negation()) if self._takes("keyword", "NOT") else self._comparison()

    def _comparison(self) -> Node:
        left = self._members()
        if self._takes("mark", "="):
            if not self._takes("keyword", "ANY"):
                return Equal(left, self._members())
            right = self._in_parentheses()
            return EqualAny(left, right)
        if self._takes("keyword", "IS"):
            if self._takes("keyword", "TRUE"):
                return Is(left, True)
            self._expect("keyword", "FALSE")
            return Is(left, False)
        return left

    def _members(self) -> Node:
        node = self._operand()
        while (kind := self._peek()) in (("mark", "->"), ("mark", "->>")):
            self._at += 1
            node = Get(node, self._operand(), kind[1] == "->>")
        return node

    def _operand(self) -> Node:
        node = self._primary()
        while self._takes("mark", "::"):
            node = Cast(node, self._type())
        return node

    def _primary(self) -> Node:
        kind, text = self._peek()
        if (kind, text) == ("mark", "("):
            return self._in_parentheses()
        self._at += 1
        match kind:
            case "string":
                return Text(text[1:-1].replace("''", "'"))
            case "number":
                return Text(text, is_number=True)
            case "name":
                return self._named(text)
            case "keyword" if text == "ARRAY":
                return self._array()
            case "keyword" if text == "EXISTS" and self._peek() == ("mark", "("):
                self._at = self._closing(self._at) + 1
                return UNKNOWN
            case "keyword" if text == "NULLIF" and self._peek() == ("mark", "("):
                return Call("", text, self._arguments())
        raise _NotUnderstoodError

    def _in_parentheses(self) -> Node:
        """Read what stands between parentheses; if it is not understood, go on behind them."""
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

    def _selected(self) -> Node:
        """Read `SELECT expression AS name` without anything else: the value of the expression, found once."""
        node = self.expression()
        if self._takes("keyword", "AS"):
            self._name()
        return node

    def _named(self, text: str) -> Node:
        """Read what begins with a name: a constant, a column, a function."""
        if text in ("true", "false"):
            return Bool(text == "true")
        schema, name = "", _plain(text)
        if self._takes("mark", "."):
            schema, name = name, self._name()
        if self._peek() == ("mark", "("):
            return Call(schema, name, self._arguments())
        if schema:
            raise _NotUnderstoodError
        return Column(name)

    def _arguments(self) -> tuple[Node, ...]:
        begin = self._at
        end = self._closing(begin)
        self._at += 1
        found: list[Node] = []
        try:
            while self._at < end:
                if found:
                    self._expect("mark", ",")
                found.append(self.expression())
            if self._at != end:
                raise _NotUnderstoodError
        except _NotUnderstoodError:
            found = [UNKNOWN]
        self._at = end + 1
        return tuple(found)

    def _array(self) -> Node:
        self._expect("mark", "[")
        items = [self.expression()]
        while self._takes("mark", ","):
            items.append(self.expression())
        self._expect("mark", "]")
        return Array(tuple(items))

    def _type(self) -> str:
        """Read the name of a type. A modifier, or a spelling of several words that is not known, is not understood."""
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
        """Give the place of the parenthesis that closes the one at a place."""
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
