"""What every layer of auth needs: the settings, the database, the clock, secrets and requests to other services.

The context of a request grows layer by layer, and each function asks for the smallest one that has what it uses:

    model       AuthContext         settings, database, clock, vault
    delivery    DeliveryContext     + outbox, hooks
    accounts    AccountContext      + password hashing, the signing key: starts sessions
    federation  FederationContext   + cached documents of identity providers
    http        EndpointContext     + redirect allow list, public keys

Each is a subclass of the one above it, so an endpoint passes its own context to all functions below. `build.py` makes the
whole of it from the settings.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from schemas.settings.auth import Auth
from workers.auth.model.vault import Vault
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import Statement, TransactionSpec
from workers.http_client.client import HttpClient

SESSION_SETTINGS = (("search_path", "auth"),)
"""Session settings of every transaction of this area."""


@dataclass(frozen=True, slots=True)
class ServiceUrls:
    """Addresses of services whose location is fixed. Tests replace them."""

    hcaptcha: str = "https://hcaptcha.com/siteverify"
    turnstile: str = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
    leaked_passwords: str = "https://api.pwnedpasswords.com/range/"
    """Five hex digits are appended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthContext:
    """One configuration of auth, with the connections that it uses."""

    settings: Auth
    database: ConnectionPool
    clock: Callable[[], float] = field(default=time.time)
    vault: Vault
    """Encrypts secrets that must be read again."""
    code_key: bytes = field(repr=False)
    """Key of the hashes of one-time codes, of networks and of counters' names."""
    outgoing: HttpClient
    """HTTP client for other services."""
    services: ServiceUrls = field(default=ServiceUrls())

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Open a transaction as the role that owns the schema `auth`; it commits when the block ends without an error."""
        async with self.database.transaction(SESSION_SETTINGS) as transaction:
            yield transaction

    async def run(self, *statements: Statement) -> list[Rows]:
        """Run statements as one transaction, in one round trip, and return the rows of each."""
        return await self.database.run(TransactionSpec(SESSION_SETTINGS, statements))

    def now(self) -> datetime:
        """Return the present time in UTC."""
        return datetime.fromtimestamp(self.clock(), UTC)
