"""Scanner: a position in a text, and the words of the URL grammar.

A parser asks the scanner for what may stand next; what does not fit raises `BadQuery` with the place and with what
was expected, in the form the original gives ("failed to parse order (x)" (line 1, column 3)).
Theory: recursive descent without backtracking over more than one item; `mark` and `reset` serve the few places where
two forms begin alike. Source: docs/reference/rest.md, section 6.
"""

import re
from typing import NoReturn

from msgspec import Struct

from schemas.numbers import parse_whole_number
from workers.rest.errors.parse import BadQuery
from workers.rest.model import FieldPath, JsonStep
from workers.rest.parse.cast_types import is_closed

FIELD_NAME = "field name (* or [a..z0..9_$])"
_NAME_CHARACTERS = re.compile(r"[\w $]+")
_JSON_KEY_CHARACTERS = re.compile(r"[^(\-:.,>)]+")
_FARTHEST = 10**18
_INDEX = re.compile(r"-?[0-9]{1,18}(?=->|::|\.|,|$)")
_DIGITS = re.compile(r"[0-9]+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_BLANKS = re.compile(r"[ \t]*")
_COMMA = re.compile(r"[ \t]*(,?)[ \t]*")


class Scanner(Struct):
    """A text being read. `what` names it in errors, `shown` is the text they quote where it is another."""

    text: str
    what: str
    shown: str | None = None
    position: int = 0

    @property
    def at_end(self) -> bool:
        return self.position >= len(self.text)

    def peek(self, ahead: int = 1) -> str:
        return self.text[self.position : self.position + ahead]

    def accept(self, token: str) -> bool:
        """Step over a token if it stands here."""
        if self.text.startswith(token, self.position):
            self.position += len(token)
            return True
        return False

    def expect(self, token: str, *expecting: str) -> None:
        """Step over a token that must stand here."""
        if not self.accept(token):
            self.fail(*(expecting or (f'"{token}"',)))

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Step over what a pattern matches here."""
        match = pattern.match(self.text, self.position)
        if match:
            self.position = match.end()
        return match

    def blanks(self) -> None:
        """Step over blanks."""
        self.position = _BLANKS.match(self.text, self.position).end()  # type: ignore[union-attr]  # it matches anywhere

    def comma(self) -> bool:
        """Step over a comma with the blanks around it if one stands here, else over blanks alone."""
        match = _COMMA.match(self.text, self.position)
        self.position = match.end()  # type: ignore[union-attr]  # it matches anywhere
        return bool(match[1])  # type: ignore[index]  # as above

    def fail(self, *expecting: str, quote: str = '"') -> NoReturn:
        """Refuse what stands here. Raises: BadQuery, always."""
        self._refuse("" if self.at_end else f"{quote}{self.text[self.position]}{quote}", expecting)

    def fail_word(self, words: tuple[str, ...]) -> NoReturn:
        """Refuse what stands here in place of one of some words: the first sign that the first of them does not have.

        Raises: BadQuery, always.
        """
        sent = self.text[self.position :]
        wrong = next((mark for mark, expected in zip(sent, words[0], strict=False) if mark != expected), None)
        self._refuse("" if wrong is None else f'"{wrong}"', tuple(f'"{word}"' for word in words))

    def _refuse(self, unexpected: str, expecting: tuple[str, ...]) -> NoReturn:
        listed = expecting[0] if len(expecting) == 1 else ", ".join(expecting[:-1]) + f" or {expecting[-1]}"
        text = self.text if self.shown is None else self.shown
        place = f'"failed to parse {self.what} ({text})" (line 1, column {self.position + 1})'
        raise BadQuery(place, f"unexpected {unexpected or 'end of input'} expecting {listed}")


def parse_name(scan: Scanner, *also: str) -> str:
    """Read a name: quoted, or words of `A-Z a-z 0-9 _ $` and blanks joined by `-`."""
    if scan.peek() == '"':
        return parse_quoted(scan)
    words = []
    while True:
        match = scan.match(_NAME_CHARACTERS)
        if not match:
            scan.fail(FIELD_NAME, *also)
        words.append(match[0].strip())
        if scan.peek() == "-" and scan.peek(2) != "->":
            scan.position += 1
            continue
        return "-".join(words)


def parse_quoted(scan: Scanner) -> str:
    """Read text between double quotes, with backslash escapes."""
    match = scan.match(_QUOTED)
    if not match:
        scan.position = len(scan.text)
        scan.fail("closing quote")
    if "\0" in match[1]:
        scan.position = scan.text.index("\0", match.start())
        scan.fail("text without NUL")
    return _ESCAPE.sub(r"\1", match[1])


def parse_type(scan: Scanner) -> str:
    """Read the type of a cast: a bare identifier. Raises: BadQuery, also for a type that casts may not name."""
    scan.blanks()
    match = scan.match(_NAME_CHARACTERS)
    if not match:
        scan.fail(FIELD_NAME)
    name = match[0].strip()
    if is_closed(name):
        raise BadQuery(
            f"A cast to the type {name} is not allowed",
            "Types of the system catalog and pseudo-types cannot be named",
        )
    return name


def parse_field(scan: Scanner, *also: str) -> FieldPath:
    """Read a name with the JSON path behind it."""
    name = parse_name(scan, *also)
    return FieldPath(name, parse_json_path(scan))


def parse_cast_field(scan: Scanner, *also: str) -> FieldPath:
    """Read a field and the cast that a filter may put behind it: `data->>age::int`."""
    field = parse_field(scan, *also)
    return FieldPath(field.name, field.path, parse_cast(scan))


def parse_cast(scan: Scanner) -> str | None:
    """Read `::type` if it stands here."""
    return parse_type(scan) if scan.accept("::") else None


def parse_json_path(scan: Scanner) -> tuple[JsonStep, ...]:
    """Read `->a->0->>b`; nothing gives an empty path."""
    steps = []
    while scan.accept("->"):
        as_text = scan.accept(">")
        steps.append(JsonStep(_json_operand(scan), as_text))
    return tuple(steps)


def _refuse_index(scan: Scanner) -> NoReturn:
    """Refuse what begins as a negative index and is none. Raises: BadQuery, always."""
    if not scan.match(_DIGITS):
        scan.fail("digit")
    scan.fail("digit", '"->"', '"::"', '"."', '","', "end of input", quote="'")


def _json_operand(scan: Scanner) -> str | int:
    index = scan.match(_INDEX)
    if index:
        return parse_whole_number(index[0], least=-_FARTHEST, most=_FARTHEST) or 0
    if scan.accept("-"):
        _refuse_index(scan)
    if scan.peek() == '"':
        return parse_quoted(scan)
    words = []
    while True:
        match = scan.match(_JSON_KEY_CHARACTERS)
        if not match:
            scan.fail('"-"', "digit", "any non reserved character different from: .,>()")
        words.append(match[0].strip())
        if scan.peek() == "-" and scan.peek(2) != "->":
            scan.position += 1
            continue
        return "-".join(words)
