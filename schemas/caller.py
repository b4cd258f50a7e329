"""Represent the caller of a request. Only the edge creates one.

`AnonymousCaller` and `ServiceCaller` result from an API key alone, `UserCaller` from a verified access token,
`RejectedCaller` from a token that failed verification. Each area answers the last one in its own error format.
"""

from enum import StrEnum

import msgspec
from msgspec import Struct


class TokenFault(StrEnum):
    """Why a token was rejected. The values are stable; areas map them to their own codes."""

    NO_SECRET = "no_secret"  # noqa: S105 - a reason, not a secret; the platform lacks a key to verify tokens
    UNDECODABLE = "undecodable"  # empty, malformed, unsigned, wrong key or algorithm
    CLAIMS = "claims"  # well signed, but expired, not yet valid, for another audience, ill-typed


class AnonymousCaller(Struct, frozen=True, tag="anonymous"):
    """A caller with the public key and no token."""


class ServiceCaller(Struct, frozen=True, tag="service"):
    """A trusted server with the secret key and no token."""


class UserCaller(Struct, frozen=True, tag="user"):
    """A caller whose access token was verified. `claims` is the token's payload: the bytes of a JSON object."""

    claims: bytes

    def decoded(self) -> dict[str, object]:
        """Return the claims as a dictionary."""
        return msgspec.json.decode(self.claims, type=dict[str, object])


class RejectedCaller(Struct, frozen=True, tag="rejected"):
    """A caller whose token was rejected. `message` and `details` are for its error response."""

    kind: TokenFault
    message: str
    details: str | None = None


Caller = AnonymousCaller | ServiceCaller | UserCaller | RejectedCaller
