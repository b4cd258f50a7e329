"""What the pools of one process share: the broker, the database's connections, the schema cache, the settings.

A process opens only what its pools need; the images pool opens nothing of this.
"""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from broker.connection import Connection
from schemas.settings import Api, Settings
from workers.database.cache import SchemaCache
from workers.database.pool import Pool


@dataclass(slots=True)
class Resources:
    """Open connections of a process. `api` holds the options as they are now, those kept in the database included."""

    settings: Settings
    connection: Connection
    database: Pool
    cache: SchemaCache
    observe: Callable[[msgspec.Struct], None]

    @property
    def api(self) -> Api:
        return self.cache.api
