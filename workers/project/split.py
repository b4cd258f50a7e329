"""Split a file of SQL into its statements, each with its place (pure).

A semicolon ends a statement unless it stands in quotes ('', E'', "", $tag$), in a comment (block comments nest), in
parentheses (`create rule ... do (a; b)`), or in the body of a SQL function (`begin atomic ... end`). The rows of
`copy ... from stdin;`, which dumps hold, belong to their statement and end with a line `\\.`. Of psql's own commands
`\\restrict` and `\\unrestrict`, which guard a dump, mean nothing here and are left out; all others are refused by name.
Source: PostgreSQL, "Lexical Structure"; psql, "Meta-Commands".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its text without the semicolon, where it begins in the file, and the rows of a COPY."""

    text: str
    offset: int
    """Characters before it in the file."""
    line: int
    """Line it begins in; the first is 1."""
    head: int = 0
    """Characters of comments and space before its first word."""
    words: tuple[str, ...] = field(default=(), repr=False)
    """Its first words outside of quotes and parentheses, in small letters."""
    rows: str | None = field(default=None, repr=False)
    """What follows `copy ... from stdin`, without the line that ends it."""


class SplitError(Exception):
    """The file cannot be split: what is wrong, and at which character of it."""

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
_WITHOUT_MEANING = frozenset({"restrict", "unrestrict"})
_KEPT_WORDS = 64
_FUNCTION = re.compile(r"create (?:or replace )?(?:function|procedure) ")


def split(text: str) -> list[Statement]:
    """Give the statements of a file in order; what is only comment or space is none.

    Raises: SplitError for a quote or comment that does not end, rows of a COPY that do not end, and psql's commands.
    """
    return list(_Splitter(text).run())


def place(text: str, offset: int) -> tuple[int, int]:
    """Give line and column of a character, both from 1."""
    before = text.rfind("\n", 0, offset)
    return text.count("\n", 0, offset) + 1, offset - before


class _Splitter:
    """Walks through a text once; the fields say what is known of the statement under way."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line, self._counted = 1, 0
        self._begin(0)

    def run(self) -> Iterator[Statement]:
        while self._at < len(self._text):
            found = _TOKEN.match(self._text, self._at)
            if found is None:  # cannot be: `sign` takes anything
                raise SplitError("this cannot be read", self._at)
            match found.lastgroup:
                case "space" | "comment":
                    self._at = found.end()
                case "block":
                    self._at = self._after_block(found.start())
                case "sign" if found[0] == ";" and not self._parentheses and not self._bodies:
                    yield from self._ended(found.start())
                case "sign" if found[0] == "\\" and not self._is_begun:
                    self._at = self._after_command(found.start())
                case _:
                    self._take(found)
        yield from self._ended(len(self._text))

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

    def _take(self, found: re.Match[str]) -> None:
        """Go past a token of the statement under way, and learn from it."""
        if not self._is_begun:
            self._first = found.start()
        self._at = found.end()
        match found.lastgroup:
            case "word":
                self._word(found[0].lower())
            case "dollar":
                end = self._text.find(found[0], self._at)
                if end < 0:
                    raise SplitError(f"the quote {found[0]} does not end", found.start())
                self._at = end + len(found[0])
            case "sign":
                self._sign(found[0], found.start())

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
        if len(self._words) < _KEPT_WORDS:
            self._words.append(word)
        else:
            self._words[-1] = word

    def _ended(self, end: int) -> Iterator[Statement]:
        """Give the statement that ends here, if it is one, and go on behind it."""
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
            yield Statement(text, start, self._line_of(start), begun - start, words, rows)
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
        found = _COMMAND.match(self._text, start)
        name = found[1] if found else ""
        if found is None or name not in _WITHOUT_MEANING:
            raise SplitError(f"\\{name} is a command of psql, not SQL: remove it or say it in SQL", start)
        self._begin(found.end())
        return found.end()

    def _line_of(self, offset: int) -> int:
        self._line += self._text.count("\n", self._counted, offset)
        self._counted = offset
        return self._line
