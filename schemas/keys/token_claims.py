"""Check the claims of an access token: times, then audience. Returns the reference's error texts. Pure.

Source: docs/reference/rest.md, section 5 and error 303; RFC 7519, section 4.1.
"""

from collections.abc import Mapping

from schemas.numbers import read_json_number

SKEW_S = 30
"""Tolerated difference of clocks in seconds."""

FAR_S = 10**15
"""Times beyond this, in seconds since 1970, count as never."""


def refused_claim(
    claims: Mapping[str, object], now: float, audience: str | None, *, needs_audience: bool = False
) -> str | None:
    """Return why the claims are rejected at a time in seconds since 1970, or None.

    With `needs_audience` a token without an audience is rejected.
    """
    return _times(claims, now) or _audience(claims, audience, needs_audience=needs_audience)


def validity(claims: Mapping[str, object]) -> tuple[float, float]:
    """Return the times between which accepted claims are valid, including the tolerance of clocks."""
    starts = [_seconds(claims[name]) for name in ("nbf", "iat") if claims.get(name) is not None]
    ends = _seconds(claims["exp"]) if claims.get("exp") is not None else float("inf")
    return max(starts, default=float("-inf")) - SKEW_S, ends + SKEW_S


def _times(claims: Mapping[str, object], now: float) -> str | None:
    """Check the time claims that are present, in the order of the errors."""
    for name in ("exp", "nbf", "iat"):
        value = claims.get(name)
        if value is None:
            continue
        value = read_json_number(value, least=-FAR_S, most=FAR_S)
        if value is None:
            return f"The JWT '{name}' claim must be a number"
        if name == "exp" and value + SKEW_S < now:
            return "JWT expired"
        if name != "exp" and value - SKEW_S > now:
            return "JWT not yet valid" if name == "nbf" else "JWT issued at future"
    return None


def _seconds(value: object) -> float:
    """Return a time claim as a number within `FAR_S`; `_times` has rejected values that are not numbers."""
    seconds = read_json_number(value, least=-FAR_S, most=FAR_S)
    return 0.0 if seconds is None else seconds


def _audience(claims: Mapping[str, object], expected: str | None, *, needs_audience: bool) -> str | None:
    """Check `aud`: a text or a list of texts; missing, null or an empty list passes, unless one is needed."""
    value = claims.get("aud")
    listed = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(name, str) for name in listed):
        return "The JWT 'aud' claim must be a string or an array of strings"
    if expected is not None and expected not in listed and (listed or needs_audience):
        return "JWT not in audience"
    return None
