"""Who is who among subscribers: those with the same role and the same claims are one group, judged once. Pure.

The moment at which a token ends is no difference: nobody who is past it is a subscriber. Everything else may matter to a
policy (a session, a token's number, the time when it was issued), so it makes another group.
"""

from dataclasses import dataclass

import msgspec

from schemas.realtime_rules import Claims, read_claims

_ENDS = "exp"


@dataclass(frozen=True, slots=True)
class Group:
    """Subscribers with one role and the same claims."""

    role: str
    key: bytes
    """Claims in one spelling, without their end."""
    raw: bytes
    """Claims as one of them has them."""
    claims: Claims | None
    """Claims, read; None if only SQL can read them."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and (self.role, self.key) == (other.role, other.key)

    def __hash__(self) -> int:
        return hash((self.role, self.key))


def group_of(role: str, raw: bytes) -> Group:
    """Give the group of a role and the JSON text of claims."""
    claims = read_claims(raw)
    if claims is None:
        return Group(role, raw, raw, None)
    kept = {name: value for name, value in claims.items() if name != _ENDS}
    return Group(role, msgspec.json.encode(kept, order="deterministic"), raw, claims)
