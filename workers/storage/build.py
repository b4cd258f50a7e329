"""The settings of storage -> what every endpoint works with."""

import time
from collections.abc import Callable

from broker.blobs.store import BlobStore
from schemas.keys.secret import Secret
from schemas.settings.storage import Storage
from workers.database.pool import Pool
from workers.storage.context import Renderer, Store
from workers.storage.s3.keyring import Keyring
from workers.storage.signing import Signer
from workers.storage.tickets import Tickets


def build_store(
    own: Storage,
    secret: Secret,
    database: Pool,
    blobs: BlobStore,
    render: Renderer,
    *,
    clock: Callable[[], float] = time.time,
    keyring: Keyring | None = None,
) -> Store:
    """Make what endpoints work with. `secret` is that of the project's access tokens."""
    key = secret.reveal().encode()
    return Store(
        own,
        database,
        blobs,
        Signer(key, clock),
        Tickets(key),
        render,
        clock,
        keyring=keyring or Keyring(),
    )
