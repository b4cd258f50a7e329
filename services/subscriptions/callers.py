"""What live queries know of a caller: its credentials, when its token expires, and which of its headers policies see. Pure."""

import math
from collections.abc import Mapping

from schemas.caller import Caller, UserCaller
from schemas.keys.token_claims import FAR_S
from schemas.numbers import read_json_number

_FORWARDED = "x-"
_NOT_FORWARDED = frozenset({"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-real-ip",
    "x-api-key", "x-request-id"})  # fmt: skip


def expiry_of(caller: Caller) -> float:
    """Return when a caller's token expires, in seconds since 1970; infinity if it does not."""
    expiry = caller.decoded().get("exp") if isinstance(caller, UserCaller) else None
    until = read_json_number(expiry, least=0, most=FAR_S)
    return math.inf if until is None else until


def is_forwarded(name: str) -> bool:
    """Return whether policies see a header (name in lower case) as `request.headers`."""
    return name.startswith(_FORWARDED) and name not in _NOT_FORWARDED


def credentials_of(payload: Mapping[str, object]) -> dict[str, str]:
    """Return the credentials in a payload by their names in lower case; those inside `headers` count as well."""
    inner = payload.get("headers")
    both = {**(inner if isinstance(inner, dict) else {}), **payload}
    texts = {str(name).lower(): value for name, value in both.items() if isinstance(value, str) and value}
    return {name: value for name, value in texts.items() if name in ("apikey", "authorization")}
