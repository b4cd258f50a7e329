"""Times as JSON bodies contain them. Pure. Source: docs/reference/auth.md, section 1.3."""

from datetime import UTC, datetime


def iso(moment: datetime) -> str:
    """Format a time as ISO 8601 in UTC with milliseconds and `Z`. `moment` must have a time zone."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
