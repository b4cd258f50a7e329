"""Which lines a search returns, as a check of one line and as an expression for the index of blocks (pure)."""

import re
from dataclasses import dataclass, field

import msgspec

from broker.logs.lines import WORD, name_term, strings_of
from schemas.logs import LEVELS, LogRecord

_STATUS_CLASS = re.compile(r"[1-5]xx")
_STATUS = re.compile(r"[1-5][0-9]{2}")
MOST_WORDS = 20
_encode = msgspec.msgpack.Encoder().encode


class InvalidLogQuery(ValueError):
    """A filter that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Filters that all have to match; an empty one matches every line. `level` is the least one.

    `text`: each of its words begins a word of the line's text or fields, in any case of letters.
    `status`: `404`, or a class such as `5xx`. Times are epoch milliseconds, `until_ms` excluded.
    """

    since_ms: int = 0
    until_ms: int = 1 << 62
    level: str = ""
    area: str = ""
    status: str = ""
    user: str = ""
    function: str = ""
    process: str = ""
    kind: str = ""
    request_id: str = ""
    text: str = ""
    _levels: frozenset[str] = field(init=False, default=frozenset())
    _words: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        if self.level and self.level not in LEVELS:
            raise InvalidLogQuery(f"`level` must be one of {', '.join(LEVELS)}")
        if self.status and not (_STATUS.fullmatch(self.status) or _STATUS_CLASS.fullmatch(self.status)):
            raise InvalidLogQuery("`status` must be a status such as 404, or a class such as 5xx")
        words = tuple(dict.fromkeys(word.lower() for word in WORD.findall(self.text)))
        if len(words) > MOST_WORDS:
            raise InvalidLogQuery(f"`text` must have at most {MOST_WORDS} words")
        if self.text.strip() and not words:
            raise InvalidLogQuery("`text` must contain a letter or a digit: words are searched")
        object.__setattr__(self, "_words", words)
        least = LEVELS.index(self.level) if self.level else 0
        object.__setattr__(self, "_levels", frozenset(LEVELS[least:]))

    @property
    def needs_lines(self) -> bool:
        """Return whether counts by minute, level and area cannot answer this filter."""
        names = (self.status, self.user, self.function, self.process, self.kind, self.request_id, self.text)
        return any(names)

    @property
    def levels(self) -> frozenset[str]:
        """The levels that match."""
        return self._levels

    def index_expression(self) -> str:
        """Return the full-text expression that every matching block satisfies; empty if it would not exclude any."""
        named = (
            ("xa", self.area), ("xp", self.process), ("xf", self.function), ("xu", self.user), ("xk", self.kind),
            ("xr", self.request_id), ("xs", self.status),
        )  # fmt: skip
        parts = [f'"{name_term(prefix, value)}"' for prefix, value in named if value]
        if len(self._levels) < len(LEVELS):
            parts.append("(" + " OR ".join(f'"xl{level}"' for level in sorted(self._levels)) + ")")
        parts += [f'"{word}"*' for word in self._words if word.isascii()]
        return " AND ".join(parts)

    def needles(self) -> tuple[list[bytes], list[bytes]]:
        """Return bytes that each matching line contains in its encoded form, and bytes that it contains once in lower case.

        The first are of the filters by name, the one that excludes most first; the second of words, the longest first.
        """
        values: list[str | int] = [
            value for value in (self.request_id, self.user, self.function, self.kind) if value
        ]
        if _STATUS.fullmatch(self.status):
            values.append(int(self.status))
        if len(self._levels) == 1:
            values += self._levels
        values += [value for value in (self.process, self.area) if value]
        words = sorted((word.encode() for word in self._words if word.isascii()), key=len, reverse=True)
        return [_encode(value) for value in values], words

    def matches(self, record: LogRecord) -> bool:
        """Return whether a line matches."""
        if not (self.since_ms <= record.at_ms < self.until_ms and record.level in self._levels):
            return False
        if self.request_id and record.request_id != self.request_id:
            return False
        if (self.area and record.area != self.area) or (self.user and record.user != self.user):
            return False
        if (self.function and record.function != self.function) or (
            self.process and record.process != self.process
        ):
            return False
        if self.kind and record.kind != self.kind:
            return False
        if self.status and str(record.status) != self.status and f"{record.status // 100}xx" != self.status:
            return False
        return not self._words or self._has_words(record)

    def _has_words(self, record: LogRecord) -> bool:
        text = " ".join((record.text, *strings_of(record.fields))).lower()
        if not all(word in text for word in self._words):  # cheap, and excludes most
            return False
        return all(re.search(rf"(?<![^\W_]){re.escape(word)}", text) for word in self._words)
