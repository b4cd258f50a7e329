"""Types of settings: bounds on numbers, and the texts that stand for something else (durations, quotas, sizes).

`Duration`, `Quota` and `Size` are made where the settings are read, so that what the tree holds can be used as it is. Their
`FORM` says in words what a key of the type takes; it is what a refusal shows.
"""

import math
import re
from datetime import datetime
from typing import Annotated, Any, ClassVar

from msgspec import Meta

MOST = 2**31 - 1
"""The highest count that a setting takes."""

Port = Annotated[int, Meta(ge=0, le=65535, description="a port, 0 to 65535")]
Count = Annotated[int, Meta(ge=1, le=MOST, description="a whole number above 0")]
Amount = Annotated[int, Meta(ge=0, le=MOST, description="a whole number, 0 or more")]
Percent = Annotated[int, Meta(ge=0, le=100, description="a whole number, 0 to 100")]
Bytes = Annotated[int, Meta(ge=1, le=2**63 - 1, description="a whole number of bytes above 0")]
Seconds = Annotated[
    float, Meta(gt=0, le=86400, description="a number of seconds above 0 and at most 86400, a day")
]
Rate = Annotated[float, Meta(ge=0, le=MOST, description="a number, 0 or more")]
Ratio = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]
JwtExpiry = Annotated[int, Meta(ge=1, le=604800, description="a whole number of seconds, 1 to 604800")]
Instant = Annotated[datetime, Meta(tz=True, description="a time with its zone, such as 2030-01-31T12:00:00Z")]

_LONGEST_S = 100 * 366 * 86400
_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
_PART = re.compile(rf"({_NUMBER})(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_SPAN = re.compile(rf"\+?(?:{_NUMBER}(?:ns|us|µs|μs|ms|s|m|h))+", re.ASCII)
_PLAIN = re.compile(rf"\+?{_NUMBER}", re.ASCII)
_SIZE = re.compile(rf"({_NUMBER}) ?([kmgtp]?)(?:i?b)?", re.ASCII | re.IGNORECASE)
_UNITS = ("", "KiB", "MiB", "GiB", "TiB", "PiB")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_DIGITS = 32
_COUNT = re.compile(r"\d{1,9}", re.ASCII)


class Duration(float):
    """A span of time in seconds, 0 or more; read from `24h0m0s`, `1h30m`, `500ms`, or a bare number of seconds."""

    FORM: ClassVar[str] = "a duration such as 90s or 1h30m, or a number of seconds"

    def __new__(cls, value: Any) -> "Duration":
        """Read a duration. Raises: ValueError if the value is none, or longer than a century."""
        seconds = _seconds(value) if isinstance(value, str) else value
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise ValueError("not a duration")
        if not 0 <= seconds <= _LONGEST_S:  # also refuses what is no number
            raise ValueError("not a duration")
        return super().__new__(cls, seconds)

    def __str__(self) -> str:
        """Spell it as settings do: `1h30m`, `5s`, `500ms`."""
        whole = int(self)
        if not self.is_integer():
            return f"{self * 1000:g}ms" if self < 1 else f"{float(self):g}s"
        parts = ((whole // 3600, "h"), (whole % 3600 // 60, "m"), (whole % 60, "s"))
        return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


class Quota(str):
    """How many messages may be sent: `30` in each hour, or `100/24h`, a bucket that refills evenly."""

    FORM: ClassVar[str] = "a whole number for each hour, or one with a time, such as 100/24h"
    __slots__ = ("most", "over_s")
    most: int
    """Messages."""
    over_s: float
    """Seconds they are counted over."""

    def __new__(cls, value: Any) -> "Quota":
        """Read a quota. Raises: ValueError if the value is none."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError("not a quota")
        if isinstance(value, float) and not (math.isfinite(value) and value == int(value)):
            raise ValueError("not a quota")
        text = value.strip() if isinstance(value, str) else _digits(int(value))
        number, slash, span = text.partition("/")
        over = Duration(span) if slash else Duration(3600)
        if not _COUNT.fullmatch(number) or over <= 0:
            raise ValueError("not a quota")
        made = super().__new__(cls, text)
        made.most, made.over_s = int(number), float(over)
        return made

    @property
    def refills(self) -> bool:
        """Say whether it refills evenly, rather than starting anew each hour."""
        return "/" in self


class Size(int):
    """A count of bytes above 0; read from `50MiB`, `50MB`, `1.5g`, or a bare number.

    All units are powers of 1024, with or without the `i`: the official tool reads them so.
    """

    FORM: ClassVar[str] = "a size such as 50MiB, or a whole number of bytes above 0"

    def __new__(cls, value: Any) -> "Size":
        """Read a size. Raises: ValueError if the value is none."""
        size = _bytes(value) if isinstance(value, str) else value
        if isinstance(size, bool) or not isinstance(size, int | float):
            raise ValueError("not a size")
        if not 1 <= size < 2**63 or (isinstance(value, float) and size != int(size)):
            raise ValueError("not a size")
        return super().__new__(cls, int(size))

    def __str__(self) -> str:
        """Spell it as settings do: `50MiB`, `1GiB`, or the bytes where no unit fits."""
        power = next((each for each in (5, 4, 3, 2, 1) if self % 1024**each == 0), 0)
        return f"{int(self) // 1024**power}{_UNITS[power]}"

    __repr__ = __str__


def _bytes(text: str) -> float:
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise ValueError("not a size")
    number, power = found[1], _POWERS[found[2].lower()]
    if "." in number:
        return float(number) * float(1024**power)
    return int(number[:_DIGITS]) * int(1024**power)  # what is longer is refused as it is


def _digits(number: int) -> str:
    """Spell a number; one that is far too long to be a count is not worth spelling, and Python refuses to."""
    return str(number) if 0 <= number <= MOST else ""


def _seconds(text: str) -> float:
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return float(text)
    if not _SPAN.fullmatch(text):
        raise ValueError("not a duration")
    return sum(float(number) * _UNITS_S[unit] for number, unit in _PART.findall(text))
