"""Groups of subscribers with the same role and the same claims. Visibility is decided once for a group. Pure.

The expiry of a token is ignored: subscribers with an expired token are removed. Any other claim may matter to a policy (a
session, the id of a token, the time when it was issued), so different values make different groups.
"""

from dataclasses import dataclass

import msgspec

from schemas.realtime_rules import Claims, read_claims

_EXPIRY = "exp"


@dataclass(frozen=True, slots=True)
class ClaimsGroup:
    """Subscribers with one role and the same claims."""

    role: str
    key: bytes
    """Claims in one spelling, without their expiry."""
    raw: bytes
    """Claims as one of the subscribers has them."""
    claims: Claims | None
    """Claims, decoded; None if only SQL can read them."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClaimsGroup) and (self.role, self.key) == (other.role, other.key)

    def __hash__(self) -> int:
        return hash((self.role, self.key))


def group_of(role: str, raw: bytes) -> ClaimsGroup:
    """Return the group of a role and the JSON text of claims."""
    claims = read_claims(raw)
    if claims is None:
        return ClaimsGroup(role, raw, raw, None)
    compared = {name: value for name, value in claims.items() if name != _EXPIRY}
    return ClaimsGroup(role, msgspec.json.encode(compared, order="deterministic"), raw, claims)
