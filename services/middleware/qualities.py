"""Lists with quality values, as `Accept` and `Accept-Encoding` have them. Pure. Source: RFC 9110, 12.4.2."""

import re

from schemas.numbers import parse_whole_number

_QUALITY = re.compile(r";\s*q\s*=\s*(0|1)(?:\.([0-9]{0,3}))?\s*(?:;|$)", re.IGNORECASE)
_HAS_QUALITY = re.compile(r";\s*q\s*=", re.IGNORECASE)
FULL = 1000


def parse_qualities(text: str) -> dict[str, int]:
    """Return the quality of each listed name in thousandths, names in lower case and without parameters.

    A quality that is malformed counts as 0: what a client may not want is not sent.
    """
    qualities: dict[str, int] = {}
    for item in text.split(","):
        name, _, parameters = item.partition(";")
        if name := name.strip().lower():
            qualities.setdefault(name, _quality(";" + parameters) if parameters else FULL)
    return qualities


def _quality(parameters: str) -> int:
    match = _QUALITY.search(parameters)
    if match is None:
        return 0 if _HAS_QUALITY.search(parameters) else FULL
    whole, fraction = match[1], (match[2] or "").ljust(3, "0")
    return min(parse_whole_number(whole + fraction, most=2 * FULL) or 0, FULL)
