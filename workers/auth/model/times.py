"""Times as bodies show them. Pure. Source: reference page "auth", section 1.3; seed 2.2."""

from datetime import UTC, datetime


def iso(moment: datetime) -> str:
    """Write a time as ISO 8601 in UTC with milliseconds and `Z`. `moment` knows its zone."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
