"""Parse image transformations (pure): from a query, from the body of a signing request, from the text inside a token.

All faults of a request are reported together, with the messages of the official server's validator. Sizes beyond the
limits are clamped. Source: docs/reference/storage.md, sections 1, 3.3 and 8.
"""

import math
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

from schemas.images.transform import FORMATS, GRAVITIES, Resize, Transform
from schemas.numbers import read_json_number

_NUMBER = re.compile(r"[+-]?(\d{1,15}(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
_RESIZES: dict[str, Resize] = {"cover": "cover", "contain": "contain", "fill": "fill"}
_NAMES = frozenset({"width", "height", "resize", "format", "quality", "gravity", "x_offset", "y_offset"})
_FARTHEST = 100_000.0
_NOT_ALLOWED = "must be equal to one of the allowed values"
_PRECISION = 4


class SideLimits(NamedTuple):
    """Limits of requested sides in pixels: the settings `limit_min_size` and `limit_max_size`."""

    least: int = 1
    most: int = 2000

    def clamped(self, side: int) -> int:
        """Return a side within the limits; 0 stays 0 (not requested)."""
        return max(self.least, min(side, self.most)) if side else 0


class BadTransform(ValueError):
    """An invalid transformation; its text is the message of the 400 (`InvalidRequest`)."""


def transform_of_query(query: str, sides: SideLimits) -> Transform:
    """Parse the raw query of a render; other parameters are ignored. Raises: BadTransform."""
    values: dict[str, object] = {}
    for name, text in parse_qsl(query, keep_blank_values=True, encoding="utf-8", errors="replace"):
        if name in _NAMES:
            values[name] = [] if name in values else _coerced(name, text)
    return _transform(values, "querystring", sides)


def transform_of_body(body: Mapping[str, object], sides: SideLimits) -> Transform:
    """Parse `transform` of a signing request, decoded from JSON. Raises: BadTransform.

    A number may come as its text, as in the rest of the body (`BodyReader`).
    """
    values = {
        name: _coerced(name, value) if isinstance(value, str) else value
        for name, value in body.items()
        if name in _NAMES
    }
    return _transform(values, "body/transform", sides)


def transform_of_token(text: str, sides: SideLimits) -> Transform:
    """Parse a token's claim `transformations`, ours or that of another server. Raises: BadTransform."""
    values: dict[str, object] = {}
    for segment in filter(None, text.split(",")):
        name, _, value = segment.partition(":")
        if name == "gravity":
            gravity, *offsets = value.split(":")
            values["gravity"] = gravity
            values |= {
                axis: _coerced(axis, offset)
                for axis, offset in zip(("x_offset", "y_offset"), offsets, strict=False)
            }
        elif name in _NAMES:
            values[name] = _coerced(name, value)
    return _transform(values, "transformations", sides)


def _coerced(name: str, text: str) -> object:
    """Return the number that a text holds, if a number is expected; otherwise the text itself."""
    if name in ("resize", "format", "gravity") or not _NUMBER.fullmatch(text):
        return text
    value = float(text)
    return int(value) if value.is_integer() else value


class _Reader:
    """Reads values one by one and collects the faults."""

    def __init__(self, values: Mapping[str, object], where: str) -> None:
        self._given = values
        self._where = where
        self.faults: list[str] = []

    def integer(self, name: str, least: int, most: int | None = None) -> int:
        value = self._given.get(name)
        if value is None:
            return 0
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return self._fault(name, "must be integer")
        if value < least:
            return self._fault(name, f"must be >= {least}")
        if most is not None and value > most:
            return self._fault(name, f"must be <= {most}")
        return value

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self._given.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or value not in allowed:
            self._fault(name, _NOT_ALLOWED)
            return ""
        return value

    def offset(self, name: str, *, is_point: bool) -> float | None:
        value = self._given.get(name)
        if value is None:
            if is_point:
                self.faults.append(f"{self._where} must have required property '{name}'")
            return None
        number = read_json_number(value, least=-_FARTHEST, most=_FARTHEST)
        if number is None or (isinstance(value, float) and math.isinf(value)):
            self._fault(name, "must be number")
            return None
        if is_point and not 0 <= number <= 1:
            self._fault(name, "must be >= 0" if number < 0 else "must be <= 1")
        return round(number, _PRECISION) + 0.0  # no -0

    def _fault(self, name: str, what: str) -> int:
        self.faults.append(f"{self._where}/{name} {what}")
        return 0


def _transform(values: Mapping[str, object], where: str, sides: SideLimits) -> Transform:
    read = _Reader(values, where)
    width, height = read.integer("width", 0), read.integer("height", 0)
    resize = _RESIZES[read.choice("resize", tuple(_RESIZES)) or "cover"]
    format, quality = read.choice("format", FORMATS), read.integer("quality", 1, 100)
    gravity = read.choice("gravity", GRAVITIES)
    x, y = (read.offset(name, is_point=gravity == "fp") for name in ("x_offset", "y_offset"))
    if read.faults:
        raise BadTransform(", ".join(read.faults))
    has_offsets = gravity not in ("", "sm") and not (x is None and y is None)
    return Transform(
        sides.clamped(width),
        sides.clamped(height),
        resize if width or height else "cover",
        format,
        quality,
        gravity,
        (x or 0.0) if has_offsets else None,
        (y or 0.0) if has_offsets else None,
    )
