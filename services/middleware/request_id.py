"""Request ids, from the gateway to the database: the client's own id if it is valid, else a new one."""

import itertools
import os
import re
import secrets

_SANE = re.compile(r"[A-Za-z0-9_.:/+=-]{1,128}")
_prefix = secrets.token_hex(8)
_numbers = itertools.count(1)


def _renew() -> None:
    global _prefix
    _prefix = secrets.token_hex(8)


os.register_at_fork(after_in_child=_renew)  # the ids of a forked edge are not those of the edge before it


def request_id(sent: str | None) -> str:
    """Return the id of a request: at most 128 plain characters."""
    if sent is not None and _SANE.fullmatch(sent):
        return sent
    return f"{_prefix}-{next(_numbers):x}"
