"""Caller: who is calling, as a value. Only the edge makes one (layout, "Trust").

`Anonymous` and `Service` come from an API key alone, `User` from a verified access token, `Rejected` from a
token that was sent and refused: each area answers that in its own error shape.
"""

from enum import StrEnum

import msgspec
from msgspec import Struct


class Refusal(StrEnum):
    """Why a token was refused. The values are stable; areas map them to their own codes."""

    NO_SECRET = "no_secret"  # noqa: S105 - a reason, no secret; the platform has no key to verify a token with
    UNDECODABLE = "undecodable"  # empty, malformed, unsigned, wrong key or algorithm
    CLAIMS = "claims"  # well signed, but expired, not yet valid, for another audience, ill-typed


class Anonymous(Struct, frozen=True, tag="anonymous"):
    """A caller with the public key and no token."""


class Service(Struct, frozen=True, tag="service"):
    """A trusted server with the secret key and no token."""


class User(Struct, frozen=True, tag="user"):
    """A caller whose access token was verified. `claims` is the token's payload: the bytes of a JSON object."""

    claims: bytes

    def decoded(self) -> dict[str, object]:
        """Give the claims as a dictionary."""
        return msgspec.json.decode(self.claims, type=dict[str, object])


class Rejected(Struct, frozen=True, tag="rejected"):
    """A caller whose token was refused: what kind of refusal, in which words."""

    kind: Refusal
    message: str
    details: str | None = None


Caller = Anonymous | Service | User | Rejected
