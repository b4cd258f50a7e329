"""One id from door to database: the caller's own if it is sane, else a new one."""

import itertools
import re
import secrets

_SANE = re.compile(r"[A-Za-z0-9_.:/+=-]{1,128}")
_PREFIX = secrets.token_hex(8)
_numbers = itertools.count(1)


def request_id(sent: str | None) -> str:
    """Give the id of a request: at most 128 plain characters."""
    if sent is not None and _SANE.fullmatch(sent):
        return sent
    return f"{_PREFIX}-{next(_numbers):x}"
