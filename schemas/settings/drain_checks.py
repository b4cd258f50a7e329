"""Checks of `[logs.drain.<name>]` (pure)."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from schemas.logs import LEVELS
from schemas.settings.logs import DRAIN_FORMATS, LogDrain

_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]{0,8192}")
_OF_HTTP, _OF_SYSLOG = ("http", "https"), ("udp", "tcp", "tls")
_MOST_DRAINS, _MOST_LINES = 16, 10_000


def drain_fault(drains: Mapping[str, LogDrain], *, are_stored: bool) -> str | None:
    """Return why drains cannot work, with the key in braces, or None. `are_stored`: `log.store.enabled`."""
    if len(drains) > _MOST_DRAINS:
        return f"{{logs.drain}} may name {_MOST_DRAINS} receivers at most"
    for name, drain in drains.items():
        if drain.enabled and (fault := _fault(name, drain, are_stored=are_stored)):
            return f"{{logs.drain.{name}}}: {fault}"
    return None


def _fault(name: str, drain: LogDrain, *, are_stored: bool) -> str | None:
    if not _NAME.fullmatch(name):
        return "its name must have 1 to 63 letters, digits, _ and -"
    if not are_stored:
        return "lines are sent from the stream of the store: log.store.enabled must be true"
    if drain.format not in DRAIN_FORMATS:
        return f"format must be one of {', '.join(DRAIN_FORMATS)}"
    if drain.level not in LEVELS:
        return f"level must be one of {', '.join(LEVELS)}"
    if drain.batch > _MOST_LINES:
        return f"batch must be {_MOST_LINES} at most"
    if any(not _LABEL.fullmatch(label) for label in drain.labels):
        return "names of labels must have 1 to 32 letters, digits and _, not a digit first"
    if drain.format == "syslog" and drain.headers:
        return "syslog has no headers"
    if any(
        not _HEADER_NAME.fullmatch(header) or not _HEADER_VALUE.fullmatch(value.reveal())
        for header, value in drain.headers.items()
    ):
        return "a header has characters that headers cannot have"
    return _url_fault(drain)


def _url_fault(drain: LogDrain) -> str | None:
    schemes = _OF_SYSLOG if drain.format == "syslog" else _OF_HTTP
    try:
        parts = urlsplit(drain.url.reveal() if drain.url else "")
        is_valid = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if (
        is_valid
        and drain.format == "syslog"
        and (parts.port is None or parts.path not in ("", "/") or parts.query)
    ):
        is_valid = False
    if is_valid:
        return None
    example = "tcp://logs.example.com:514" if drain.format == "syslog" else "https://logs.example.com/in"
    return f"url must begin with {', '.join(f'{scheme}://' for scheme in schemes)} and name a host, as in {example}"
