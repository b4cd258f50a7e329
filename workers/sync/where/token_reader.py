"""Reads the tokens of an expression one after another, and the parts that have no operators: marks, words, names, types. Pure.

The grammar (`grammar.py`) asks this reader what comes next and takes it; every method that does not find what it reads raises
`ExpressionRejected` with the place.
"""

from workers.sync.where.tokens import Token, TokenKind, rejected, unexpected
from workers.sync.where.words import LONG_TYPES, RESERVED, TYPES


class TokenReader:
    """Reads tokens from left to right. `token` is the next one."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self._at = tokens, 0

    @property
    def token(self) -> Token:
        """The next token, which is not taken yet; the last one is of the kind END."""
        return self._tokens[self._at]

    def take(self) -> Token:
        """Return the next token and go on behind it."""
        token = self._tokens[self._at]
        self._at += 1
        return token

    def end(self) -> None:
        """Reject what is left."""
        if self.token.kind is not TokenKind.END:
            raise unexpected(self.token)

    def is_word(self, *words: str) -> bool:
        """Return whether the next token is one of these words."""
        return self.token.kind is TokenKind.NAME and self.token.value in words

    def is_mark(self, mark: str) -> bool:
        """Return whether the next token is this mark."""
        return self.token.kind is TokenKind.MARK and self.token.value == mark

    def take_words(self, *words: str) -> None:
        """Take these words, all of which must follow."""
        for word in words:
            if not self.is_word(word):
                raise unexpected(self.token)
            self._at += 1

    def take_mark(self, mark: str) -> None:
        """Take this mark, which must follow."""
        if not self.is_mark(mark):
            raise unexpected(self.token)
        self._at += 1

    def name(self, *, is_behind_dot: bool = False) -> Token:
        """Take a name. A keyword is one behind a dot alone, unless it is quoted."""
        token = self.token
        is_name = token.kind is TokenKind.NAME and (is_behind_dot or token.value not in RESERVED)
        if not (is_name or token.kind is TokenKind.QUOTED):
            raise unexpected(token)
        return self.take()

    def more_names(self) -> list[str]:
        """Take the rest of a name with dots: `.b.c` gives b and c."""
        names = []
        while self.is_mark("."):
            self._at += 1
            names.append(self.name(is_behind_dot=True).value)
        return names

    def dotted(self) -> list[str]:
        """Take a name with dots: its parts."""
        return [self.name().value, *self.more_names()]

    def type(self) -> str:
        """Take the name of a type; return it as `words.py` has it, with its modifiers."""
        start = self.token
        words: list[str] = []
        while self.token.kind is TokenKind.NAME and len(words) < 4:
            words.append(self.token.value)
            long = LONG_TYPES.get(tuple(words))
            self._at += 1
            if long is not None:
                return long + self._modifier()
            if not any(name[: len(words)] == tuple(words) for name in LONG_TYPES) or (
                self.token.value not in ("precision", "varying", "with", "without", "time", "zone")
            ):
                break
        kind = TYPES.get(words[0]) if len(words) == 1 else None
        if kind is None:
            raise rejected(start.place, f'type "{start.text}" is not supported')
        return kind + self._modifier()

    def _modifier(self) -> str:
        """Take `(n)`, `(n,m)` and `[]` behind a type."""
        text = ""
        if self.is_mark("("):
            self._at += 1
            numbers = [self._whole_number()]
            while self.token.value == ",":
                self._at += 1
                numbers.append(self._whole_number())
            self.take_mark(")")
            text = f"({','.join(numbers)})"
        while self.is_mark("["):
            self._at += 1
            self.take_mark("]")
            text += "[]"
        return text

    def _whole_number(self) -> str:
        token = self.token
        if token.kind is not TokenKind.NUMBER or not token.value.isdigit():
            raise unexpected(token)
        return self.take().value
