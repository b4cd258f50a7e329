"""Formats SQL: clauses begin lines, lists and conditions are indented by two spaces. Words, quotes and comments stay. Pure."""

import re
from collections.abc import Iterator

_LEXEME = re.compile(
    r"(?P<blank>\s+)|(?P<line>--[^\n]*)|(?P<block>/\*.*?(?:\*/|\Z))|(?P<dollar>\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z))"
    r"|(?P<text>[a-zA-Z&]{0,2}'(?:[^']|'')*'?)|(?P<name>\"(?:[^\"]|\"\")*\"?)|(?P<word>[^\W\d][\w$]*)"
    r"|(?P<number>\d[\w.]*)|(?P<sign>::|<>|!=|<=|>=|:=|=>|->>|->|#>>|#>|\|\||@>|<@|[-+*/<>=~!@#%^&|`?]+|.)",
    re.DOTALL,
)
_CLAUSES = frozenset(
    [
        "select",
        "from",
        "where",
        "having",
        "limit",
        "offset",
        "union",
        "intersect",
        "except",
        "returning",
        "values",
        "set",
        "with",
        "insert",
        "update",
        "delete",
    ]
)
_TWO = {("group", "by"), ("order", "by"), ("partition", "by"), ("insert", "into"), ("delete", "from"),
        ("union", "all"), ("except", "all"), ("intersect", "all"), ("create", "table"), ("alter", "table"),
        ("drop", "table"), ("select", "distinct"), ("on", "conflict"), ("create", "view")}  # fmt: skip
_JOINS = frozenset(["join", "inner", "left", "right", "full", "cross", "natural"])
_STARTS = frozenset(["create", "alter", "drop", "grant", "revoke", "comment", "begin", "commit", "truncate"])
_LONGEST_INLINE = 50
_DEEPEST = 40
"""Indents of a line; brackets inside more brackets are not indented further, or the text would grow with the square of their number."""


def format_sql(text: str) -> str:
    """Return SQL with line breaks and indents."""
    return _Layout(list(_tokens(text))).lines()


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _LEXEME.finditer(text):
        if match.lastgroup != "blank" and not match["blank"]:
            kind = next(
                name
                for name in ("line", "block", "dollar", "text", "name", "word", "number", "sign")
                if match[name]
            )
            yield kind, match[0]


class _Layout:
    """Writes tokens; `_indents` has the indent of each open bracket."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens, self._at = tokens, 0
        self._out: list[str] = []
        self._line: list[str] = []
        self._indent = 0
        self._brackets: list[tuple[int, bool]] = []

    def lines(self) -> str:
        """Return the text."""
        while self._at < len(self._tokens):
            self._place(*self._tokens[self._at])
            self._at += 1
        self._end_line()
        return "\n".join(self._out).strip("\n") + "\n"

    def _place(self, kind: str, lexeme: str) -> None:
        word = lexeme.lower() if kind == "word" else ""
        is_inline = bool(self._brackets) and self._brackets[-1][1]
        base = self._brackets[-1][0] if self._brackets else 0
        if kind == "line":
            self._write(lexeme)
            self._end_line()
        elif lexeme == ";":
            self._line.append(lexeme)
            self._end_line()
            self._out.append("")
            self._indent, self._brackets = 0, []
        elif lexeme == "(":
            self._open()
        elif lexeme == ")":
            self._close()
        elif lexeme == "," and not is_inline:
            self._line.append(lexeme)
            self._end_line()
        elif not is_inline and (word in _CLAUSES or word in _STARTS or (word, self._next_word()) in _TWO):
            self._clause(lexeme, word, base)
        elif not is_inline and word in _JOINS and self._previous_word() not in _JOINS:
            self._end_line()
            self._indent = base + 1
            self._write(lexeme)
        elif not is_inline and word in ("and", "or") and not self._is_between():
            self._end_line()
            self._write(lexeme)
        else:
            self._write(lexeme)

    def _clause(self, lexeme: str, word: str, base: int) -> None:
        self._end_line()
        self._indent = base
        self._write(lexeme)
        while (word, self._next_word()) in _TWO:
            self._at += 1
            word = self._tokens[self._at][1].lower()
            self._write(self._tokens[self._at][1])
        if word in _STARTS or word in ("table", "view", "into", "update", "limit", "offset", "with"):
            return
        self._end_line()
        self._indent = base + 1

    def _open(self) -> None:
        is_inline = self._is_short()
        self._write("(")
        self._brackets.append((self._indent + 1, is_inline))
        if not is_inline:
            self._end_line()
            self._indent += 1

    def _close(self) -> None:
        indent, is_inline = self._brackets.pop() if self._brackets else (1, True)
        if is_inline:
            self._line.append(")")
        else:
            self._end_line()
            self._indent = indent - 1
            self._write(")")

    def _is_short(self) -> bool:
        """Return whether the bracket that opens here is written on one line: it is short, without a clause inside."""
        depth, length = 0, 0
        for at in range(self._at, len(self._tokens)):
            kind, lexeme = self._tokens[at]
            depth += (lexeme == "(") - (lexeme == ")")
            length += len(lexeme) + 1
            if depth == 0:
                return True
            if length > _LONGEST_INLINE or kind == "line" or lexeme.lower() in _CLAUSES:
                return False
        return True

    def _write(self, lexeme: str) -> None:
        if self._line and _has_blank_between(self._line[-1], lexeme):
            self._line.append(" ")
        self._line.append(lexeme)

    def _end_line(self) -> None:
        if self._line:
            self._out.append("  " * min(self._indent, _DEEPEST) + "".join(self._line))
            self._line = []

    def _next_word(self) -> str:
        following = self._tokens[self._at + 1 : self._at + 2]
        return following[0][1].lower() if following else ""

    def _previous_word(self) -> str:
        return self._tokens[self._at - 1][1].lower() if self._at else ""

    def _is_between(self) -> bool:
        """Return whether this AND belongs to a BETWEEN."""
        for _, lexeme in reversed(self._tokens[max(self._at - 8, 0) : self._at]):
            if lexeme.lower() == "between":
                return True
            if lexeme.lower() in ("and", "or", "where", "on", "("):
                return False
        return False


def _has_blank_between(before: str, lexeme: str) -> bool:
    if before in ("(", ".", "[", "::") or lexeme in (")", ",", ".", ";", "[", "]", "::"):
        return False
    return not (
        lexeme == "(" and (before[-1:].isalnum() or before[-1:] in '_"') and before.lower() not in _SPACED
    )


_SPACED = frozenset(
    [
        "in",
        "and",
        "or",
        "not",
        "values",
        "as",
        "on",
        "using",
        "over",
        "exists",
        "any",
        "all",
        "where",
        "then",
        "else",
        "when",
        "filter",
        "by",
        "into",
        "check",
        "key",
    ]
)
