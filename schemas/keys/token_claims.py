"""The claims of an access token, checked: times, then audience, in the words of each refusal. Pure.

Source: reference page "rest", section 5 and error 303; RFC 7519, 4.1.
"""

from collections.abc import Mapping

from schemas.numbers import read_json_number

SKEW_S = 30
"""Seconds by which clocks may differ."""

FAR_S = 10**15
"""Times beyond this, in seconds since 1970, are as good as never."""


def refused_claim(
    claims: Mapping[str, object], now: float, audience: str | None, *, needs_audience: bool = False
) -> str | None:
    """Say why the claims are refused at a time in seconds since 1970; None if they are not.

    With `needs_audience` a token that names no audience is not for everybody: it is refused.
    """
    return _times(claims, now) or _audience(claims, audience, needs_audience=needs_audience)


def validity(claims: Mapping[str, object]) -> tuple[float, float]:
    """Give the times between which claims that were not refused hold, the skew of clocks included."""
    starts = [_seconds(claims[name]) for name in ("nbf", "iat") if claims.get(name) is not None]
    ends = _seconds(claims["exp"]) if claims.get("exp") is not None else float("inf")
    return max(starts, default=float("-inf")) - SKEW_S, ends + SKEW_S


def _times(claims: Mapping[str, object], now: float) -> str | None:
    """Check the time claims in order; only those that are there."""
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
    """Return a time claim as a number that is not beyond all measure; `_times` has rejected what is no number."""
    seconds = read_json_number(value, least=-FAR_S, most=FAR_S)
    return 0.0 if seconds is None else seconds


def _audience(claims: Mapping[str, object], wanted: str | None, *, needs_audience: bool) -> str | None:
    """Check `aud`: a text or a list of texts; missing, null or an empty list passes, unless one is needed."""
    value = claims.get("aud")
    listed = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(each, str) for each in listed):
        return "The JWT 'aud' claim must be a string or an array of strings"
    if wanted is not None and wanted not in listed and (listed or needs_audience):
        return "JWT not in audience"
    return None
