"""A worker whose requests to providers reach a network of stand-ins."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from schemas.keys.secret import Secret
from tests.workers.auth.auth_pool import AuthPool
from tests.workers.auth.federation.providers.stand_ins import CLIENT, SECRET, Network, Rerouted
from workers.auth.federation.providers.registry import find_provider
from workers.auth.federation.social.protocol import SocialProvider
from workers.auth.http.context import EndpointContext


@dataclass
class Abroad:
    """A worker, and the services that it can reach."""

    auth_pool: AuthPool
    network: Network

    @property
    def context(self) -> EndpointContext:
        return self.auth_pool.context

    def having(self, **changes: object) -> "Abroad":
        return Abroad(self.auth_pool.having(**changes), self.network)

    def with_provider(self, name: str, **settings: object) -> "Abroad":
        """Return the same with a provider that is enabled."""
        given = {"enabled": True, "client_id": CLIENT, "secret": Secret(SECRET), **settings}
        return self.having(**{f"external__{name}__{key}": value for key, value in given.items()})

    async def provider(self, name: str) -> SocialProvider:
        async with self.context.transaction() as transaction:
            return await find_provider(self.context, transaction, name)


@pytest.fixture
async def abroad(auth_pool: AuthPool) -> AsyncIterator[Abroad]:
    network = Network()
    await network.start()
    outgoing = Rerouted(network)
    there = AuthPool(replace(auth_pool.context, outgoing=outgoing), auth_pool.admin, auth_pool.clock)
    yield Abroad(there, network)
    await outgoing.close()
    await network.stop()
