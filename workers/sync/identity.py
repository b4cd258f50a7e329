"""Which callers share a shape: those for whom its rows are the same. Pure.

    1  no row security applies to the role            the role
    2  policies compare columns with single claims    the role and those claims
    3  any other policy                               the role and all claims that do not merely rotate

Theory. The rows of a shape are read as one caller and served to all with the same key, so the key must hold everything on which
the policies can depend. Class 2 is recognised narrowly: after known forms of reading a claim are taken out of a policy's text,
nothing may be left but columns, constants and plain operators. All else is class 3, which is always right.

Claims that change with each token of a session are left out of class 3, unless the text of a policy or of a function that it
reaches names them or reads the claims as a whole. Policies that read the request are rejected: a shape outlives requests.
Source: docs/sync.md.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from workers.sync.catalog import Reached, SyncTable

_UID = re.compile(r"auth\.(uid|role|email)\(\)")
_CLAIM = re.compile(r"auth\.jwt\(\) ->>? '((?:[^']|'')*)'::text")
_SELECTED = re.compile(
    r"\( ?SELECT ((?:auth\.\w+\(\)|\(auth\.jwt\(\) ->>? '(?:[^']|'')*'::text\))(?:::\w+)?)(?: AS \"?[\w?]+\"?)?\)"
)
_CLAIM_OF = {"uid": "sub", "role": "role", "email": "email"}
_TEXT = re.compile(r"E?'(?:[^']|'')*'")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_CALL = re.compile(r"[\w\"]\s*\(")
_PLAIN_CALL = re.compile(r"\b(AND|OR|NOT|ANY|IN|ALL|ARRAY)\s*\(")
_FORBIDDEN = re.compile(
    r"\b(SELECT|CASE|EXISTS|CURRENT_\w+|LOCALTIME\w*|SESSION_USER|USER|COLLATE)\b", re.IGNORECASE
)
_TIME = re.compile(r"'(now|today|tomorrow|yesterday)'", re.IGNORECASE)
_REQUEST = re.compile(r"request\.(headers|method|path|cookies)")
_WHOLE = re.compile(r"auth\.jwt\(\)(?!\s*\)*\s*->)|request\.jwt\.claims|jsonb?_each|jsonb?_object_keys")
ROTATING = ("exp", "iat", "nbf", "jti", "session_id", "amr", "auth_time", "nonce", "at_hash", "c_hash")
"""Claims of which each token of a session has other values."""


class RequestPolicy(Exception):
    """A policy reads headers, method, path or cookies of the request."""


@dataclass(frozen=True, slots=True)
class SyncIdentity:
    """The callers that share a shape."""

    role: str
    kind: int
    """1 to 3, as above."""
    claims: bytes
    """JSON of the claims that count."""


def identify(
    role: str, claims: Mapping[str, object], tables: Sequence[SyncTable], reached: Reached
) -> SyncIdentity:
    """Return whose shape it is. Raises: RequestPolicy."""
    policies = [text for table in tables if table.row_security for text in table.policies]
    if not any(table.row_security for table in tables):
        return SyncIdentity(role, 1, b"{}")
    if reached.others:
        return _by_all(role, claims, [*reached.policies, *policies, *reached.texts])
    names: set[str] = set()
    for text in policies:
        claim_names = claims_of_policy(text)
        if claim_names is None:
            return _by_all(role, claims, [*reached.policies, *policies, *reached.texts])
        names |= claim_names
    chosen = {name: claims.get(name) for name in sorted(names)}
    return SyncIdentity(role, 2, msgspec.json.encode(chosen))


def claims_of_policy(text: str) -> set[str] | None:
    """Return the claims with which a policy compares columns, or None if it does anything else."""
    names: set[str] = set()
    text = _SELECTED.sub(r"\1", text)

    def take(match: re.Match[str]) -> str:
        names.add(match.group(1).replace("''", "'"))
        return "NULL"

    def take_function(match: re.Match[str]) -> str:
        names.add(_CLAIM_OF[match.group(1)])
        return "NULL"

    rest = _UID.sub(take_function, _CLAIM.sub(take, text))
    if _TIME.search(rest):
        return None
    rest = _PLAIN_CALL.sub(" (", _QUOTED.sub("q", _TEXT.sub("0", rest)))
    if _CALL.search(rest) or _FORBIDDEN.search(rest) or "auth." in rest or "current_setting" in rest:
        return None
    return names


def _by_all(role: str, claims: Mapping[str, object], texts: Iterable[str]) -> SyncIdentity:
    text = "\n".join(texts)
    if _REQUEST.search(text):
        raise RequestPolicy
    reads_whole = _WHOLE.search(text) is not None
    kept = {
        name: value
        for name, value in sorted(claims.items())
        if reads_whole or name not in ROTATING or name in text
    }
    return SyncIdentity(role, 3, msgspec.json.encode(kept))
