"""The header `x-robots-tag` of an upload: which directives are known. Pure. Source: reference page "storage", 6.1."""

import re

from workers.storage.errors import invalid_request

_LONGEST = 1024
_PLAIN = frozenset({
    "all", "noindex", "nofollow", "none", "noarchive", "nosnippet", "indexifembedded", "notranslate",
    "noimageindex", "nocache", "noai", "noimageai", "index", "follow",
})  # fmt: skip
_WITH_VALUE = {
    "max-snippet": re.compile(r"-?[0-9]{1,9}"),
    "max-video-preview": re.compile(r"-?[0-9]{1,9}"),
    "max-image-preview": re.compile(r"none|standard|large"),
    "unavailable_after": re.compile(r"[\w :+.-]{1,64}", re.ASCII),
}
_AGENT = re.compile(r"[\w*-]{1,64}", re.ASCII)


def refuse_bad_robots(text: str) -> None:
    """Raises: StorageError (invalid_x_robots_tag) unless every directive is known; one may be for a named crawler.

    `unavailable_after` takes a date, which may hold commas: RFC 850 has one.
    """
    if len(text) > _LONGEST or not text.isprintable() or not _is_well(text):
        raise invalid_request("The x-robots-tag header is invalid", "invalid_x_robots_tag")


def _is_well(text: str) -> bool:
    parts = [part.strip() for part in text.split(",")]
    is_date = False
    for part in parts:
        if is_date and _WITH_VALUE["unavailable_after"].fullmatch(part) and not _directive(part):
            continue
        found = _directive(part)
        if not found:
            return False
        is_date = found == "unavailable_after"
    return True


def _directive(part: str) -> str:
    """Give the name of a directive, empty if it is none."""
    name, colon, value = (each.strip() for each in part.partition(":"))
    lower = name.lower()
    if not colon:
        return lower if lower in _PLAIN else ""
    if lower in _WITH_VALUE:
        return lower if _WITH_VALUE[lower].fullmatch(value.lower()) else ""
    return _directive(value) if _AGENT.fullmatch(name) and ":" not in value else _for_agent(name, value)


def _for_agent(name: str, value: str) -> str:
    """Read a directive with a value behind the name of a crawler."""
    inner, _, rest = (each.strip() for each in value.partition(":"))
    pattern = _WITH_VALUE.get(inner.lower())
    if not _AGENT.fullmatch(name) or pattern is None:
        return ""
    return inner.lower() if pattern.fullmatch(rest.lower()) else ""
