"""Limits of arguments as the OpenAPI document shows them. Pure.

They describe and do not check: an operation checks its arguments itself, because its error says what to do.
`tests/workers/management/interface/test_argument_limits.py` sends to every operation what is beyond a limit that it shows.
"""

from typing import Annotated

from msgspec import Meta

PageLimit = Annotated[int, Meta(extra_json_schema={"minimum": 1, "x-maximum-setting": "management.max_rows"})]
"""The number of rows of a page."""


def number(least: float, most: float) -> Meta:
    """Return the limits of a number, both included."""
    return Meta(extra_json_schema={"minimum": least, "maximum": most})


def text(longest: int, *, least: int = 1) -> Meta:
    """Return the limits of a text in characters."""
    return Meta(extra_json_schema={"minLength": least, "maxLength": longest})


def entries(most: int, *, least: int = 1) -> Meta:
    """Return the limits of the number of entries of a list; `least` 0 is no limit."""
    return Meta(extra_json_schema={**({"minItems": least} if least else {}), "maxItems": most})


def members(most: int, *, least: int = 1) -> Meta:
    """Return the limits of the number of members of an object."""
    return Meta(extra_json_schema={"minProperties": least, "maxProperties": most})


def choice(*values: str) -> Meta:
    """Return the values that a text may have."""
    return Meta(extra_json_schema={"enum": list(values)})
