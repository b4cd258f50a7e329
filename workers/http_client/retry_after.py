"""The pause that an answer asks for before the next attempt (pure). Source: RFC 9110, 10.2.3; seconds alone, no dates."""

_TOO_MANY, _UNAVAILABLE = 429, 503
_LONGEST_S = 3600.0


def requested_pause_s(status: int | None, retry_after: str) -> float:
    """Return the seconds that an answer of status 429 or 503 asks for in its header `Retry-After`, an hour at most; else 0."""
    if status in (_TOO_MANY, _UNAVAILABLE) and retry_after.isascii() and retry_after.isdigit():
        return min(float(retry_after[:6]), _LONGEST_S)
    return 0.0
