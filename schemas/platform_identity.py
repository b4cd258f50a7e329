"""Names the platform that works with an outside database, so that a second one can be refused by the name of the first.

The supervisor passes its identity to `migrate` (`HEADWATER_PLATFORM`); processes that are started one by one, as by the compose
file, have the name of their machine alone. `migrate` stores it in the database (workers/database/migrations/platform_claim.py).
"""

import socket
from collections.abc import Mapping

import msgspec

VARIABLE = "HEADWATER_PLATFORM"


class PlatformIdentity(msgspec.Struct, frozen=True):
    """One platform: `id` is random and belongs to its data folder; empty where no supervisor runs."""

    id: str = ""
    host: str = ""
    folder: str = ""
    has_own_broker: bool = False
    """It runs a NATS server of its own, which no other platform reads."""


def identity_of(environment: Mapping[str, str]) -> PlatformIdentity:
    """Return the identity that the supervisor passed, else that of processes which share their keys with others."""
    if text := environment.get(VARIABLE):
        return msgspec.json.decode(text, type=PlatformIdentity)
    return PlatformIdentity(host=socket.gethostname())
