"""Resolves host names for connections and leaves out addresses that must not be reached.

The check is made here, when the client connects, so that a name server cannot show one address to a check and another to the connection
(DNS rebinding).
"""

import socket

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from workers.http_client.address_guard import AddressGuard, read_address


class PrivateAddressError(OSError):
    """A host name has only addresses that the guard does not allow."""


class GuardedResolver(AbstractResolver):
    """Resolves host names and returns only addresses that the guard allows."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        results = await self._resolver.resolve(host, port, family)
        allowed = [result for result in results if self._allows(host, port, result["host"])]
        if not allowed:
            raise PrivateAddressError
        return allowed

    async def close(self) -> None:
        await self._resolver.close()

    def _allows(self, host: str, port: int, address: str) -> bool:
        parsed = read_address(address)
        return parsed is not None and self._guard.allows(host, port, parsed)
