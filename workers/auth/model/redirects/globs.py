"""Glob patterns of the redirect allow list; `.` and `/` are separators. Pure.

    *        any run without a separator      [a-z] [!a-z]   one character of a set, or not of it
    **       any run                          {a,b}          one of several
    ?        one character, no separator      \\x             x itself

A pattern is matched in one pass as a nondeterministic automaton. State n means "the first n tokens have matched"; the set of
active states is the bits of one integer. Each character maps the set to the next one by a few shifts and masks, so the time
is linear in the text whatever the pattern: no backtracking, no slow inputs. The masks of each character are cached.
Source: docs/reference/auth.md, section 20.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

SEPARATORS = "./"
_MAX_ALTERNATIVES = 256
_MAX_DEPTH = 8
_MAX_LENGTH = 2048


class BadGlob(ValueError):
    """A pattern of the settings is malformed, too long, or has too many alternatives."""


@dataclass(frozen=True, slots=True)
class _Token:
    """One token of a pattern: which characters it accepts, and whether it accepts a run of them."""

    takes: Callable[[str], bool]
    is_run: bool = False


@dataclass(slots=True)
class Glob:
    """A compiled pattern without braces; `expand` resolves those."""

    text: str
    _tokens: list[_Token] = field(init=False, repr=False)
    _runs: int = field(init=False, repr=False)
    _masks: dict[str, tuple[int, int]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Raises: BadGlob."""
        self._tokens = _tokens(self.text)
        self._runs = sum(1 << state for state, token in enumerate(self._tokens) if token.is_run)

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text."""
        states = self._past_runs(1)
        for character in text:
            advance, stay = self._transitions(character)
            states = self._past_runs((states & advance) << 1 | states & stay)
            if not states:
                return False
        return bool(states >> len(self._tokens) & 1)

    def _past_runs(self, states: int) -> int:
        """Add the states after active runs: a wildcard may match nothing, so the following state is active as well.

        One step is enough, because two runs are never neighbours.
        """
        return states | (states & self._runs) << 1

    def _transitions(self, character: str) -> tuple[int, int]:
        """Return the states that accept a character and advance, and the runs that accept it and stay."""
        cached = self._masks.get(character)
        if cached is not None:
            return cached
        advance = stay = 0
        for state, token in enumerate(self._tokens):
            if token.takes(character):
                advance, stay = (advance, stay | 1 << state) if token.is_run else (advance | 1 << state, stay)
        if character.isascii():
            self._masks[character] = advance, stay
        return advance, stay


def expand(pattern: str) -> list[str]:
    """Expand alternatives in braces: `{a,b}c` becomes `ac` and `bc`; braces may be nested.

    Raises: BadGlob.
    """
    if len(pattern) > _MAX_LENGTH:
        raise BadGlob(f"a pattern has at most {_MAX_LENGTH} characters")
    return _alternatives(pattern, 0, depth=0)[0]


def _alternatives(pattern: str, at: int, *, depth: int) -> tuple[list[str], int]:
    """Parse until the end, or within braces until the closing one; return the texts and the position after them."""
    if depth > _MAX_DEPTH:
        raise BadGlob(f"{pattern}: braces stand more than {_MAX_DEPTH} deep")
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
        if len(done) + len(heads) > _MAX_ALTERNATIVES:
            raise BadGlob(f"{pattern}: stands for more than {_MAX_ALTERNATIVES} patterns")
    if depth:
        raise BadGlob(f"{pattern}: a brace is not closed")
    return heads, at


def _past_plain(pattern: str, at: int) -> int:
    """Return the position after one character, an escaped one, or a set in brackets."""
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
    """Parse the inside of brackets: characters and ranges, `!` or `^` in front to negate."""
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
