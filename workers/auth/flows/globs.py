"""Globs of the redirect allow list: patterns over texts, separators `.` and `/`. Pure.

    *        any run without a separator      [a-z] [!a-z]   one character of a set, or of none of it
    **       any run                          {a,b}          one of several
    ?        one character, no separator      \\x             x itself

A glob is matched in one pass over the text, whatever its stars: the set of places in the pattern that may be reached
is the bits of one number, so no text makes a match slow. Source: reference page "auth", section 20.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

SEPARATORS = "./"
_MOST_ALTERNATIVES = 256
_MOST_DEPTH = 8
_MOST_LENGTH = 2048


class BadGlob(ValueError):
    """A pattern of the settings is malformed, too long, or stands for too many."""


@dataclass(frozen=True, slots=True)
class _Token:
    """One place of a pattern: which characters it takes, and whether it takes any run of them."""

    takes: Callable[[str], bool]
    is_run: bool = False


@dataclass(slots=True)
class Glob:
    """A compiled pattern without alternatives; `expand` takes those apart."""

    text: str
    _tokens: list[_Token] = field(init=False, repr=False)
    _runs: int = field(init=False, repr=False)
    _masks: dict[str, tuple[int, int]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Raises: BadGlob."""
        self._tokens = _tokens(self.text)
        self._runs = sum(1 << place for place, token in enumerate(self._tokens) if token.is_run)

    def matches(self, text: str) -> bool:
        """Tell whether the whole text is of this pattern."""
        places = self._past_runs(1)
        for character in text:
            once, again = self._taking(character)
            places = self._past_runs((places & once) << 1 | places & again)
            if not places:
                return False
        return bool(places >> len(self._tokens) & 1)

    def _past_runs(self, places: int) -> int:
        """A run may be empty: who stands at one stands behind it too. No two runs are neighbours."""
        return places | (places & self._runs) << 1

    def _taking(self, character: str) -> tuple[int, int]:
        """Give the places that take a character and are done, and the runs that take it and go on."""
        kept = self._masks.get(character)
        if kept is not None:
            return kept
        once = again = 0
        for place, token in enumerate(self._tokens):
            if token.takes(character):
                once, again = (once, again | 1 << place) if token.is_run else (once | 1 << place, again)
        if character.isascii():
            self._masks[character] = once, again
        return once, again


def expand(pattern: str) -> list[str]:
    """Take the alternatives in braces apart: `{a,b}c` gives `ac` and `bc`; braces may stand in braces.

    Raises: BadGlob.
    """
    if len(pattern) > _MOST_LENGTH:
        raise BadGlob(f"a pattern has at most {_MOST_LENGTH} characters")
    return _alternatives(pattern, 0, depth=0)[0]


def _alternatives(pattern: str, at: int, *, depth: int) -> tuple[list[str], int]:
    """Read until the end, or inside braces until the closing one; give the texts and the place behind them."""
    if depth > _MOST_DEPTH:
        raise BadGlob(f"{pattern}: braces stand more than {_MOST_DEPTH} deep")
    done: list[str] = []
    heads = [""]
    while at < len(pattern):
        character = pattern[at]
        if character == "{":
            inner, at = _alternatives(pattern, at + 1, depth=depth + 1)
            heads = [head + tail for head in heads for tail in inner]
        elif character == "}" and depth:
            return [*done, *heads], at + 1
        elif character == "," and depth:
            done, heads, at = [*done, *heads], [""], at + 1
        else:
            end = _past_plain(pattern, at)
            heads, at = [head + pattern[at:end] for head in heads], end
        if len(done) + len(heads) > _MOST_ALTERNATIVES:
            raise BadGlob(f"{pattern}: stands for more than {_MOST_ALTERNATIVES} patterns")
    if depth:
        raise BadGlob(f"{pattern}: a brace is not closed")
    return heads, at


def _past_plain(pattern: str, at: int) -> int:
    """Give the place behind one character, an escaped one, or a set in brackets."""
    if pattern[at] == "\\":
        return min(at + 2, len(pattern))
    return _past_set(pattern, at) if pattern[at] == "[" else at + 1


def _past_set(pattern: str, at: int) -> int:
    end = pattern.find("]", at + 2)
    if end < 0:
        raise BadGlob(f"{pattern}: a bracket is not closed")
    return end + 1


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        match text[at]:
            case "*":
                end = at + len(text[at:]) - len(text[at:].lstrip("*"))
                token = _Token(_anything if end - at > 1 else _no_separator, is_run=True)
            case "?":
                token, end = _Token(_no_separator), at + 1
            case "[":
                end = _past_set(text, at)
                token = _Token(_set(text[at + 1 : end - 1]))
            case "\\" if at + 1 == len(text):
                raise BadGlob(f"{text}: nothing follows the backslash")
            case "\\":
                token, end = _Token(text[at + 1].__eq__), at + 2
            case plain:
                token, end = _Token(plain.__eq__), at + 1
        tokens.append(token)
        at = end
    return tokens


def _set(inside: str) -> Callable[[str], bool]:
    """Read the inside of brackets: characters and ranges, `!` or `^` in front for all others."""
    is_negated = inside[0] in "!^" and len(inside) > 1
    members = inside[1:] if is_negated else inside
    singles, ranges, at = set[str](), list[tuple[str, str]](), 0
    while at < len(members):
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            ranges.append((members[at], members[at + 2]))
            at += 3
        else:
            singles.add(members[at])
            at += 1

    def takes(character: str) -> bool:
        is_in = character in singles or any(low <= character <= high for low, high in ranges)
        return is_in is not is_negated

    return takes


def _anything(character: str) -> bool:
    del character
    return True


def _no_separator(character: str) -> bool:
    return character not in SEPARATORS
