"""Types of settings: bounds of numbers, and texts in a notation of their own (durations, quotas, sizes).

`Duration`, `Quota` and `Size` are converted when the settings are read, so that the tree contains usable values. Their `FORM`
describes the accepted notation in error texts.
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
    """A time span in seconds, 0 or more; read from `24h0m0s`, `1h30m`, `500ms`, or a bare number of seconds."""

    FORM: ClassVar[str] = "a duration such as 90s or 1h30m, or a number of seconds"

    def __new__(cls, value: Any) -> "Duration":
        """Parse a duration. Raises: ValueError if it is not one, or is longer than a century."""
        seconds = _seconds(value) if isinstance(value, str) else value
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise ValueError("not a duration")
        if not 0 <= seconds <= _LONGEST_S:  # rejects NaN as well
            raise ValueError("not a duration")
        return super().__new__(cls, seconds)

    def __str__(self) -> str:
        """Return it in the notation of settings: `1h30m`, `5s`, `500ms`."""
        whole = int(self)
        if not self.is_integer():
            return f"{self * 1000:g}ms" if self < 1 else f"{float(self):g}s"
        parts = ((whole // 3600, "h"), (whole % 3600 // 60, "m"), (whole % 60, "s"))
        return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


class Quota(str):
    """Number of messages that may be sent: `30` in each hour, or `100/24h`, a bucket that refills evenly."""

    FORM: ClassVar[str] = "a whole number for each hour, or one with a time, such as 100/24h"
    __slots__ = ("most", "over_s")
    most: int
    """Messages."""
    over_s: float
    """Seconds over which they are counted."""

    def __new__(cls, value: Any) -> "Quota":
        """Parse a quota. Raises: ValueError."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError("not a quota")
        if isinstance(value, float) and not (math.isfinite(value) and value == int(value)):
            raise ValueError("not a quota")
        text = value.strip() if isinstance(value, str) else _digits(int(value))
        number, slash, span = text.partition("/")
        over = Duration(span) if slash else Duration(3600)
        if not _COUNT.fullmatch(number) or over <= 0:
            raise ValueError("not a quota")
        quota = super().__new__(cls, text)
        quota.most, quota.over_s = int(number), float(over)
        return quota

    @property
    def refills(self) -> bool:
        """Whether it refills evenly, instead of starting again each hour."""
        return "/" in self


class Size(int):
    """A number of bytes above 0; read from `50MiB`, `50MB`, `1.5g`, or a bare number.

    All units are powers of 1024, with or without the `i`, as in the official command line.
    """

    FORM: ClassVar[str] = "a size such as 50MiB, or a whole number of bytes above 0"

    def __new__(cls, value: Any) -> "Size":
        """Parse a size. Raises: ValueError."""
        size = _bytes(value) if isinstance(value, str) else value
        if isinstance(size, bool) or not isinstance(size, int | float):
            raise ValueError("not a size")
        if not 1 <= size < 2**63 or (isinstance(value, float) and size != int(size)):
            raise ValueError("not a size")
        return super().__new__(cls, int(size))

    def __str__(self) -> str:
        """Return it in the notation of settings: `50MiB`, `1GiB`, or the bytes where no unit fits."""
        power = next((exponent for exponent in (5, 4, 3, 2, 1) if self % 1024**exponent == 0), 0)
        return f"{int(self) // 1024**power}{_UNITS[power]}"

    __repr__ = __str__


def _bytes(text: str) -> float:
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError("not a size")
    number, power = match[1], _POWERS[match[2].lower()]
    if "." in number:
        return float(number) * float(1024**power)
    return int(number[:_DIGITS]) * int(1024**power)  # a longer number is out of range in any case


def _digits(number: int) -> str:
    """Return a number as text; empty for one that is too long for a count, which Python would not convert."""
    return str(number) if 0 <= number <= MOST else ""


def _seconds(text: str) -> float:
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return float(text)
    if not _SPAN.fullmatch(text):
        raise ValueError("not a duration")
    return sum(float(number) * _UNITS_S[unit] for number, unit in _PART.findall(text))
