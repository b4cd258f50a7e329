"""How log lines are named and dated in answers. Pure."""

from datetime import UTC, datetime

from broker.logs.lines import StoredLine


def line_id(line: StoredLine) -> str:
    """Return the id of a line."""
    return f"{line.at_ms}.{line.place}"


def time_text(at_ms: int) -> str:
    """Return a time in milliseconds since 1970 as RFC 3339 in UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
