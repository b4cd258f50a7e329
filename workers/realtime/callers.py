"""Who the database sees in a transaction of realtime: role and claims. Pure.

The claims that Postgres is told always name the role it runs as, as for REST: `auth.role()` is the role.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

Settings = list[tuple[str, str]]


@dataclass(frozen=True)
class Caller:
    """A role, and the claims of its token as the JSON text of an object."""

    role: str
    claims: bytes

    @cached_property
    def _decoded(self) -> dict[str, msgspec.Raw]:
        return msgspec.json.decode(self.claims or b"{}", type=dict[str, msgspec.Raw])

    @cached_property
    def told(self) -> str:
        """Give the claims as Postgres is told them. Raises: msgspec.DecodeError if they are no JSON object."""
        role = msgspec.Raw(msgspec.json.encode(self.role))
        return msgspec.json.encode({**self._decoded, "role": role}).decode()

    @property
    def subject(self) -> str:
        """Give the claim `sub` where it is a text."""
        raw = self._decoded.get("sub")
        found = msgspec.json.decode(raw) if raw is not None else ""
        return found if isinstance(found, str) else ""


def become(caller: Caller, topic: str, headers: Mapping[str, str]) -> Settings:
    """Give the settings that make a transaction a caller's who asks for a channel.

    Source: reference page "realtime", section 10.
    """
    return [
        ("realtime.topic", topic),
        ("request.jwt.claims", caller.told),
        ("request.jwt.claim.sub", caller.subject),
        ("request.jwt.claim.role", caller.role),
        ("request.headers", msgspec.json.encode(headers).decode()),
        ("role", caller.role),
    ]
