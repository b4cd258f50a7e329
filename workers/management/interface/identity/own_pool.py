"""The connection pool of the login `headwater_management`, with what seals the personal data in its tables."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from schemas.keys.secret import Secret
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import TransactionSpec
from workers.management.interface.identity.personal_data import PersonalData


@dataclass(frozen=True, slots=True)
class OwnPool:
    """The pool for the tables of administrators; functions of `store.py` seal and open personal data."""

    pool: ConnectionPool
    personal: PersonalData

    async def run(self, spec: TransactionSpec) -> list[Rows]:
        """Run a transaction. Raises: DatabaseError, Disconnected, PoolTimeout."""
        return await self.pool.run(spec)

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Return a transaction whose statements depend on each other."""
        return self.pool.transaction()


def personal_data(url: str) -> PersonalData:
    """Return what seals personal data, of the URL of the pool's login."""
    return PersonalData(Secret(unquote(urlsplit(url).password or "")))
