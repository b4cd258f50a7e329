"""The version of the auth interface that a client asks for: it decides the shape of error bodies.

Auth and the gateway, which answers some errors in its place, write both shapes. Source: docs/reference/auth.md, section 1.2.
"""

import re
from datetime import date
from enum import StrEnum

VERSION_HEADER = "x-supabase-api-version"


class ApiVersion(StrEnum):
    """The shape of error bodies that a client asked for; the value is echoed in the response."""

    FIRST = ""
    Y2024 = "2024-01-01"


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_Y2024 = date(2024, 1, 1)


def parse_api_version(header: str | None) -> ApiVersion:
    """Parse `X-Supabase-Api-Version`, a date; any other text counts as absent."""
    if header is None or not _DATE.fullmatch(header):
        return ApiVersion.FIRST
    try:
        requested = date.fromisoformat(header)
    except ValueError:
        return ApiVersion.FIRST
    return ApiVersion.Y2024 if requested >= _Y2024 else ApiVersion.FIRST
