"""The stored settings that edges read: a worker with a database answers with them on the subject `EDGE_SETTINGS`."""

from typing import Any

from msgspec import Struct


class EdgeSettings(Struct, frozen=True):
    """Values by dotted path (`schemas.settings.live.EDGE_KEYS`, none of them a secret), and the version of all stored settings."""

    version: int
    values: dict[str, Any]
