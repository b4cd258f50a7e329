"""Splits a file of SQL into its statements, each with its position (pure).

A semicolon ends a statement unless it stands in quotes ('', E'', "", $tag$), in a comment (block comments nest), in
parentheses (`create rule ... do (a; b)`), or in the body of a SQL function (`begin atomic ... end`). The rows of
`copy ... from stdin;`, which dumps hold, belong to their statement and end with a line `\\.`. Of psql's own commands
`\\restrict` and `\\unrestrict`, which guard a dump, are meaningless here and are skipped; all others are rejected by name.
Source: PostgreSQL, "Lexical Structure"; psql, "Meta-Commands".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """One statement: its text without the semicolon, where it begins in the file, and the rows of a COPY."""

    text: str
    offset: int
    """Number of characters before it in the file."""
    line: int
    """Line in which it begins; the first is 1."""
    head: int = 0
    """Characters of comments and space before its first word."""
    words: tuple[str, ...] = field(default=(), repr=False)
    """Its first words outside quotes and parentheses, in lower case."""
    rows: str | None = field(default=None, repr=False)
    """The rows after `copy ... from stdin`, without the line that ends them."""


class SplitError(Exception):
    """The file cannot be split; `offset` is the character of the problem."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--[^\n]*)
  | (?P<block>/\*)
  | (?P<escapes>[eE]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*')
  | (?P<text>'[^']*(?:''[^']*)*')
  | (?P<name>"[^"]*(?:""[^"]*)*")
  | (?P<word>[^\W\d][\w$]*)
  | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
  | (?P<number>\d[\w.]*)
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK_EDGE = re.compile(r"/\*|\*/")
_COMMAND = re.compile(r"\\(\S*)[^\n]*")
_END_OF_ROWS = re.compile(r"^\\\.[^\S\n]*\r?(?:\n|\Z)", re.MULTILINE)
_SKIPPED_COMMANDS = frozenset({"restrict", "unrestrict"})
_MAX_WORDS = 64
_FUNCTION = re.compile(r"create (?:or replace )?(?:function|procedure) ")


def split(text: str) -> list[ScriptStatement]:
    """Return the statements of a file in order; comments and space alone are not statements.

    Raises: SplitError for a quote or comment that does not end, rows of a COPY that do not end, and psql's commands.
    """
    return list(_Splitter(text).run())


def place(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of a character, both from 1."""
    before = text.rfind("\n", 0, offset)
    return text.count("\n", 0, offset) + 1, offset - before


class _Splitter:
    """Scans a text once; the fields describe the current statement: start, words, open parentheses and function bodies."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line, self._counted = 1, 0
        self._begin(0)

    def run(self) -> Iterator[ScriptStatement]:
        while self._at < len(self._text):
            match = _TOKEN.match(self._text, self._at)
            if match is None:  # cannot happen: `sign` matches any character
                raise SplitError("this cannot be read", self._at)
            match match.lastgroup:
                case "space" | "comment":
                    self._at = match.end()
                case "block":
                    self._at = self._after_block(match.start())
                case "sign" if match[0] == ";" and not self._parentheses and not self._bodies:
                    yield from self._finish_statement(match.start())
                case "sign" if match[0] == "\\" and not self._is_begun:
                    self._at = self._after_command(match.start())
                case _:
                    self._consume(match)
        yield from self._finish_statement(len(self._text))

    def _begin(self, at: int) -> None:
        self._start = at
        self._first = -1
        self._words: list[str] = []
        self._parentheses = 0
        self._bodies = 0
        self._copies = False

    @property
    def _is_begun(self) -> bool:
        return self._first >= 0

    def _consume(self, match: re.Match[str]) -> None:
        """Consume a token of the current statement and update the fields."""
        if not self._is_begun:
            self._first = match.start()
        self._at = match.end()
        match match.lastgroup:
            case "word":
                self._word(match[0].lower())
            case "dollar":
                end = self._text.find(match[0], self._at)
                if end < 0:
                    raise SplitError(f"the quote {match[0]} does not end", match.start())
                self._at = end + len(match[0])
            case "sign":
                self._sign(match[0], match.start())

    def _sign(self, sign: str, at: int) -> None:
        if sign == "'":
            raise SplitError("this text does not end: its closing ' is missing", at)
        if sign == '"':
            raise SplitError('this name does not end: its closing " is missing', at)
        if sign == "(":
            self._parentheses += 1
        elif sign == ")":
            self._parentheses = max(0, self._parentheses - 1)

    def _word(self, word: str) -> None:
        if self._parentheses:
            return
        before = self._words[-1] if self._words else ""
        if word == "stdin" and before == "from" and self._words[0] == "copy":
            self._copies = True
        elif (
            word == "atomic" and before == "begin" and _FUNCTION.match(" ".join(self._words[:5]) + " ")
        ) or (word == "case" and self._bodies):
            self._bodies += 1
        elif word == "end" and self._bodies:
            self._bodies -= 1
        if len(self._words) < _MAX_WORDS:
            self._words.append(word)
        else:
            self._words[-1] = word

    def _finish_statement(self, end: int) -> Iterator[ScriptStatement]:
        """Yield the statement that ends here, unless it is empty, and continue after it."""
        start, copies, begun = self._start, self._copies, self._first
        words = tuple(self._words)
        self._at = min(end + 1, len(self._text))
        if self._bodies and end == len(self._text):
            raise SplitError("this function's body begins with `begin atomic` and has no `end`", begun)
        if begun >= 0:
            while self._text[start].isspace():
                start += 1
            rows = self._rows(begun) if copies else None
            text = self._text[start:end].rstrip()
            yield ScriptStatement(text, start, self._line_of(start), begun - start, words, rows)
        self._begin(self._at)

    def _rows(self, begun: int) -> str:
        line_end = self._text.find("\n", self._at)
        start = line_end + 1 if line_end >= 0 else len(self._text)
        end = _END_OF_ROWS.search(self._text, start)
        if end is None:
            raise SplitError("the rows of this COPY do not end: the line \\. is missing", begun)
        self._at = end.end()
        return self._text[start : end.start()]

    def _after_block(self, start: int) -> int:
        depth, at = 1, start + 2
        while depth:
            edge = _BLOCK_EDGE.search(self._text, at)
            if edge is None:
                raise SplitError("this comment does not end: its closing */ is missing", start)
            depth += 1 if edge[0] == "/*" else -1
            at = edge.end()
        return at

    def _after_command(self, start: int) -> int:
        match = _COMMAND.match(self._text, start)
        name = match[1] if match else ""
        if match is None or name not in _SKIPPED_COMMANDS:
            raise SplitError(f"\\{name} is a command of psql, not SQL: remove it or say it in SQL", start)
        self._begin(match.end())
        return match.end()

    def _line_of(self, offset: int) -> int:
        self._line += self._text.count("\n", self._counted, offset)
        self._counted = offset
        return self._line
