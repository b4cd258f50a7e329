"""Dates in HTTP headers (RFC 9110, 5.6.7). Pure."""

from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime


def parse_http_date(text: str | None) -> int | None:
    """Parse a date as epoch seconds; None for any other text, which a recipient of a condition ignores (RFC 9110, 13.1.3)."""
    if not text:
        return None
    try:
        return int(parsedate_to_datetime(text).timestamp())
    except (ValueError, TypeError, OverflowError):
        return None


def http_date(epoch_s: int) -> str:
    """Format epoch seconds as a header has them."""
    return format_datetime(datetime.fromtimestamp(epoch_s, UTC), usegmt=True)
