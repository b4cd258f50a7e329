"""Times as JSON bodies contain them. Pure. Source: docs/reference/auth.md, section 1.3."""

from datetime import UTC, datetime

_OFFSET = len("+00:00")


def iso(moment: datetime) -> str:
    """Format a time as ISO 8601 in UTC with milliseconds and `Z`. `moment` must have a time zone."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[:-_OFFSET] + "Z"
