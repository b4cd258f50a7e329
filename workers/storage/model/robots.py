"""The header `x-robots-tag` of an upload: check its directives. Pure. Source: docs/reference/storage.md, section 6.1."""

import re

from workers.storage.model.errors import invalid_request

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


def check_robots(text: str) -> None:
    """Raises: StorageError (invalid_x_robots_tag) unless every directive is known; one may address a named crawler.

    `unavailable_after` takes a date, which may contain commas (RFC 850).
    """
    if len(text) > _LONGEST or not text.isprintable() or not _is_well(text):
        raise invalid_request("The x-robots-tag header is invalid", "invalid_x_robots_tag")


def _is_well(text: str) -> bool:
    parts = [part.strip() for part in text.split(",")]
    is_date = False
    for part in parts:
        if is_date and _WITH_VALUE["unavailable_after"].fullmatch(part) and not _directive(part):
            continue
        directive = _directive(part)
        if not directive:
            return False
        is_date = directive == "unavailable_after"
    return True


def _directive(part: str) -> str:
    """Return the name of a directive, or an empty text."""
    name, colon, value = (text.strip() for text in part.partition(":"))
    lower = name.lower()
    if not colon:
        return lower if lower in _PLAIN else ""
    if lower in _WITH_VALUE:
        return lower if _WITH_VALUE[lower].fullmatch(value.lower()) else ""
    return _directive(value) if _AGENT.fullmatch(name) and ":" not in value else _for_agent(name, value)


def _for_agent(name: str, value: str) -> str:
    """Parse a directive with a value that follows the name of a crawler."""
    inner, _, rest = (text.strip() for text in value.partition(":"))
    pattern = _WITH_VALUE.get(inner.lower())
    if not _AGENT.fullmatch(name) or pattern is None:
        return ""
    return inner.lower() if pattern.fullmatch(rest.lower()) else ""
