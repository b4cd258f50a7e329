"""Which addresses requests of the project's own people may reach: SQL, webhooks."""

import asyncio
import socket

from yarl import URL

from schemas.settings.tree import Settings, gateway_scheme
from workers.http_client.address_guard import PRIVATE, AddressGuard, make_guard, read_address

_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, not bound
_RESOLVE_S = 5.0


def guard_of(settings: Settings) -> AddressGuard:
    """Return the address guard for requests of SQL and of webhooks. Raises: ValueError for an invalid entry of `net.allow`."""
    port = settings.api.port
    host = "127.0.0.1" if settings.gateway.host in _EVERYWHERE else settings.gateway.host
    gateway_url = f"{gateway_scheme(settings)}://{f'[{host}]' if ':' in host else host}:{port}"
    # Names under which jobs and triggers of projects call the official local stack from inside its database.
    aliases = [
        "http://kong:8000",
        *(f"http://{name}:{port}" for name in ("127.0.0.1", "localhost", "host.docker.internal")),
    ]
    if settings.api.external_url:
        aliases.append(settings.api.external_url)
    return make_guard(settings.net.allow, settings.net.gateway_url or gateway_url, aliases)


async def rejection_of(guard: AddressGuard, address: str) -> str:
    """Return why a URL must not be requested, as its host is known now; empty if it may be. What cannot be resolved may be later."""
    url = URL(address)
    if guard.gateway_url(url) is not None:
        return ""
    if reason := guard.rejection(url):
        return reason
    try:
        async with asyncio.timeout(_RESOLVE_S):
            found = await asyncio.get_running_loop().getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        return ""
    addresses = [read_address(str(entry[4][0])) for entry in found]
    allowed = any(
        each is not None and guard.allows(url.host or "", url.port or 0, each) for each in addresses
    )
    return "" if allowed or not addresses else PRIVATE
