"""The `Prefer` header. Source: docs/reference/rest.md, section 12; RFC 7240."""

from functools import lru_cache

from schemas.numbers import clamp_whole_number
from workers.rest.model import Preferences

_CHOICES = {
    "resolution": ("merge-duplicates", "ignore-duplicates"),
    "return": ("minimal", "headers-only", "representation"),
    "count": ("exact", "planned", "estimated"),
    "missing": ("default", "null"),
    "tx": ("commit", "rollback"),
    "handling": ("strict", "lenient"),
    "pagination": ("cursor",),
}
_OF_ROUTING = ("replica", "primary")
"""Where a read runs (workers/database/replicas/read_routing.py): the plan does not depend on it."""
_FIELDS = {"return": "representation"}
_MOST = 2**63 - 1


@lru_cache(maxsize=256)
def parse_preferences(headers: tuple[str, ...]) -> Preferences:
    """Read all `Prefer` headers of a request; the first of each kind counts, unknown ones are listed as invalid."""
    values: dict[str, str | int] = {}
    invalid: list[str] = []
    for directive in (part.strip() for header in headers for part in header.split(",")):
        if not directive:
            continue
        kind, _, value = directive.partition("=")
        if value in _CHOICES.get(kind, ()):
            values.setdefault(_FIELDS.get(kind, kind), value)
        elif kind == "timezone" and value:
            values.setdefault(kind, value)
        elif directive in _OF_ROUTING:
            pass
        elif kind == "max-affected" and (most := clamp_whole_number(value, most=_MOST)) is not None:
            values.setdefault("max_affected", most)
        else:
            invalid.append(directive)
    return Preferences(**values, invalid=tuple(invalid))  # type: ignore[arg-type]  # keys and values are paired above
