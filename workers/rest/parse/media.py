"""The `Accept` header. Source: docs/reference/rest.md, section 15; RFC 9110, 12.5.1."""

import math
import re
from functools import lru_cache

from schemas.numbers import parse_decimal_number
from workers.rest.model import MediaType

ANY = MediaType("*/*")
# A quote that is never closed runs to the end: looking for its end again and again would take quadratic time.
_QUOTED = r'"(?:[^"\\]|\\.?)*"?'
_RANGE = re.compile(rf'(?:[^,"]|{_QUOTED})+', re.DOTALL)
_PARAMETER = re.compile(rf'(?:[^;"]|{_QUOTED})+', re.DOTALL)


@lru_cache(maxsize=256)
def parse_accept(header: str | None) -> tuple[MediaType, ...]:
    """Read the types in order of preference: by `q`, then those without wildcards, then as sent.

    Absent or empty is `*/*`; `q=0` drops a type.
    """
    weighted: list[tuple[float, MediaType]] = []
    for part in _RANGE.findall(header or ""):
        pieces = [piece.strip() for piece in _PARAMETER.findall(part)]
        if not pieces or not pieces[0]:
            continue
        quality, parameters = 1.0, []
        for piece in pieces[1:]:
            key, _, value = piece.partition("=")
            if key.lower() == "q":
                quality = _quality(value)
            elif piece:
                parameters.append((key.strip().lower(), value.strip().strip('"')))
        if quality > 0:
            weighted.append((quality, MediaType(_canonical(pieces[0].lower()), tuple(parameters))))
    weighted.sort(key=lambda pair: (-pair[0], pair[1].name.count("*")))
    return tuple(media for _, media in weighted) or (ANY,)


def _quality(text: str) -> float:
    quality = parse_decimal_number(text.strip(), least=-math.inf, most=math.inf)
    return 1.0 if quality is None else min(max(quality, 0.0), 1.0)


def _canonical(name: str) -> str:
    """Both spellings of the vendor types mean the same."""
    return name.replace("application/vnd.rest.", "application/vnd.pgrst.", 1)
