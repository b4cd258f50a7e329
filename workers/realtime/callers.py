"""The caller of a transaction of realtime: role, claims and the settings that represent them. Pure.

The claims that Postgres receives always have the role it runs as, as for REST: `auth.role()` returns that role.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

Settings = list[tuple[str, str]]


@dataclass(frozen=True)
class DatabaseCaller:
    """A role, and the claims of its token as the JSON text of an object."""

    role: str
    claims: bytes

    @cached_property
    def _decoded(self) -> dict[str, msgspec.Raw]:
        return msgspec.json.decode(self.claims or b"{}", type=dict[str, msgspec.Raw])

    @cached_property
    def jwt_claims(self) -> str:
        """Return the claims for the setting `request.jwt.claims`. Raises: msgspec.DecodeError if they are not an object."""
        role = msgspec.Raw(msgspec.json.encode(self.role))
        return msgspec.json.encode({**self._decoded, "role": role}).decode()

    @property
    def subject(self) -> str:
        """Return the claim `sub` if it is a text, else ""."""
        raw = self._decoded.get("sub")
        subject = msgspec.json.decode(raw) if raw is not None else ""
        return subject if isinstance(subject, str) else ""


def caller_settings(caller: DatabaseCaller, topic: str, headers: Mapping[str, str]) -> Settings:
    """Return the settings with which a transaction acts as a caller of a channel.

    Source: docs/reference/realtime.md, section 10.
    """
    return [
        ("realtime.topic", topic),
        ("request.jwt.claims", caller.jwt_claims),
        ("request.jwt.claim.sub", caller.subject),
        ("request.jwt.claim.role", caller.role),
        ("request.headers", msgspec.json.encode(headers).decode()),
        ("role", caller.role),
    ]
