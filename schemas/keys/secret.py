"""Secret: a text that is never printed. Its `repr` and `str` are three stars."""

import hmac


class Secret:
    """A password, key or connection URL. `reveal()` is the only access to the text."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself. Never log, format or send it."""
        return self._text

    def matches(self, other: str) -> bool:
        """Compare in constant time. Header bytes that are not UTF-8 arrive as lone surrogates and never match."""
        return hmac.compare_digest(self._text.encode(), other.encode(errors="surrogatepass"))

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.matches(other._text)

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__
